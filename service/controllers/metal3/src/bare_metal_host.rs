//! Boots BareMetalHosts with the image of their InfraEnv, ties them to the Agents of their machines, and detaches them from Metal3
//! before it could disturb what is installed. Source: docs/protocol/kube-controllers.md#7, docs/protocol/metal3.md#2.
//!
//! | file | what |
//! |---|---|
//! | `agents` | finds the Agent of a machine |
//! | `seen`, `decision` | the observed state, and the next step; pure, as are the next five |
//! | `live_iso`, `converged` | the two ways to the discovery image |
//! | `agent_spec`, `hints`, `hardware` | values that an Agent gets from its BareMetalHost, and the other way around |
//! | `hosts`, `reconcile`, `deletion`, `ejection`, `fencing` | reads, writes, the steps of a deletion, media left in drives |

mod agent_spec;
mod agents;
mod converged;
mod decision;
mod deletion;
mod ejection;
mod fencing;
mod hardware;
mod hints;
mod hosts;
mod live_iso;
mod reconcile;
pub(super) mod seen;
#[cfg(test)]
mod tests;

use std::future;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{self, Event};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::references::kube_ref;
use muster_controller::{finalizers, watch};
use muster_core::record::KubeRef;
use muster_resources::InfraEnv;
use muster_resources::metal3::names::finalizer;
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use tokio_util::sync::CancellationToken;

use super::flow::Flow;
use super::infra_env;
use crate::context::Context;
use agents::AgentView;
use hosts::Hosts;

/// Runs the controller until `stop`.
pub async fn run(context: Arc<Context>, flow: Flow, stop: CancellationToken) {
    let (agents, mut writer) = reflector::store::<AgentView>();
    tokio::select! {
        () = first(&context) => {}
        () = stop.cancelled() => return,
    }
    let controller = watch::controller::<BareMetalHost>(&context);
    let store = controller.store();
    let hosts = Arc::new(Hosts {
        context: context.clone(),
        flow,
        agents: agents.clone(),
        own: store.clone(),
    });
    let of_infra_env = watch::users(&store, |host: &BareMetalHost, infra_env: &KubeRef| {
        infra_env::of(host).as_ref() == Some(infra_env)
    });
    let of_image = watch::users(&store, |host: &BareMetalHost, image: &KubeRef| {
        kube_ref(host) == *image
    });
    let events = watch::watch(&context, watcher::Config::default(), agents.clone());
    let changed = events.flat_map(move |event| {
        let touched: Vec<Arc<AgentView>> = match &event {
            Event::Apply(agent) | Event::InitApply(agent) => {
                let before = agents.get(&ObjectRef::from_obj(agent));
                let is_new = before
                    .as_ref()
                    .is_none_or(|before| !before.says_the_same_as(agent));
                let both = before.into_iter().chain([Arc::new(agent.clone())]);
                both.filter(|_| is_new).collect()
            }
            Event::Delete(agent) => vec![Arc::new(agent.clone())],
            Event::Init | Event::InitDone => Vec::new(),
        };
        writer.apply_watcher_event(&event);
        let of_agents = store.state_filter(|host| touched.iter().any(|agent| agent.is_of(host)));
        let of_agents: Vec<_> = of_agents
            .iter()
            .map(|host| ObjectRef::from_obj(&**host))
            .collect();
        futures_util::stream::iter(of_agents)
    });
    let controller = controller
        .watches_stream(
            watch::metadata::<InfraEnv>(&context, watcher::Config::default()),
            move |infra_env| of_infra_env(kube_ref(&infra_env)),
        )
        .watches_stream(
            watch::metadata::<PreprovisioningImage>(&context, watcher::Config::default()),
            move |image| of_image(kube_ref(&image)),
        )
        .reconcile_on(changed);
    drive(
        "bare_metal_host",
        CONCURRENCY,
        controller,
        context,
        stop,
        move |host, _| {
            let hosts = hosts.clone();
            async move { reconcile::reconcile(host, &hosts).await }
        },
    )
    .await;
}

/// Returns when there is a BareMetalHost for Muster. Before that no Agents are watched: there may be thousands.
async fn first(context: &Context) {
    let hosts = watch::metadata::<BareMetalHost>(context, watcher::Config::default());
    let is_ours = |host: &PartialObjectMeta<BareMetalHost>| {
        infra_env::of(host).is_some() || finalizers::has(host, finalizer::HOST)
    };
    let mut ours = pin!(hosts.filter(|host| future::ready(host.as_ref().is_ok_and(is_ours))));
    if ours.next().await.is_none() {
        // A watch has no end.
        future::pending::<()>().await;
    }
}
