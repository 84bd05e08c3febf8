//! Leaves a Machine to its owner, which replaces it: KubeadmControlPlane and MachineSet read a condition of the Machine. Source:
//! docs/protocol/capi-day1.md, section 1, "Remediation template".

use kube::api::Patch;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use muster_api::time::Timestamp;
use muster_controller::conditions::time;
use muster_controller::error::Error;
use muster_controller::references::kube_ref;
use muster_controller::writes::patch_params;
use serde_json::{Value, json};

use crate::capi::kinds::Kinds;
use crate::context::Context;

const OWNER_REMEDIATED: &str = "OwnerRemediated";

/// Reason of that condition, as Cluster API sets it.
const REASON: &str = "WaitingForRemediation";

/// The version of Machines whose `status.conditions` have the older shape.
const OLD: &str = "v1beta1";

/// Sets the condition by which the owner replaces the Machine. False: it is set already.
///
/// # Errors
/// Fails if the API server does; with a conflict if the Machine changed.
pub async fn leave_to_owner(
    machine: &DynamicObject,
    why: &str,
    context: &Context,
    kinds: &Kinds,
    now: Timestamp,
) -> Result<bool, Error> {
    let Some(patch) = patch(machine, &kinds.machine.version, why, now) else {
        return Ok(false);
    };
    let name = kube_ref(machine);
    let client = context.client.clone();
    let api = Api::<DynamicObject>::namespaced_with(client, &name.namespace, &kinds.machine);
    api.patch_status(&name.name, &patch_params(), &Patch::Merge(patch))
        .await?;
    Ok(true)
}

/// The merge patch of the status; `None`: the condition is set. It fails with a conflict if the Machine was changed since it was read,
/// because lists are sent as a whole.
fn patch(machine: &DynamicObject, version: &str, why: &str, now: Timestamp) -> Option<Value> {
    let list = |pointer: &str| machine.data.pointer(pointer).and_then(Value::as_array);
    let mut status = json!({});
    if let Some(conditions) = with(list("/status/conditions"), version == OLD, why, now) {
        status["conditions"] = conditions;
    }
    if version == OLD
        && let Some(present) = list("/status/v1beta2/conditions")
        && let Some(conditions) = with(Some(present), false, why, now)
    {
        status["v1beta2"] = json!({"conditions": conditions});
    }
    (status != json!({})).then(|| {
        json!({
            "metadata": {"resourceVersion": machine.resource_version()}, "status": status,
        })
    })
}

/// The list with the condition; `None`: it has it.
fn with(list: Option<&Vec<Value>>, is_old: bool, why: &str, now: Timestamp) -> Option<Value> {
    let present = list.into_iter().flatten();
    let is_it = |one: &&Value| one["type"] == OWNER_REMEDIATED;
    if present
        .clone()
        .find(is_it)
        .is_some_and(|one| one["status"] == "False")
    {
        return None;
    }
    let mut condition = json!({
        "type": OWNER_REMEDIATED, "status": "False", "reason": REASON, "message": why, "lastTransitionTime": time(now),
    });
    if is_old {
        condition["severity"] = json!("Warning");
    }
    let others = present.filter(|one| !is_it(one)).cloned();
    Some(others.chain([condition]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(status: &Value) -> DynamicObject {
        let machine =
            json!({"metadata": {"name": "m", "namespace": "c", "resourceVersion": "7"}, "status": status});
        serde_json::from_value(machine).unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000, 0).unwrap()
    }

    #[test]
    fn the_owners_condition_goes_to_the_list_that_owners_read_and_others_stay() {
        let healthy = json!({"type": "HealthCheckSucceeded", "status": "False"});
        let set = json!({
            "type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation", "message": "no power",
            "lastTransitionTime": "2026-11-18T11:06:40Z",
        });
        let before = machine(&json!({"conditions": [healthy]}));
        let patch =
            |machine: &DynamicObject, version: &str| super::patch(machine, version, "no power", now());
        assert_eq!(
            patch(&before, "v1beta2"),
            Some(json!({
                "metadata": {"resourceVersion": "7"}, "status": {"conditions": [healthy, set]},
            }))
        );
        let done = machine(&json!({"conditions": [healthy, set]}));
        assert_eq!(patch(&done, "v1beta2"), None);
        // One that is true is another Machine's past.
        let past = machine(&json!({"conditions": [{"type": "OwnerRemediated", "status": "True"}, healthy]}));
        assert_eq!(
            patch(&past, "v1beta2").unwrap()["status"]["conditions"],
            json!([healthy, set])
        );
        let old = machine(&json!({"conditions": [], "v1beta2": {"conditions": [healthy]}}));
        let patched = patch(&old, "v1beta1").unwrap();
        assert_eq!(patched["status"]["conditions"][0]["severity"], "Warning");
        assert_eq!(patched["status"]["v1beta2"]["conditions"], json!([healthy, set]));
        assert_eq!(
            patch(&machine(&json!({})), "v1beta1").unwrap()["status"].get("v1beta2"),
            None
        );
    }
}
