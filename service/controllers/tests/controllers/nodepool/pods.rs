//! The simulated pods of a workload cluster: an API in front of the cluster's, which lists them and accepts evictions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use muster_kube_api::{Caller, KubeApi};
use serde_json::{Value, json};

/// Pods in the namespace `default`.
#[derive(Clone, Default)]
pub struct Pods(Arc<Mutex<Played>>);

#[derive(Default)]
struct Played {
    pods: BTreeMap<String, Value>,
    /// Pods for which evictions are refused with 429.
    guarded: Vec<String>,
    evicted: Vec<String>,
    /// Lists are answered with 503.
    are_away: bool,
}

impl Pods {
    /// Returns the API of the cluster with these pods.
    pub fn before(&self, cluster: &KubeApi) -> Router {
        Router::new()
            .route("/api/v1/pods", get(list))
            .route("/api/v1/namespaces/default/pods/{name}/eviction", post(evict))
            .with_state(self.clone())
            .merge(cluster.router().layer(Extension(Caller::administrator())))
    }

    /// Adds a pod on a node, with this metadata in addition to its name.
    pub fn put(&self, name: &str, node: &str, mut metadata: Value) {
        metadata["name"] = name.into();
        metadata["namespace"] = "default".into();
        let pod = json!({
            "metadata": metadata, "spec": {"nodeName": node, "containers": []}, "status": {"phase": "Running"},
        });
        self.0.lock().unwrap().pods.insert(name.to_owned(), pod);
    }

    /// Makes its PodDisruptionBudget allow no eviction.
    pub fn guard(&self, name: &str) {
        self.0.lock().unwrap().guarded.push(name.to_owned());
    }

    pub fn unguard(&self) {
        self.0.lock().unwrap().guarded.clear();
    }

    /// Makes the list of pods fail, or succeed again.
    pub fn fail(&self, are_away: bool) {
        self.0.lock().unwrap().are_away = are_away;
    }

    /// Returns the pods that were evicted since the last call.
    pub fn take_evicted(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().evicted)
    }

    pub fn present(&self) -> Vec<String> {
        self.0.lock().unwrap().pods.keys().cloned().collect()
    }
}

async fn list(
    State(pods): State<Pods>,
    Query(query): Query<BTreeMap<String, String>>,
) -> (StatusCode, Json<Value>) {
    let played = pods.0.lock().unwrap();
    if played.are_away {
        let why = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 503, "reason": "ServiceUnavailable", "message": "away",
        });
        return (StatusCode::SERVICE_UNAVAILABLE, Json(why));
    }
    let node = query
        .get("fieldSelector")
        .and_then(|text| text.strip_prefix("spec.nodeName="));
    let items = played
        .pods
        .values()
        .filter(|pod| node.is_none_or(|node| pod["spec"]["nodeName"] == node));
    let items: Vec<&Value> = items.collect();
    let listed = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items});
    (StatusCode::OK, Json(listed))
}

async fn evict(State(pods): State<Pods>, Path(name): Path<String>) -> (StatusCode, Json<Value>) {
    let mut played = pods.0.lock().unwrap();
    let answer = |code: StatusCode, status: &str, message: &str| {
        let reason = if code == StatusCode::TOO_MANY_REQUESTS {
            "TooManyRequests"
        } else {
            ""
        };
        let body = json!({
            "apiVersion": "v1", "kind": "Status", "status": status, "code": code.as_u16(), "reason": reason, "message": message,
        });
        (code, Json(body))
    };
    if played.guarded.contains(&name) {
        let why = "Cannot evict pod as it would violate the pod's disruption budget.";
        return answer(StatusCode::TOO_MANY_REQUESTS, "Failure", why);
    }
    if played.pods.remove(&name).is_none() {
        return answer(StatusCode::NOT_FOUND, "Failure", "no such pod");
    }
    played.evicted.push(name);
    answer(StatusCode::CREATED, "Success", "")
}
