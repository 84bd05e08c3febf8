//! Reports that an object cannot be read, in the condition in which its author expects such an error.
//!
//! The object has no type here, so this code works on JSON. Once it can be read again its controller writes that condition again.

use kube::api::{ApiResource, Patch};
use kube::core::DynamicObject;
use kube::{Api, Client};
use muster_api::time::now;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::conditions::time;
use crate::error::words;
use crate::watch::Watched;
use crate::writes::patch_params;

/// Objects that get the condition at the same time.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Type, status and reason of the condition of a kind; `None`: Muster writes no condition of the kind, and an Event must suffice.
fn condition(kind: &str) -> Option<[&'static str; 3]> {
    match kind {
        "Agent" | "AgentClusterInstall" | "BMC" => Some(["SpecSynced", "False", "InputError"]),
        "InfraEnv" => Some(["ImageCreated", "False", "ImageCreationError"]),
        "AgentClassification" => Some(["QueryErrors", "True", "HasQueryErrors"]),
        _ => None,
    }
}

/// Writes the condition, unless the object has it already. A failure is retried with the next change of the object.
pub async fn tell<K: Watched>(client: Client, namespace: Option<String>, name: String, error: String) {
    let kind = K::kind(&());
    let Some(wanted) = condition(&kind) else { return };
    let Ok(_turn) = TURNS.acquire().await else { return };
    let resource = ApiResource::erase::<K>(&());
    let namespace = namespace.unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(client, &namespace, &resource);
    let told = async {
        let object = api.get(&name).await?;
        match patch(&object, &kind, wanted, &error) {
            Some(patch) => api
                .patch_status(&name, &patch_params(), &Patch::Merge(patch))
                .await
                .map(drop),
            None => Ok(()),
        }
    };
    if let Err(error) = told.await {
        tracing::debug!(%kind, namespace, name, error = words(&error), "its condition does not show that it cannot be read");
    }
}

/// The merge patch that sets the condition; `None`: the object has it already.
fn patch(
    object: &DynamicObject,
    kind: &str,
    [type_, status, reason]: [&str; 3],
    error: &str,
) -> Option<Value> {
    let message = format!(
        "This object cannot be read and is left as it is: {error}. Correct it; if it is right, its definition in this cluster is of \
         another version than this service (muster crds)"
    );
    let conditions = object
        .data
        .get("status")
        .and_then(|status| status.get("conditions")?.as_array());
    let mut conditions = conditions.cloned().unwrap_or_default();
    let at = conditions.iter().position(|one| one["type"] == type_);
    let is_said =
        |one: &Value| one["status"] == status && one["reason"] == reason && one["message"] == message;
    if at.is_some_and(|at| is_said(&conditions[at])) {
        return None;
    }
    let mut condition = json!({"type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": time(now())});
    if kind == "AgentClusterInstall" {
        condition["lastProbeTime"] = json!(time(now()));
    }
    match at {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
    let version = object.metadata.resource_version.as_deref();
    Some(json!({"metadata": {"resourceVersion": version}, "status": {"conditions": conditions}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_is_set_once_and_others_stay() {
        let mut object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
            "metadata": {"name": "a", "namespace": "lab", "resourceVersion": "7"},
            "spec": {"approved": "perhaps"},
            "status": {"conditions": [{"type": "Bound", "status": "True"}, {"type": "SpecSynced", "status": "True"}]},
        }))
        .unwrap();
        let wanted = condition("Agent").unwrap();
        let first = patch(&object, "Agent", wanted, "no bool").unwrap();
        assert_eq!(first["metadata"]["resourceVersion"], "7");
        let conditions = first["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.len(), 2);
        assert_eq!(
            (&conditions[0]["type"], &conditions[1]["status"]),
            (&json!("Bound"), &json!("False"))
        );
        assert!(conditions[1]["message"].as_str().unwrap().contains("no bool"));
        object.data["status"] = first["status"].clone();
        assert_eq!(patch(&object, "Agent", wanted, "no bool"), None);
        assert!(patch(&object, "Agent", wanted, "no number").is_some());
        assert_eq!(condition("NMStateConfig"), None);
    }
}
