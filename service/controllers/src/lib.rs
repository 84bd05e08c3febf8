//! The custom-resource bridge: between objects of a Kubernetes API and the records of the service.
//!
//! One controller a kind, each a file here with a folder beside it: pure `status` and `desired`, and `reconcile`, which does the talking.
//! All of them talk through [`kube::Client`], to a real API server or to the built-in one in this process. They run in the replica that
//! leads ([`lead`]); what changed in the database reaches them through [`Changes`](muster_operations::changes::Changes). On start each looks at everything anew, so that nothing
//! depends on what was pushed before.

pub mod agent;
pub mod agent_classification;
pub mod agent_cluster_install;
pub mod agent_labels;
pub mod bridge;
pub mod cluster_deployment;
pub mod conditions;
pub mod context;
pub mod drive;
pub mod error;
pub mod finalizers;
pub mod infra_env;
pub mod kinds;
pub mod lead;
pub mod lease;
#[cfg(test)]
mod recorded;
pub mod secrets;

use std::sync::Arc;

use kube::{Resource, ResourceExt};
use muster_core::kube::KubeRef;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use context::Context;
pub use drive::drive;
pub use error::Error;

/// Runs all controllers until `stop`. It ends early only when one of them ends, which none should.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    let mut running: JoinSet<&'static str> = JoinSet::new();
    // One line a controller: start(&mut running, "agent", agent::run(context.clone(), stop.clone()));
    start(&mut running, "agent", agent::run(context.clone(), stop.clone()));
    start(
        &mut running,
        "agent_cluster_install",
        agent_cluster_install::run(context.clone(), stop.clone()),
    );
    start(
        &mut running,
        "cluster_deployment",
        cluster_deployment::run(context.clone(), stop.clone()),
    );
    start(
        &mut running,
        "infra_env",
        infra_env::run(context.clone(), stop.clone()),
    );
    drop(context);
    while let Some(ended) = running.join_next().await {
        if stop.is_cancelled() {
            continue;
        }
        match ended {
            Ok(name) => tracing::error!(
                controller = name,
                "a controller ended; all of them are started anew"
            ),
            Err(error) => tracing::error!(%error, "a controller broke; all of them are started anew"),
        }
        return;
    }
}

fn start(
    running: &mut JoinSet<&'static str>,
    name: &'static str,
    controller: impl Future<Output = ()> + Send + 'static,
) {
    running.spawn(async move {
        controller.await;
        name
    });
}

/// Namespace and name of an object.
fn kube_ref<K: Resource>(object: &K) -> KubeRef {
    KubeRef::new(object.namespace().unwrap_or_default(), object.name_any())
}
