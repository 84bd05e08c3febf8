//! Deletes an InfraEnv with its Agents. Source: docs/protocol/kube-controllers.md#1 (step 1).

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, ListParams};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_controller::finalizers;
use muster_controller::references::{kube_ref, may_be_of};
use muster_operations::{OperationError, now, unless_missing};
use muster_resources::{Agent, InfraEnv, names};

use super::reconcile;
use super::status::Outcome;
use crate::bmc::{self, delete::Next};
use crate::context::Context;
use crate::error::{Error, unless_absent};

/// Between two reconciles while Agents are being deleted. The deletion of a host triggers one as well.
const DELETION_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Agents in one page of a list.
const PAGE: u32 = 500;

/// Deletions at the same time.
const AT_ONCE: usize = 8;

/// Deletes the Agents that may be deleted; when no host is left, the record and then the finalizer.
pub async fn delete(infra_env: &InfraEnv, context: &Context) -> Result<Action, Error> {
    let api = reconcile::api(context, infra_env);
    if !finalizers::has(infra_env, names::finalizer::INFRA_ENV) {
        // The object waits for finalizers of others.
        return Ok(Action::await_change());
    }
    let stored = context
        .operations
        .infra_envs
        .find_by_kube(&kube_ref(infra_env))
        .await?;
    let stored = stored.filter(|stored| may_be_of(infra_env, &stored.id));
    if let Some(stored) = &stored {
        let ejecting = ejecting(infra_env, stored.id, context).await?;
        if !ejecting.is_empty() {
            reconcile::write(infra_env, context, &Outcome::Ejecting(&ejecting)).await?;
            return Ok(Action::requeue(DELETION_RETRY_INTERVAL));
        }
    }
    let hosts = match &stored {
        Some(stored) => hosts(context, stored.id).await?,
        None => Vec::new(),
    };
    let agents = agents(infra_env, context).await?;
    let plan = plan(&hosts, &agents);
    delete_agents(infra_env, context, &plan.agents).await?;
    if let Some(stored) = &stored {
        for id in &plan.hosts {
            done(context.operations.hosts.delete(stored.id, *id).await)?;
        }
    }
    if !plan.waiting.is_empty() {
        reconcile::write(infra_env, context, &Outcome::Blocked(&plan.waiting)).await?;
        return Ok(Action::requeue(DELETION_RETRY_INTERVAL));
    }
    if hosts.len() > plan.hosts.len() {
        // Their Agents are being deleted.
        return Ok(Action::requeue(DELETION_RETRY_INTERVAL));
    }
    if let Some(stored) = &stored {
        // A host that registered just now prevents the deletion: the next reconcile sees it.
        done(context.operations.infra_envs.delete(stored.id).await)?;
    }
    finalizers::remove(&api, infra_env, names::finalizer::INFRA_ENV).await?;
    tracing::info!(infra_env = %kube_ref(infra_env), "InfraEnv resource deleted");
    Ok(Action::await_change())
}

/// Ends discoveries through the InfraEnv's BMCs, which are deleted with it. Returns the names of the BMCs that still have the image.
async fn ejecting(infra_env: &InfraEnv, id: InfraEnvId, context: &Context) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for mut bmc in context.operations.bmcs.list(id).await? {
        if bmc.stage.is_active() {
            bmc = context.operations.bmcs.stop(id, bmc.id).await?;
        }
        if let Next::Wait { .. } = bmc::delete::next(&bmc, bmc::delete::asked_at(infra_env), now()) {
            names.push(bmc.name);
        }
    }
    Ok(names)
}

/// A refusal is no mistake in the InfraEnv: the deletion is tried again.
fn done(outcome: Result<(), OperationError>) -> Result<(), Error> {
    unless_missing(outcome).map_err(|error| {
        if error.is_input() {
            Error::internal(error.to_string())
        } else {
            error.into()
        }
    })
}

/// The properties of a host that decide about its deletion.
struct HostBrief {
    id: HostId,
    cluster: Option<ClusterId>,
    status: HostStatus,
}

/// The next deletions.
#[derive(Debug, Default, PartialEq)]
struct Plan {
    /// Names of Agents to delete. Their controller deletes their hosts.
    agents: Vec<String>,
    /// Hosts to delete: they have no Agent.
    hosts: Vec<HostId>,
    /// Hosts that prevent the deletion of the InfraEnv.
    waiting: Vec<(HostId, HostStatus)>,
}

/// Hosts without a cluster and installed ones are deleted, and so are Agents without a host. `agents`: by name, true
/// for those that are being deleted.
fn plan(hosts: &[HostBrief], agents: &BTreeMap<String, bool>) -> Plan {
    let mut plan = Plan::default();
    let mut left: BTreeMap<&str, bool> = agents
        .iter()
        .map(|(name, going)| (name.as_str(), *going))
        .collect();
    for host in hosts {
        let going = left.remove(host.id.to_string().as_str());
        let may_go = host.cluster.is_none()
            || matches!(
                host.status,
                HostStatus::Installed | HostStatus::AddedToExistingCluster
            );
        match going {
            Some(true) => {}
            Some(false) if may_go => plan.agents.push(host.id.to_string()),
            None if may_go => plan.hosts.push(host.id),
            Some(false) | None => plan.waiting.push((host.id, host.status)),
        }
    }
    let orphans = left.into_iter().filter(|(_, going)| !going);
    plan.agents.extend(orphans.map(|(name, _)| name.to_owned()));
    plan
}

async fn hosts(context: &Context, id: InfraEnvId) -> Result<Vec<HostBrief>, Error> {
    let briefs = context.operations.hosts.briefs(id).await?;
    let brief_of = |brief: muster_operations::records::HostBrief| HostBrief {
        id: brief.id,
        cluster: brief.cluster_id,
        status: brief.state.status(),
    };
    Ok(briefs.into_iter().map(brief_of).collect())
}

/// The Agents of the InfraEnv by name; true for those that are being deleted.
async fn agents(infra_env: &InfraEnv, context: &Context) -> Result<BTreeMap<String, bool>, Error> {
    let namespace = infra_env.namespace().unwrap_or_default();
    let api = Api::<PartialObjectMeta<Agent>>::namespaced(context.client.clone(), &namespace);
    let label = format!("{}={}", names::label::INFRA_ENV, infra_env.name_any());
    let mut params = ListParams::default().labels(&label).limit(PAGE);
    let mut found = BTreeMap::new();
    loop {
        let page = api.list(&params).await?;
        let next = page.metadata.continue_.filter(|token| !token.is_empty());
        found.extend(
            page.items
                .iter()
                .map(|agent| (agent.name_any(), agent.metadata.deletion_timestamp.is_some())),
        );
        let Some(token) = next else {
            return Ok(found);
        };
        params = params.continue_token(&token);
    }
}

async fn delete_agents(infra_env: &InfraEnv, context: &Context, agents: &[String]) -> Result<(), Error> {
    let namespace = infra_env.namespace().unwrap_or_default();
    let api = Api::<Agent>::namespaced(context.client.clone(), &namespace);
    let params = DeleteParams::default();
    stream::iter(agents)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, |name| async {
            unless_absent(api.delete(name, &params).await)?;
            Ok(())
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(bound: bool, status: HostStatus) -> HostBrief {
        HostBrief {
            id: HostId::random(),
            cluster: bound.then(ClusterId::random),
            status,
        }
    }

    #[test]
    fn unbound_and_installed_hosts_go_with_their_agents_and_others_are_waited_for() {
        let unbound = host(false, HostStatus::KnownUnbound);
        let joined = host(true, HostStatus::AddedToExistingCluster);
        let bound = host(true, HostStatus::Known);
        let without_agent = host(false, HostStatus::DiscoveringUnbound);
        let going = host(true, HostStatus::Insufficient);
        let agents = BTreeMap::from([
            (unbound.id.to_string(), false),
            (joined.id.to_string(), false),
            (bound.id.to_string(), false),
            (going.id.to_string(), true),
            ("orphan".to_owned(), false),
            ("going-orphan".to_owned(), true),
        ]);
        let (waiting, forgotten) = (vec![(bound.id, HostStatus::Known)], vec![without_agent.id]);
        let gone = vec![unbound.id.to_string(), joined.id.to_string(), "orphan".to_owned()];
        let hosts = [unbound, joined, bound, without_agent, going];
        let plan = plan(&hosts, &agents);
        assert_eq!(plan.waiting, waiting);
        assert_eq!(plan.hosts, forgotten);
        assert_eq!(plan.agents, gone);
    }

    #[test]
    fn nothing_is_left_to_do_when_all_are_gone() {
        assert_eq!(plan(&[], &BTreeMap::new()), Plan::default());
    }
}
