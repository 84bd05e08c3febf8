//! Reconciles one BareMetalHost: reads the objects that it depends on, writes what was decided.

use std::sync::Arc;

use kube::api::Patch;
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_api::time::Timestamp;
use muster_api::time::now;
use muster_controller::error::{Error, unless_absent};
use muster_controller::finalizers;
use muster_controller::references::kube_ref;
use muster_controller::retry::{RETRY_INTERVAL, soonest};
use muster_controller::waits::Wait;
use muster_controller::writes::patch_params;
use muster_core::record::KubeRef;
use muster_resources::metal3::names::finalizer;
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use muster_resources::{Agent, InfraEnv};
use serde_json::Value;

use super::decision::decide;
use super::hosts::Hosts;
use super::seen::{Seen, Waiting};
use super::{agent_spec, deletion, ejection, fencing};
use crate::flow::Flow;
use crate::infra_env;

/// Does the next step.
pub async fn reconcile(host: Arc<BareMetalHost>, hosts: &Hosts) -> Result<Action, Error> {
    let Some(infra_env) = infra_env::of(&*host) else {
        // The host does not belong to this service (any more).
        hosts.context.waits.set(&host.object_ref(&()), None);
        finalizers::remove(&hosts.api(&host), &*host, finalizer::HOST).await?;
        return Ok(Action::await_change());
    };
    if hosts.agents.wait_until_ready().await.is_err() {
        return Err(Error::Internal("the Agents are not watched any more".into()));
    }
    let elder = hosts.elder(&host);
    let agent = match &elder {
        Some(_) => None,
        None => hosts.agent(&host).await?,
    };
    if host.metadata.deletion_timestamp.is_some() {
        return deletion::delete(&host, agent.as_ref(), hosts).await;
    }
    let claimed = match &elder {
        Some(_) => None,
        None => hosts.claimed(&host, agent.as_ref()),
    };
    let twin = elder.map(|elder| {
        format!(
            "the BareMetalHost {elder} has the same spec.bootMACAddress and was there before: it has the Agent; delete one of the two"
        )
    });
    let found = twin.into_iter().chain(claimed).collect();
    advance(&host, &infra_env, (agent.as_ref(), found), hosts).await
}

async fn advance(
    host: &BareMetalHost,
    infra_env: &KubeRef,
    (agent, mut problems): (Option<&Agent>, Vec<String>),
    hosts: &Hosts,
) -> Result<Action, Error> {
    let client = &hosts.context.client;
    let infra_envs = Api::<InfraEnv>::namespaced(client.clone(), &infra_env.namespace);
    let infra_env = infra_envs.get_opt(&infra_env.name).await?;
    let image = match hosts.flow {
        Flow::Converged => {
            let images = Api::<PreprovisioningImage>::namespaced(
                client.clone(),
                &host.namespace().unwrap_or_default(),
            );
            images.get_opt(&host.name_any()).await?
        }
        Flow::Off | Flow::LiveIso => None,
    };
    let seen = Seen {
        host,
        infra_env: infra_env.as_ref(),
        agent,
        image: image.as_ref(),
        now: now(),
    };
    let step = decide(&seen, hosts.flow);
    let written = match step.edits.patch(host) {
        Some(patch) => Some(write(&hosts.api(host), host, patch).await?),
        None => None,
    };
    let alive = agent.filter(|agent| agent.metadata.deletion_timestamp.is_none());
    if let Some(agent) = alive {
        problems.extend(follow(host, infra_env.as_ref(), agent, hosts).await?);
    }
    let again = (!problems.is_empty()).then_some(RETRY_INTERVAL);
    let told = written.as_ref().unwrap_or(host);
    let inserted = if ejection::is_due(told, agent) {
        ejection::eject(told, hosts).await?
    } else {
        None
    };
    let (left, later) = inserted.unzip();
    tell(told, step.wait.or(left), problems, hosts);
    Ok(soonest([step.again, again, later]))
}

async fn write(api: &Api<BareMetalHost>, host: &BareMetalHost, patch: Value) -> Result<BareMetalHost, Error> {
    let written = api
        .patch(&host.name_any(), &patch_params(), &Patch::Merge(&patch))
        .await?;
    // Without its content: the image's URL suffices to get the image.
    tracing::info!(host = %kube_ref(host), "BareMetalHost changed");
    Ok(written)
}

/// Sets the fields of the Agent that its BareMetalHost sets. Returns the problems with them.
async fn follow(
    host: &BareMetalHost,
    infra_env: Option<&InfraEnv>,
    agent: &Agent,
    hosts: &Hosts,
) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    if fencing::is_made(host) {
        problems.extend(fencing::write(&hosts.context.client, host, agent).await?);
    }
    let (edits, wrong) = agent_spec::edits(host, infra_env, agent);
    problems.extend(wrong);
    if let Some(patch) = edits.patch(agent) {
        let patched = hosts
            .agents(host)
            .patch_metadata(&agent.name_any(), &patch_params(), &Patch::Merge(&patch))
            .await;
        unless_absent(patched)?;
        tracing::info!(host = %kube_ref(host), agent = agent.name_any(), "the Agent follows its BareMetalHost");
    }
    Ok(problems)
}

/// Publishes Events for the wait of a host, since Metal3's status has no place for it.
fn tell(host: &BareMetalHost, wait: Option<Waiting>, problems: Vec<String>, hosts: &Hosts) {
    let created = host.creation_timestamp();
    let since = created.and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0));
    let since = since.unwrap_or_else(now);
    let wait = match wait {
        _ if !problems.is_empty() => Some(Wait {
            reason: "InvalidBareMetalHost",
            what: problems.join("; "),
            since,
            until: None,
            todo: "Correct it on the BareMetalHost.".to_owned(),
            needs_user: true,
        }),
        wait => wait.map(|wait| Wait {
            reason: wait.reason,
            what: wait.what,
            since,
            until: None,
            todo: wait.todo.to_owned(),
            needs_user: false,
        }),
    };
    hosts.context.waits.set(&host.object_ref(&()), wait);
}
