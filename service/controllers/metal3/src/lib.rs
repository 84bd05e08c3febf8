//! Controllers of Metal3's kinds, for use with an unmodified baremetal-operator: they put the images of InfraEnvs into the status of
//! PreprovisioningImages, boot BareMetalHosts with them and tie them to their Agents. Source: docs/protocol/kube-controllers.md#7,
//! docs/protocol/metal3.md.
//!
//! | file | what |
//! |---|---|
//! | `flow` | the way to the discovery image |
//! | `context` | what the controllers share; what they read of records |
//! | `address` | addresses of BMCs |
//! | `drives` | the trait that empties the drives of machines |
//! | `edits` | changes of one object, for one patch |
//! | `infra_env` | the InfraEnv of an object, and the age from which its image is used |
//! | `preprovisioning_image` | reconciles PreprovisioningImages |
//! | `bare_metal_host` | BareMetalHosts and their Agents |
//! | `owner` | the BareMetalHost that has a BMC |

mod address;
pub mod bare_metal_host;
pub mod context;
pub mod drives;
mod edits;
mod flow;
mod infra_env;
pub mod owner;
pub mod preprovisioning_image;

use std::sync::Arc;

use muster_controller::kinds;
use muster_resources::metal3::names::{GROUP, VERSION};
use tokio_util::sync::CancellationToken;

pub use context::{Context, Records};
pub use flow::Flow;

/// The kinds that are used.
const KINDS: [&str; 2] = ["baremetalhosts", "preprovisioningimages"];

/// Runs the controllers until `stop`, once the API server has the kinds.
pub async fn run(context: Arc<Context>, flow: Flow, stop: CancellationToken) {
    if flow == Flow::Off {
        return stop.cancelled().await;
    }
    let group_version = format!("{GROUP}/{VERSION}");
    tokio::select! {
        () = kinds::served(&context.client, &group_version, &KINDS) => {}
        () = stop.cancelled() => return,
    }
    tokio::join!(
        preprovisioning_image::run(context.clone(), stop.clone()),
        bare_metal_host::run(context, flow, stop),
    );
}
