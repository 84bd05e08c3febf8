//! One look at an InfraEnv: what it refers to, its record in the database, its status. Source: docs/protocol/kube-controllers.md#1.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{ListParams, PostParams};
use kube::core::Selector;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::ids::InfraEnvId;
use muster_core::cluster::Cluster;
use muster_core::infra_env::{self, InfraEnv as Kept, Invalid, Unapplied};
use muster_resources::{ClusterDeployment, InfraEnv, IpxeScriptType, NMStateConfig, names};
use muster_store::StoreError;

use super::delete;
use super::desired::{World, check_unchangeable, desired, spec_field};
use super::links::{Links, links};
use super::static_network::{Networks, sorted_out};
use super::status::{Available, Outcome, status};
use crate::drive::AGAIN;
use crate::secrets::{self, ReferenceError};
use crate::{Context, Error, finalizers, kube_ref};
use muster_operations::OperationError;
use muster_operations::chain;
use muster_operations::now;
use muster_operations::random;

/// Before the live image is looked for again. Source: docs/protocol/kube-controllers.md#0 (recoverable errors of InfraEnvs).
const IMAGE_AGAIN: Duration = Duration::from_secs(20);

/// Brings record and status in line with the resource.
pub async fn reconcile(infra_env: Arc<InfraEnv>, context: Arc<Context>) -> Result<Action, Error> {
    if infra_env.metadata.deletion_timestamp.is_some() {
        return delete::delete(&infra_env, &context).await;
    }
    let api = api(&context, &infra_env);
    let infra_env = match finalizers::set(&api, &infra_env, names::finalizer::INFRA_ENV).await? {
        Some(newer) => Arc::new(newer),
        None => infra_env,
    };
    match converge(&infra_env, &context).await {
        Ok(found) => available(&infra_env, &context, &found).await,
        Err(Refusal::Input { why, again }) => {
            let kept = context
                .app
                .infra_envs
                .find_by_kube(&kube_ref(&*infra_env))
                .await?;
            let events = kept.map(|kept| addresses(&context, &infra_env, &kept).events);
            write(&infra_env, &context, &Outcome::Unusable { why, events }).await?;
            Ok(again.map_or_else(Action::await_change, Action::requeue))
        }
        Err(Refusal::MissingCluster(why)) => {
            write(&infra_env, &context, &Outcome::MissingCluster(why)).await?;
            Ok(Action::requeue(AGAIN))
        }
        // What passes by itself takes no image away from those who are just downloading it.
        Err(Refusal::Later(error)) => Err(error),
    }
}

/// What was stored, and what else the status tells of.
struct Converged {
    kept: Arc<Kept>,
    networks: Networks,
    mirror_registry: Option<Result<(), String>>,
}

/// Why there is no image.
enum Refusal {
    /// A user can mend it; with `again`, it is looked at without a change of the resource.
    Input { why: String, again: Option<Duration> },
    /// `spec.clusterRef` leads to nothing.
    MissingCluster(String),
    /// It may pass.
    Later(Error),
}

impl From<ReferenceError> for Refusal {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::Api { source, .. } => Self::Later((*source).into()),
            error => Self::Input {
                why: format!("spec.pullSecretRef: {error}"),
                again: Some(AGAIN),
            },
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::Input {
            why: format!("{}: {}", spec_field(&invalid.field), invalid.reason),
            again: None,
        }
    }
}

impl From<OperationError> for Refusal {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Invalid(invalid) => invalid.into(),
            error if error.is_input() => Self::Input {
                why: error.to_string(),
                again: None,
            },
            error => Self::Later(error.into()),
        }
    }
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        Self::Later(error.into())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Later(error.into())
    }
}

/// Looks at everything that the resource refers to and stores what it asks for.
async fn converge(infra_env: &InfraEnv, context: &Context) -> Result<Converged, Refusal> {
    let app = &context.app;
    let spec = &infra_env.spec;
    let kube = kube_ref(infra_env);
    let cluster = referred_cluster(infra_env, context).await?;
    let secret = spec.pull_secret_ref.name.as_str();
    let pull_secret =
        secrets::read_secret(&context.client, &kube.namespace, secret, names::key::PULL_SECRET).await?;
    let networks = networks(infra_env, context).await?;
    let mirror_registry = mirror_registry(infra_env, context).await?;
    let world = World {
        pull_secret: &pull_secret,
        cluster: cluster.as_ref(),
        networks: &networks.accepted,
        newest_version: app.newest_version(),
    };
    let wanted = desired(&kube.name, spec, &world)?;
    let kept = match app.infra_envs.find_by_kube(&kube).await? {
        None => {
            let mut made = infra_env::create(wanted, InfraEnvId::random(), random::boot_id(), now())?;
            made.kube = Some(kube);
            app.infra_envs.create(made).await?
        }
        Some(found) => {
            let gone = cluster_is_gone(context, &found).await?;
            check_unchangeable(&found, &wanted, gone)?;
            let made = infra_env::create(wanted, found.id, found.boot_id.clone(), found.created_at)?;
            app.infra_envs
                .change(found.id, |newest| {
                    let settings = made.settings.clone();
                    let outcome = infra_env::replace(newest, settings, made.cluster_id, now())?;
                    Ok(outcome.changed.then_some((outcome.infra_env, outcome.events)))
                })
                .await?
        }
    };
    Ok(Converged {
        kept,
        networks,
        mirror_registry,
    })
}

/// A ClusterDeployment that was deleted and made again has another cluster.
async fn cluster_is_gone(context: &Context, found: &Kept) -> Result<bool, Refusal> {
    let Some(id) = found.cluster_id else {
        return Ok(false);
    };
    Ok(context.app.clusters.is_deleted(id).await? != Some(false))
}

/// The cluster of `spec.clusterRef`, if there is one.
async fn referred_cluster(infra_env: &InfraEnv, context: &Context) -> Result<Option<Cluster>, Refusal> {
    let Some(kube) = super::cluster_ref(infra_env) else {
        return Ok(None);
    };
    let deployments = Api::<ClusterDeployment>::namespaced(context.client.clone(), &kube.namespace);
    if deployments.get_metadata_opt(&kube.name).await?.is_none() {
        let why = format!("there is no ClusterDeployment {kube}");
        return Err(Refusal::MissingCluster(why));
    }
    let found = context.app.clusters.find_by_kube(&kube).await?;
    found.map(Some).ok_or_else(|| {
        Refusal::MissingCluster(format!(
            "the ClusterDeployment {kube} has not been taken over yet; its AgentClusterInstall says why"
        ))
    })
}

/// The NMStateConfigs of the InfraEnv's own namespace that its selector matches; an empty selector matches none.
async fn networks(infra_env: &InfraEnv, context: &Context) -> Result<Networks, Refusal> {
    let Some(selector) = selector(infra_env)? else {
        return Ok(Networks::default());
    };
    let namespace = infra_env.namespace().unwrap_or_default();
    let api = Api::<NMStateConfig>::namespaced(context.client.clone(), &namespace);
    let found = api.list(&ListParams::default().labels_from(&selector)).await?;
    // One that is being deleted is as good as gone.
    let alive = found
        .items
        .into_iter()
        .filter(|config| config.metadata.deletion_timestamp.is_none());
    Ok(sorted_out(alive.collect()))
}

/// `None` when nothing is selected.
fn selector(infra_env: &InfraEnv) -> Result<Option<Selector>, Invalid> {
    let Some(selector) = infra_env.spec.nm_state_config_label_selector.clone() else {
        return Ok(None);
    };
    let selector = Selector::try_from(selector).map_err(|error| {
        let why =
            format!("{error}; the operators are In and NotIn, with values, Exists and DoesNotExist, without");
        Invalid::new("nmStateConfigLabelSelector", why)
    })?;
    Ok((!selector.selects_all()).then_some(selector))
}

/// Whether the mirror registry that is referred to is well described.
async fn mirror_registry(
    infra_env: &InfraEnv,
    context: &Context,
) -> Result<Option<Result<(), String>>, Refusal> {
    let Some(reference) = &infra_env.spec.mirror_registry_ref else {
        return Ok(None);
    };
    let found = secrets::read_config_map(&context.client, &reference.namespace, &reference.name).await;
    let checked = match found {
        Ok(data) => check_mirror_registry(&data)
            .map_err(|why| format!("the ConfigMap {}/{} {why}", reference.namespace, reference.name)),
        Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
        Err(error) => Err(error.to_string()),
    };
    Ok(Some(checked))
}

/// Keys: docs/protocol/kube-controllers.md#1, step 7.
fn check_mirror_registry(data: &BTreeMap<String, String>) -> Result<(), &'static str> {
    if data
        .get(names::key::REGISTRIES_CONF)
        .is_none_or(|text| text.trim().is_empty())
    {
        return Err("has no key registries.conf");
    }
    match data.get(names::key::CA_BUNDLE) {
        Some(pem) if !pem.contains("-----BEGIN CERTIFICATE-----") => {
            Err("has a key ca-bundle.crt that holds no PEM certificate")
        }
        _ => Ok(()),
    }
}

/// There is an InfraEnv; whether there is an image depends on the live image.
async fn available(infra_env: &Arc<InfraEnv>, context: &Context, found: &Converged) -> Result<Action, Error> {
    let kept = &found.kept;
    let links = addresses(context, infra_env, kept);
    if let Some((why, again)) = no_image(context, kept).await {
        let outcome = Outcome::Unusable {
            why,
            events: Some(links.events),
        };
        write(infra_env, context, &outcome).await?;
        return Ok(again.map_or_else(Action::await_change, Action::requeue));
    }
    let unapplied = Unapplied::ALL
        .into_iter()
        .filter(|setting| setting.is_set(&kept.settings))
        .filter_map(|setting| match setting {
            Unapplied::IgnitionOverride => Some("spec.ignitionConfigOverride"),
            Unapplied::SshKeys => Some("spec.sshAuthorizedKey"),
            // Has a condition of its own.
            Unapplied::StaticNetwork => None,
        });
    let outcome = Outcome::Available(Available {
        links: &links,
        updated_at: kept.updated_at,
        unapplied: unapplied.collect(),
        networks: &found.networks,
        mirror_registry: found.mirror_registry.clone(),
    });
    write(infra_env, context, &outcome).await?;
    let referred = matches!(found.mirror_registry, Some(Err(_))).then_some(AGAIN);
    // Looked at twice before a token has half of its time left, when it is replaced.
    let signed = context.app.auth.url_lifetime().map(|lifetime| lifetime / 4);
    let next = referred.into_iter().chain(signed).min();
    Ok(next.map_or_else(Action::await_change, |after| {
        Action::requeue(after.max(Duration::from_secs(1)))
    }))
}

/// Why nobody can download an image, and when to look again.
async fn no_image(context: &Context, kept: &Kept) -> Option<(String, Option<Duration>)> {
    use muster_api::infra_env::CpuArchitecture;
    match kept.settings.cpu_architecture {
        CpuArchitecture::X86_64 => {}
        other => {
            return Some((
                format!(
                    "spec.cpuArchitecture: the Muster live image is for x86_64, not for {}",
                    other.name()
                ),
                None,
            ));
        }
    }
    let unavailable = context.app.live_images.current().await.err()?;
    Some((chain(&unavailable), Some(IMAGE_AGAIN)))
}

fn addresses(context: &Context, infra_env: &InfraEnv, kept: &Kept) -> Links {
    let redirected = infra_env.spec.ipxe_script_type == IpxeScriptType::BootOrderControl;
    links(&context.app, kept, redirected, infra_env.status.as_ref(), now())
}

/// Writes the status, if it differs from the one that was seen.
pub(super) async fn write(
    infra_env: &InfraEnv,
    context: &Context,
    outcome: &Outcome<'_>,
) -> Result<(), Error> {
    let name = infra_env.name_any();
    let next = status(&name, infra_env.status.as_ref(), outcome, now());
    if infra_env.status.as_ref() == Some(&next) {
        return Ok(());
    }
    let mut written = infra_env.clone();
    written.status = Some(next);
    written.metadata.managed_fields = None;
    api(context, infra_env)
        .replace_status(&name, &PostParams::default(), &written)
        .await?;
    Ok(())
}

pub(super) fn api(context: &Context, infra_env: &InfraEnv) -> Api<InfraEnv> {
    let namespace = infra_env.namespace().unwrap_or_default();
    Api::namespaced(context.client.clone(), &namespace)
}
