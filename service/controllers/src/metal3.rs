//! Controllers of Metal3's kinds, next to an unmodified baremetal-operator: PreprovisioningImages are answered with the images of
//! InfraEnvs, and BareMetalHosts are booted with them and tied to their Agents. Source: docs/protocol/kube-controllers.md#7,
//! docs/protocol/metal3.md.
//!
//! | file | what |
//! |---|---|
//! | `flow` | the way to the discovery image |
//! | `edits` | changes of one object, for one patch |
//! | `kinds` | waits for an API server to have Metal3's kinds |
//! | `infra_env` | the InfraEnv of an object, and the time for which its image is left alone |
//! | `preprovisioning_image` | answers PreprovisioningImages |
//! | `bare_metal_host` | BareMetalHosts and their Agents |

pub mod bare_metal_host;
mod edits;
mod flow;
mod infra_env;
mod kinds;
pub mod preprovisioning_image;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::context::Context;
pub use flow::Flow;

/// Runs the controllers until `stop`, once the API server has the kinds.
pub async fn run(context: Arc<Context>, flow: Flow, stop: CancellationToken) {
    if flow == Flow::Off {
        return stop.cancelled().await;
    }
    tokio::select! {
        () = kinds::served(&context.client) => {}
        () = stop.cancelled() => return,
    }
    tokio::join!(
        preprovisioning_image::run(context.clone(), stop.clone()),
        bare_metal_host::run(context, flow, stop),
    );
}
