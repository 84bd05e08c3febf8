//! Common ground of scenarios in which machines join a workload cluster.

use muster_tests::kube::Kubectl;
use serde_json::{Value, json};

/// True when a Node's kubelet says so.
pub fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// Approves every request for a certificate: for scenarios without Muster's controllers.
pub fn approve_pending(kubectl: &Kubectl) {
    let listed = kubectl.get(&["csr"]);
    for request in listed["items"].as_array().into_iter().flatten() {
        let decided = request["status"]["conditions"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if let Some(name) = request["metadata"]["name"].as_str().filter(|_| !decided) {
            kubectl.run(&["certificate", "approve", name]);
        }
    }
}

/// The file of an Ignition config that names the machine.
pub fn file_of_hostname(name: &str) -> Value {
    json!({
        "path": "/etc/hostname", "mode": 0o644, "overwrite": true,
        "contents": {"source": format!("data:,{name}")},
    })
}
