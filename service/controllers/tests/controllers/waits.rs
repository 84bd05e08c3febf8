//! The texts of waits in Events and conditions, on a built-in Kubernetes API in this process.

use k8s_openapi::api::core::v1::{Event, Namespace, ObjectReference};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::events::EventType;
use kube::{Api, Client};
use muster_cluster_api::{capi, nodepool};
use muster_controller::events::{Events, event, publish};
use muster_operations::now;
use muster_resources::hypershift::NodePool;
use muster_resources::{AgentCluster, AgentMachine, StandardCondition};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::backend::{Backend, eventually};

const NAMESPACE: &str = "clusters";

async fn events_of(client: &Client) -> Vec<(String, i32)> {
    let api = Api::<Event>::namespaced(client.clone(), "default");
    let list = api.list(&ListParams::default()).await.unwrap();
    let of = |event: Event| {
        assert!(event.first_timestamp <= event.last_timestamp && event.last_timestamp.is_some());
        (event.message.unwrap_or_default(), event.count.unwrap_or_default())
    };
    let mut found: Vec<_> = list.into_iter().map(of).collect();
    found.sort();
    found
}

#[tokio::test]
async fn a_repeated_event_shows_its_present_note_and_one_that_says_the_same_is_counted() {
    let backend = Backend::open(now()).await;
    let (events, queued) = Events::new();
    tokio::spawn(publish(backend.client.clone(), queued));
    let object = ObjectReference {
        api_version: Some("capi-provider.agent-install.openshift.io/v1beta1".into()),
        kind: Some("AgentMachine".into()),
        name: Some("m".into()),
        namespace: Some("default".into()),
        uid: Some("u".into()),
        ..ObjectReference::default()
    };
    for note in [
        "no Agent is approved",
        "no Agent is approved",
        "one Agent is silent",
    ] {
        let wait = event(EventType::Normal, "Wait", "NoSuitableAgents", note);
        events.publish(wait, object.clone());
    }
    let wanted = [
        ("no Agent is approved".to_owned(), 2),
        ("one Agent is silent".to_owned(), 1),
    ];
    eventually("both texts", async || {
        (events_of(&backend.client).await == wanted).then_some(())
    })
    .await;
}

/// A status that has not changed for days.
fn waiting(type_: &str, reason: &str, mut status: Value) -> Patch<Value> {
    status["conditions"] = json!([{
        "type": type_, "status": "False", "reason": reason, "message": "waits",
        "lastTransitionTime": "2026-11-20T08:00:00Z",
    }]);
    Patch::Merge(json!({ "status": status }))
}

fn message<'a>(list: impl IntoIterator<Item = &'a StandardCondition>, type_: &str) -> String {
    let found = list.into_iter().find(|one| one.type_ == type_);
    found.map(|one| one.message.clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_of_waits_that_take_too_long_say_so_and_what_to_do() {
    let backend = Backend::open(now()).await;
    let client = backend.client.clone();
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    let namespace = serde_json::from_value(namespace).unwrap();
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let clusters = Api::<AgentCluster>::namespaced(client.clone(), NAMESPACE);
    let machines = Api::<AgentMachine>::namespaced(client.clone(), NAMESPACE);
    let pools = Api::<NodePool>::namespaced(client.clone(), NAMESPACE);
    let (create, patch) = (PostParams::default(), PatchParams::default());

    let cluster = serde_json::from_value(json!({"metadata": {"name": "one"}, "spec": {}})).unwrap();
    clusters.create(&create, &cluster).await.unwrap();
    let status = waiting(
        "Ready",
        "WaitingForCluster",
        json!({"clusterDeploymentReference": {}}),
    );
    clusters.patch_status("one", &patch, &status).await.unwrap();
    let machine = serde_json::from_value(json!({"metadata": {"name": "m"}, "spec": {}})).unwrap();
    machines.create(&create, &machine).await.unwrap();
    let status = waiting("AgentReserved", "AgentNotYetFound", json!({}));
    machines.patch_status("m", &patch, &status).await.unwrap();
    let pool = json!({
        "metadata": {"name": "np"},
        "spec": {"clusterName": "one", "replicas": 1, "platform": {"type": "Agent"}, "release": {"image": "r:4.20.1"}},
    });
    let pool = serde_json::from_value(pool).unwrap();
    pools.create(&create, &pool).await.unwrap();
    let status = waiting("Ready", "HostedClusterNotFound", json!({}));
    pools.patch_status("np", &patch, &status).await.unwrap();

    let (events, _queued) = Events::new();
    let context = backend.context(events).of_cluster_api();
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    tokio::spawn(capi::run(context.clone(), stop.clone()));
    tokio::spawn(nodepool::run(context, stop));

    let said = eventually("the AgentCluster to be overdue", async || {
        let found = clusters.get("one").await.unwrap().status?;
        let said = message(&found.conditions, "Ready");
        said.contains("Overdue since 2026-11-20 08:10:00 UTC. ")
            .then_some(said)
    })
    .await;
    assert!(said.ends_with("names this AgentCluster."), "{said}");
    let said = eventually("the AgentMachine to be overdue", async || {
        let found = machines.get("m").await.unwrap().status?;
        let summary = message(&found.conditions, "Ready");
        summary
            .contains("Overdue since 2026-11-20 08:10:00 UTC. ")
            .then_some(summary)
    })
    .await;
    assert!(said.contains("* AgentReserved: Waits for the Machine"), "{said}");
    eventually("the NodePool to be overdue", async || {
        let found = pools.get("np").await.unwrap().status?;
        let said = message(&found.conditions, "Ready");
        said.contains("there is no HostedCluster one in the namespace clusters. Overdue since")
            .then_some(())
    })
    .await;

    // An object that waits for its owner is deleted with it.
    machines.delete("m", &DeleteParams::default()).await.unwrap();
    clusters.delete("one", &DeleteParams::default()).await.unwrap();
    eventually("both to go", async || {
        let is_left = machines.get_opt("m").await.unwrap().is_some()
            || clusters.get_opt("one").await.unwrap().is_some();
        (!is_left).then_some(())
    })
    .await;
}
