//! Finds another service of this kind that runs controllers on the same cluster: its lease has the same name, in another namespace.
//!
//! Two of them would reconcile the same objects, with the same finalizers, and overwrite each other's statuses. But any user who may write
//! in some namespace can write such a lease, or a Deployment as well: so it counts only while it is renewed, and delays the controllers
//! for a while, never for good, and not those that have run here before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use muster_controller::error::words;
use muster_operations::Operations;
use muster_operations::bridge::BridgeStatus;
use muster_resources::names::LEASE;
use tokio::time::{Instant, sleep};

/// Between two checks.
const INTERVAL: Duration = Duration::from_secs(15);

/// Least time, seconds, for which a lease counts as held after its last renewal, whatever its duration is: clocks differ. A renewal so
/// far in the future was not made by a service.
const SHORTEST: i64 = 60;

/// The longest wait for the controllers of another service.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Controllers that ran here within this time, seconds, do not wait: the other service was started later.
const LATELY: i64 = 3600;

/// The key in `/ready` for a service that was started later.
const REMARK: &str = "rival";

/// The last renewals, by namespace, and when each was first seen.
#[derive(Debug, Default)]
struct Renewals(HashMap<String, (Timestamp, Instant)>);

impl Renewals {
    /// True when no renewal of this lease was seen for its duration.
    fn are_over(&mut self, namespace: &str, renewed: Timestamp, lasts: i64, now: Instant) -> bool {
        let seen = self.0.entry(namespace.to_owned()).or_insert((renewed, now));
        if seen.0 != renewed {
            *seen = (renewed, now);
        }
        now.duration_since(seen.1) >= Duration::from_secs(lasts.unsigned_abs())
    }

    /// The holder of such a lease outside of `namespace`, as a sentence; `None`: there is no such lease, or leases cannot be read.
    async fn holder(&mut self, client: &Client, namespace: &str) -> Option<String> {
        let only = ListParams::default().fields(&format!("metadata.name={LEASE}"));
        match Api::<Lease>::all(client.clone()).list(&only).await {
            Ok(found) => {
                let now = (Timestamp::now(), Instant::now());
                let namespaces: HashSet<String> =
                    found.items.iter().filter_map(ResourceExt::namespace).collect();
                self.0.retain(|namespace, _| namespaces.contains(namespace));
                found
                    .items
                    .iter()
                    .find_map(|lease| self.held(lease, namespace, now))
            }
            Err(error) => {
                tracing::debug!(error = words(&error), "leases of other namespaces cannot be read");
                None
            }
        }
    }

    fn held(&mut self, lease: &Lease, namespace: &str, (clock, now): (Timestamp, Instant)) -> Option<String> {
        let spec = lease.spec.as_ref()?;
        let holder = spec
            .holder_identity
            .as_deref()
            .filter(|holder| !holder.is_empty())?;
        let its = lease.namespace().filter(|its| its != namespace)?;
        let renewed = spec.renew_time.as_ref()?.0;
        let lasts = i64::from(spec.lease_duration_seconds.unwrap_or_default()).clamp(SHORTEST, LATELY);
        let age = clock.as_second() - renewed.as_second();
        let is_held = age > -SHORTEST && age < lasts && !self.are_over(&its, renewed, lasts, now);
        is_held.then(|| {
            format!(
                "{holder} in the namespace {its} runs controllers of the same kinds (lease {its}/{LEASE}): stop it, or use --take-over"
            )
        })
    }
}

/// True if a replica of this service ran controllers lately: read from the own lease, which only this service and its administrators write.
async fn ran_lately(client: &Client, namespace: &str) -> bool {
    let own = Api::<Lease>::namespaced(client.clone(), namespace)
        .get_opt(LEASE)
        .await;
    let spec = own.ok().flatten().and_then(|lease| lease.spec);
    let renewed = spec.and_then(|spec| spec.renew_time);
    renewed.is_some_and(|renewed| (Timestamp::now().as_second() - renewed.0.as_second()).abs() < LATELY)
}

/// Waits until there is no other service, for [`PATIENCE`] at most; not at all with `take_over`, or if controllers of this service ran
/// lately.
pub async fn none_left(operations: &Operations, client: &Client, namespace: &str, take_over: bool) {
    let mut renewals = Renewals::default();
    let (began, mut is_told) = (Instant::now(), false);
    while let Some(why) = renewals.holder(client, namespace).await {
        if take_over {
            tracing::warn!("{why}: taken over, as requested");
            return;
        }
        if ran_lately(client, namespace).await {
            tracing::warn!("{why}. The controllers here ran within the last hour, and go on");
            return;
        }
        if began.elapsed() >= PATIENCE {
            let minutes = PATIENCE.as_secs() / 60;
            tracing::warn!("{why}. It was waited for {minutes} minutes, and the controllers here begin");
            return;
        }
        if !is_told {
            tracing::error!("custom resources are left alone: {why}");
        }
        is_told = true;
        operations.bridge.set(BridgeStatus::Waiting(why));
        sleep(INTERVAL).await;
    }
}

/// Reports a service that is started later in `/ready`, for as long as this is polled.
pub async fn watch(operations: Arc<Operations>, client: Client, namespace: String) {
    let mut renewals = Renewals::default();
    loop {
        sleep(INTERVAL).await;
        let found = renewals.holder(&client, &namespace).await;
        operations.bridge.remark(REMARK, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lease(namespace: &str, holder: &str, renewed: &str) -> Lease {
        serde_json::from_value(json!({"metadata": {"name": LEASE, "namespace": namespace},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}))
        .unwrap()
    }

    fn noon() -> Timestamp {
        "2026-11-24T12:00:00Z".parse().unwrap()
    }

    fn held(lease: &Lease) -> Option<String> {
        Renewals::default().held(lease, "muster", (noon(), Instant::now()))
    }

    #[test]
    fn a_lease_that_somebody_renews_elsewhere_is_told() {
        let fresh = "2026-11-24T11:59:50.000000Z";
        let found = held(&lease("mce", "assisted-service-0", fresh)).unwrap();
        assert!(
            found.contains("assisted-service-0 in the namespace mce"),
            "{found}"
        );
        assert_eq!(held(&lease("muster", "other", fresh)), None);
        assert_eq!(held(&lease("mce", "", fresh)), None);
        assert_eq!(held(&lease("mce", "x", "2026-11-24T11:00:00.000000Z")), None);
    }

    #[test]
    fn a_lease_of_the_future_is_nobodys() {
        assert_eq!(held(&lease("tenant", "x", "2036-11-24T12:00:00.000000Z")), None);
        assert_eq!(held(&lease("tenant", "x", "2026-11-24T12:01:00.000000Z")), None);
        assert!(
            held(&lease("mce", "x", "2026-11-24T12:00:59.000000Z")).is_some(),
            "clocks differ"
        );
        let mut for_ever = lease("tenant", "x", "2026-11-24T10:00:00.000000Z");
        for_ever.spec.as_mut().unwrap().lease_duration_seconds = Some(i32::MAX);
        assert_eq!(held(&for_ever), None);
    }

    #[test]
    fn a_lease_that_is_not_renewed_while_it_is_watched_is_over() {
        let (mut renewals, start) = (Renewals::default(), Instant::now());
        let mut held = |renewed: &str, second: u64| {
            let now = start + Duration::from_secs(second);
            renewals
                .held(&lease("mce", "x", renewed), "muster", (noon(), now))
                .is_some()
        };
        // The clock here stands still, like that of a machine that is behind.
        assert!(held("2026-11-24T11:59:50.000000Z", 0) && held("2026-11-24T11:59:50.000000Z", 59));
        assert!(held("2026-11-24T12:00:49.000000Z", 60), "it was renewed");
        assert!(held("2026-11-24T12:00:49.000000Z", 119));
        assert!(!held("2026-11-24T12:00:49.000000Z", 120));
    }
}
