//! Makes a host match its Agent's spec: approval, membership of a cluster, settings. The rules are
//! core's. Source: docs/protocol/kube-controllers.md#4.1 steps 7 to 10.

use std::time::Duration;

use muster_api::host::HostUpdateParams;
use muster_controller::conditions::Synced;
use muster_controller::error::Failure;
use muster_controller::namespaces::OUTSIDE;
use muster_controller::retry::RETRY_INTERVAL;
use muster_core::lifecycle::host::{HostEvent, SleepEvent};
use muster_core::record::{Host, HostState, ImageWish, InfraEnv, KubeRef};
use muster_core::rules::os_image;
use muster_operations::chain;
use muster_resources::{AgentSpec, DeprovisionInfo};

use super::edits::{Token, edits, is_open};
use super::hold;
use super::membership::{self, Clusters, Move};
use crate::agent::reconcile::Reconciler;
use crate::cluster_deployment::untaken::why_untaken;
use crate::error::Error;

/// Between two checks for a cluster that is missing. Its creation triggers a reconcile; the interval is for the
/// message meanwhile.
const CLUSTER_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Between two checks of a host that is ready and cannot be installed: images and holds trigger no reconcile.
const START_RETRY_INTERVAL: Duration = Duration::from_secs(15);

/// The host after it was changed.
pub struct Outcome {
    pub host: Host,
    pub synced: Synced,
    /// The cluster that the host just left.
    pub left: Option<DeprovisionInfo>,
    /// The reason why the cluster of the spec does not exist here, with advice.
    pub unknown_cluster: Option<String>,
    /// The reason why a host that is ready is not installed yet, and what to do.
    pub waits: Option<String>,
    /// Time after which to try again, if something is awaited that triggers no reconcile.
    pub retry: Option<Duration>,
}

/// Reasons for which the spec is not followed completely.
#[derive(Default)]
struct Problems {
    input: Vec<String>,
    backend: Vec<String>,
    /// The reason why the cluster of the spec does not exist here. Also in `backend`.
    unknown_cluster: Option<String>,
    retry: Option<Duration>,
}

impl Problems {
    /// Adds a refusal, to be shown to the author of the spec, or another error, which may pass by itself.
    fn add(&mut self, error: &Error) {
        if error.is_input() {
            self.input.push(error.to_string());
        } else {
            self.retry_later(error.to_string(), RETRY_INTERVAL);
        }
    }

    fn retry_later(&mut self, why: String, retry: Duration) {
        self.backend.push(why);
        self.look_again(retry);
    }

    fn is_empty(&self) -> bool {
        self.input.is_empty() && self.backend.is_empty()
    }

    fn look_again(&mut self, after: Duration) {
        self.retry = Some(self.retry.map_or(after, |sooner| sooner.min(after)));
    }

    fn synced(self) -> (Synced, Option<Duration>) {
        let synced = match (self.input.is_empty(), self.backend.is_empty()) {
            (true, true) => Synced::Ok(None),
            (false, _) => Synced::Input([self.input, self.backend].concat().join(". ")),
            (true, false) => Synced::Backend(self.backend.join(". ")),
        };
        (synced, self.retry)
    }
}

impl Reconciler {
    /// Makes `host` match `spec` and the image that its Agent requests, as far as possible.
    pub(in crate::agent) async fn change_host(
        &self,
        key: &KubeRef,
        (spec, image): (&AgentSpec, &ImageWish),
        host: Host,
        infra_env: &InfraEnv,
    ) -> Outcome {
        let mut problems = Problems::default();
        let mut host = host;
        if host.data.approved != spec.approved {
            let event = HostEvent::Approved(spec.approved);
            self.apply(&mut host, event, &mut problems).await;
        }
        let left = self
            .change_membership(key, spec, &mut host, infra_env, &mut problems)
            .await;
        self.keep_awake(spec, &mut host, infra_env, &mut problems).await;
        if is_open(&host) {
            let is_mirrored = infra_env.mirror.is_some();
            self.edit(key, spec, is_mirrored, &mut host, &mut problems).await;
            self.request_image(image, &mut host, infra_env, &mut problems)
                .await;
        }
        let waits = self.start_installation(spec, &mut host, &mut problems).await;
        let unknown_cluster = problems.unknown_cluster.take();
        let (synced, retry) = problems.synced();
        Outcome {
            host,
            synced,
            left,
            unknown_cluster,
            waits,
            retry,
        }
    }

    /// Starts the installation of a host that is approved, bound and fit, when its spec is followed completely. Returns the reason why
    /// it is not started.
    async fn start_installation(
        &self,
        spec: &AgentSpec,
        host: &mut Host,
        problems: &mut Problems,
    ) -> Option<String> {
        let is_ready = host.state == HostState::Known && spec.approved && host.data.approved;
        if !is_ready || !problems.is_empty() {
            return None;
        }
        match self.obstacle(host).await {
            Ok(None) => {}
            Ok(Some(why)) => {
                problems.look_again(START_RETRY_INTERVAL);
                return Some(why);
            }
            Err(error) => {
                problems.add(&error);
                return None;
            }
        }
        let (operations, event) = (&self.context.operations, HostEvent::InstallRequested);
        match operations
            .hosts
            .apply_registered(host, event)
            .await
            .map_err(Error::from)
        {
            Ok(changed) => {
                *host = changed;
                None
            }
            // The host has changed since it was read, or something that belongs to it has.
            Err(refused) if refused.is_input() => {
                problems.look_again(START_RETRY_INTERVAL);
                Some(refused.to_string())
            }
            Err(error) => {
                problems.add(&error);
                None
            }
        }
    }

    async fn obstacle(&self, host: &Host) -> Result<Option<String>, Error> {
        let Some(deployment) = self.cluster_name(host).await? else {
            return Ok(None);
        };
        if let Some(why) = self.context.operations.hosts.obstacle(host).await? {
            return Ok(Some(why));
        }
        hold::held(&self.context.client, &deployment).await
    }

    /// Applies `event`. True when it was applied.
    async fn apply(&self, host: &mut Host, event: HostEvent, problems: &mut Problems) -> bool {
        let operations = &self.context.operations;
        match operations.hosts.apply_registered(host, event).await {
            Ok(changed) => {
                *host = changed;
                true
            }
            Err(problem) => {
                problems.add(&problem.into());
                false
            }
        }
    }

    /// A host that waits to be bound does not fall asleep.
    async fn keep_awake(
        &self,
        spec: &AgentSpec,
        host: &mut Host,
        infra_env: &InfraEnv,
        problems: &mut Problems,
    ) {
        let may_sleep = host.cluster_id.is_none() && !infra_env.settings.idle_after.is_empty();
        let is_claimed = may_sleep && membership::wanted(spec).is_some();
        if host.data.kept_awake.by_claim != is_claimed {
            let event = HostEvent::Sleep(SleepEvent::Claimed(is_claimed));
            self.apply(host, event, problems).await;
        }
    }

    async fn change_membership(
        &self,
        key: &KubeRef,
        spec: &AgentSpec,
        host: &mut Host,
        infra_env: &InfraEnv,
        problems: &mut Problems,
    ) -> Option<DeprovisionInfo> {
        let present = match self.cluster_name(host).await {
            Ok(name) => name,
            Err(error) => {
                problems.add(&error);
                return None;
            }
        };
        let next = match self.next_move(spec, host, infra_env, present.as_ref()).await {
            Ok(next) => next,
            Err(error) => {
                problems.add(&error);
                return None;
            }
        };
        match next {
            Move::Stay => None,
            Move::Later(why) => {
                problems.backend.push(why);
                None
            }
            Move::Unknown(why) => {
                problems.unknown_cluster = Some(why.clone());
                problems.retry_later(why, CLUSTER_RETRY_INTERVAL);
                None
            }
            Move::Never(why) => {
                problems.input.push(why);
                None
            }
            Move::Bind(cluster_id) => {
                self.apply(host, HostEvent::Bound { cluster_id }, problems).await;
                None
            }
            Move::Unbind { cancel } => {
                let info = deprovision_info(spec, host, present.as_ref());
                if cancel {
                    let reason =
                        "Its Agent was taken out of the cluster while it was being installed".to_owned();
                    if !self.apply(host, HostEvent::Cancelled { reason }, problems).await {
                        return None;
                    }
                }
                if !self.apply(host, HostEvent::Reclaimed, problems).await {
                    return None;
                }
                let why = membership::why_it_leaves(spec, key);
                if let Err(error) = self.context.operations.hosts.tell_of_agent(host, &why).await {
                    tracing::warn!(agent = %key, error = chain(&error), "the reason of an unbind could not be recorded");
                }
                Some(info)
            }
        }
    }

    async fn next_move(
        &self,
        spec: &AgentSpec,
        host: &Host,
        infra_env: &InfraEnv,
        present: Option<&KubeRef>,
    ) -> Result<Move, Error> {
        let wanted = membership::wanted(spec);
        // A spec without a cluster does not refer to a cluster that has no name.
        if infra_env.mirror.is_some() && wanted.is_none() && present.is_none() {
            return Ok(Move::Stay);
        }
        let untaken: String;
        let mut clusters = Clusters {
            infra_env: infra_env.cluster_id,
            present,
            ..Clusters::default()
        };
        if let Some(wanted) = wanted {
            let is_outside = !self.context.namespaces.contains(&wanted.namespace);
            clusters.wanted = match host.cluster_id.filter(|_| present == Some(&wanted)) {
                // Nearly always the same cluster: nothing to query.
                Some(same) => Some(same),
                None if is_outside => None,
                None => self.cluster_of(&wanted).await?,
            };
            if clusters.wanted.is_none() && is_outside {
                untaken = format!("the ClusterDeployment {wanted} is {OUTSIDE}");
                clusters.untaken = Some(&untaken);
            } else if clusters.wanted.is_none() {
                untaken = why_untaken(&self.context.client, &wanted).await?;
                clusters.untaken = Some(&untaken);
            }
        }
        Ok(membership::next(spec, host, &clusters))
    }

    async fn edit(
        &self,
        key: &KubeRef,
        spec: &AgentSpec,
        is_mirrored: bool,
        host: &mut Host,
        problems: &mut Problems,
    ) {
        if host.cluster_id.is_none() {
            // The token for another cluster was removed with that cluster.
            self.tokens.forget(key);
        }
        // In a mirrored InfraEnv, clients of REST set tokens directly.
        let is_silent = is_mirrored && spec.ignition_endpoint_token_reference.is_none();
        let token = match self.tokens.wanted(key, spec).await {
            Ok(wanted) => Some(wanted).filter(|_| !is_silent),
            Err(error) => {
                let why = format!("ignitionEndpointTokenReference: {}", chain(&error));
                if error.is_input() {
                    problems.input.push(why);
                } else {
                    problems.backend.push(why);
                }
                // A Secret that is missing is not watched.
                problems.retry = Some(RETRY_INTERVAL);
                None
            }
        };
        let same = Token::Same;
        let edits = edits(spec, host, token.as_ref().map_or(&same, |wanted| &wanted.token));
        problems.input.extend(edits.problems);
        let mut token_accepted = true;
        if let Some(params) = edits.params {
            token_accepted = self.edit_fields(host, params, problems).await;
        }
        if let Some(words) = edits.installer_args {
            self.apply(host, HostEvent::InstallerArgsSet(words), problems)
                .await;
        }
        if let Some(ignition) = edits.ignition {
            self.apply(host, HostEvent::IgnitionOverrideSet(ignition), problems)
                .await;
        }
        let Some(token) = token else { return };
        let mut bootstrap_accepted = true;
        if let Token::Is(bootstrap) = &token.bootstrap
            && *bootstrap != host.bootstrap_ignition
        {
            // The data is for the cluster that the host is bound to next.
            bootstrap_accepted = host.cluster_id.is_some() && {
                let event = HostEvent::BootstrapIgnitionSet(bootstrap.clone());
                self.apply(host, event, problems).await
            };
        }
        if token_accepted && bootstrap_accepted {
            token.mark_given(key);
        }
    }

    /// Stores which image of the operator's list is requested for the host's disk. One that the list does not have is a problem of the
    /// Agent, and keeps the host from being installed.
    async fn request_image(
        &self,
        image: &ImageWish,
        host: &mut Host,
        infra_env: &InfraEnv,
        problems: &mut Problems,
    ) {
        // The image is for the cluster that the host is bound to.
        if host.cluster_id.is_none() {
            return;
        }
        if *image != host.data.image_wish {
            let event = HostEvent::ImageRequested(image.clone());
            if !self.apply(host, event, problems).await {
                return;
            }
        }
        let images = self.context.operations.os_images.list();
        let unmet = os_image::unmet_wish(host, infra_env, &images);
        problems.input.extend(unmet.map(|why| why.to_string()));
    }

    /// Changes all fields in one event; when that is refused, each in an event of its own, so that one bad setting holds up no other.
    /// Returns false when there is a token that was not accepted.
    async fn edit_fields(&self, host: &mut Host, params: HostUpdateParams, problems: &mut Problems) -> bool {
        let operations = &self.context.operations;
        let event = HostEvent::Edited(params.clone());
        let refused = match operations.hosts.apply_registered(host, event).await {
            Ok(changed) => {
                *host = changed;
                return true;
            }
            Err(problem) => Error::from(problem),
        };
        let fields = apart(params);
        if !refused.is_input() || fields.len() < 2 {
            problems.add(&refused);
            return false;
        }
        let mut token_accepted = true;
        for field in fields {
            let is_token = field.ignition_endpoint_token.is_some();
            let accepted = self.apply(host, HostEvent::Edited(field), problems).await;
            token_accepted &= accepted || !is_token;
        }
        token_accepted
    }
}

/// Splits settings into updates of one each.
fn apart(params: HostUpdateParams) -> Vec<HostUpdateParams> {
    let HostUpdateParams {
        host_role,
        host_name,
        disks_selected_config,
        disks_skip_formatting,
        machine_config_pool_name,
        ignition_endpoint_token,
        ignition_endpoint_http_headers,
        node_labels,
        fencing_credentials,
    } = params;
    let none = HostUpdateParams::default;
    let each = [
        HostUpdateParams { host_role, ..none() },
        HostUpdateParams { host_name, ..none() },
        HostUpdateParams {
            disks_selected_config,
            ..none()
        },
        HostUpdateParams {
            disks_skip_formatting,
            ..none()
        },
        HostUpdateParams {
            machine_config_pool_name,
            ..none()
        },
        HostUpdateParams {
            ignition_endpoint_token,
            ..none()
        },
        HostUpdateParams {
            ignition_endpoint_http_headers,
            ..none()
        },
        HostUpdateParams {
            node_labels,
            ..none()
        },
        HostUpdateParams {
            fencing_credentials,
            ..none()
        },
    ];
    each.into_iter().filter(|one| *one != none()).collect()
}

fn deprovision_info(spec: &AgentSpec, host: &Host, cluster: Option<&KubeRef>) -> DeprovisionInfo {
    let named = spec.hostname.clone().filter(|name| !name.is_empty());
    let reported = || {
        host.inventory
            .as_ref()
            .map(|inventory| inventory.hostname.clone())
    };
    DeprovisionInfo {
        cluster_name: cluster.map(|cluster| cluster.name.clone()),
        cluster_namespace: cluster.map(|cluster| cluster.namespace.clone()),
        node_name: named.or_else(reported),
        message: Some(
            "The host left this cluster. If it was a node there, take the Node out of the cluster".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_apart_and_none_is_lost() {
        let params = HostUpdateParams {
            host_name: Some("a".into()),
            machine_config_pool_name: Some("b".into()),
            ignition_endpoint_token: Some("c".into()),
            ..HostUpdateParams::default()
        };
        let fields = apart(params);
        assert_eq!(fields.len(), 3);
        assert_eq!(fields[0].host_name.as_deref(), Some("a"));
        assert_eq!(fields[2].ignition_endpoint_token.as_deref(), Some("c"));
    }
}
