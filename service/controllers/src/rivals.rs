//! Looks for another service of this sort that runs controllers on the same cluster: its lease has the same name, in another namespace.
//!
//! Two of them would follow the same objects, with the same finalizers, and undo each other's statuses.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use muster_operations::Operations;
use muster_operations::bridge::BridgeStatus;
use muster_resources::names::LEASE;
use tokio::time::sleep;

use crate::error::words;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(15);

/// A lease counts as held for so long after its last renewal, whatever its duration is: clocks differ.
const SHORTEST: i64 = 60;

/// Under this key `/ready` tells of one that came later.
const REMARK: &str = "rival";

/// The one that holds such a lease outside of `namespace`, as a sentence; `None`: nobody, or it cannot be asked for.
async fn find(client: &Client, namespace: &str) -> Option<String> {
    let only = ListParams::default().fields(&format!("metadata.name={LEASE}"));
    match Api::<Lease>::all(client.clone()).list(&only).await {
        Ok(found) => found
            .items
            .iter()
            .find_map(|lease| held(lease, namespace, Timestamp::now())),
        Err(error) => {
            tracing::debug!(error = words(&error), "leases of other namespaces cannot be read");
            None
        }
    }
}

fn held(lease: &Lease, namespace: &str, now: Timestamp) -> Option<String> {
    let spec = lease.spec.as_ref()?;
    let holder = spec
        .holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())?;
    let its = lease.namespace().filter(|its| its != namespace)?;
    let renewed = spec.renew_time.as_ref()?.0.as_second();
    let lasts = i64::from(spec.lease_duration_seconds.unwrap_or_default()).max(SHORTEST);
    (now.as_second() - renewed < lasts).then(|| {
        format!(
            "{holder} in the namespace {its} runs controllers of the same kinds (lease {its}/{LEASE}): stop it, or say --take-over"
        )
    })
}

/// Waits until there is nobody, or at once with `take_over`.
pub async fn none_left(app: &Operations, client: &Client, namespace: &str, take_over: bool) {
    let mut is_told = false;
    while let Some(why) = find(client, namespace).await {
        if take_over {
            tracing::warn!("{why}: taken over, as asked for");
            return;
        }
        if !is_told {
            tracing::error!("custom resources are left alone: {why}");
        }
        is_told = true;
        app.bridge.set(BridgeStatus::Waiting(why));
        sleep(INTERVAL).await;
    }
}

/// Tells in `/ready` of one that comes later, for as long as it is polled.
pub async fn watch(app: Arc<Operations>, client: Client, namespace: String) {
    loop {
        sleep(INTERVAL).await;
        let found = find(&client, &namespace).await;
        app.bridge.remark(REMARK, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lease_that_somebody_renews_elsewhere_is_told() {
        let now: Timestamp = "2026-11-24T12:00:00Z".parse().unwrap();
        let lease = |namespace: &str, holder: &str, renewed: &str| -> Lease {
            serde_json::from_value(json!({"metadata": {"name": LEASE, "namespace": namespace},
                "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}))
            .unwrap()
        };
        let fresh = "2026-11-24T11:59:50.000000Z";
        let found = held(&lease("mce", "assisted-service-0", fresh), "muster", now).unwrap();
        assert!(
            found.contains("assisted-service-0 in the namespace mce"),
            "{found}"
        );
        assert_eq!(held(&lease("muster", "other", fresh), "muster", now), None);
        assert_eq!(held(&lease("mce", "", fresh), "muster", now), None);
        assert_eq!(
            held(&lease("mce", "x", "2026-11-24T11:00:00.000000Z"), "muster", now),
            None
        );
    }
}
