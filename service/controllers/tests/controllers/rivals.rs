//! A lease as of another service's controllers, which any user of a namespace can write; and an API server that requires no right of users who
//! name objects of other namespaces.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use muster_controllers::foreign_references::are_held;
use muster_controllers::rivals::none_left;
use muster_operations::now;
use muster_resources::names::LEASE;
use serde_json::json;
use tokio::time::timeout;

use crate::backend::{Backend, SOON, eventually};

const OWN: &str = "muster";

async fn lease(backend: &Backend, namespace: &str, holder: &str, renewed_in: i64) {
    let object = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
    let namespaces = Api::<Namespace>::all(backend.client.clone());
    namespaces.create(&PostParams::default(), &object).await.unwrap();
    let renewed = (now() + chrono::TimeDelta::seconds(renewed_in)).format("%Y-%m-%dT%H:%M:%S.000000Z");
    let lease = serde_json::from_value(json!({
        "metadata": {"name": LEASE},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed.to_string()},
    }))
    .unwrap();
    let leases = Api::<Lease>::namespaced(backend.client.clone(), namespace);
    leases.create(&PostParams::default(), &lease).await.unwrap();
}

/// True when controllers may start at once.
async fn begins(backend: &Backend, limit: Duration) -> bool {
    let wait = none_left(&backend.operations, &backend.client, OWN, false);
    timeout(limit, wait).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_the_year_after_next_keeps_nobody_off() {
    let backend = Backend::open(now()).await;
    lease(&backend, "tenant", "x", 2 * 365 * 86_400).await;
    assert!(begins(&backend, SOON).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_lease_delays_controllers_that_have_not_run_here() {
    let backend = Backend::open(now()).await;
    lease(&backend, "mce", "assisted-service-0", 0).await;
    let operations = backend.operations.clone();
    let told = eventually("/ready to tell of it", async || {
        let status = operations.bridge.status().to_string();
        status
            .contains("assisted-service-0 in the namespace mce")
            .then_some(status)
    });
    tokio::select! {
        told = told => assert!(told.contains("--take-over"), "{told}"),
        _ = begins(&backend, SOON) => panic!("the controllers begin beside others"),
    }
    lease(&backend, OWN, "replica-1", -120).await;
    assert!(begins(&backend, SOON).await, "they ran here two minutes ago");
}

#[tokio::test]
async fn an_api_server_without_the_policy_for_references_is_told_apart() {
    let backend = Backend::open(now()).await;
    assert!(!are_held(&backend.client).await.unwrap());
}
