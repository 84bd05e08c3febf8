//! Waits for Metal3's kinds. An API server need not have them, and may get them at any time.

use std::time::Duration;

use kube::Client;
use muster_resources::metal3::names::{GROUP, VERSION};

use crate::error::words;

/// Between two looks for kinds that are not there.
const INTERVAL: Duration = Duration::from_secs(10);

/// The kinds that are used.
const KINDS: [&str; 2] = ["baremetalhosts", "preprovisioningimages"];

/// Returns when the API server has the kinds.
pub async fn served(client: &Client) {
    loop {
        match client
            .list_api_group_resources(&format!("{GROUP}/{VERSION}"))
            .await
        {
            Ok(listed) => {
                let has = |kind: &&str| listed.resources.iter().any(|one| one.name == **kind);
                if KINDS.iter().all(has) {
                    tracing::info!("Metal3's kinds are there: BareMetalHosts are looked after");
                    return;
                }
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => tracing::debug!(error = words(&error), "Metal3's kinds are looked for again"),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
