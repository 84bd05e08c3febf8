//! JSON merge patches: what to send so that one object becomes another.

use std::sync::LazyLock;

use muster_resources::AgentStatus;
use muster_resources::inventory::{HostBoot, HostCpu, HostInventory, HostMemory, HostSystemVendor};
use serde::Serialize;
use serde_json::{Map, Value};

use super::known::{Known, digest};

/// What turns the status of `known` into `new`; `None`: nothing. An inventory that `new` does not have stays as it is.
pub fn status(known: &Known, mut new: AgentStatus) -> Option<Value> {
    let inventory = new.inventory.take();
    let validations = std::mem::take(&mut new.validations_info);
    let old = known
        .agent
        .status
        .as_ref()
        .map_or_else(|| Value::Object(Map::new()), json);
    let mut patch = match difference(&old, &json(&new)) {
        Some(Value::Object(patch)) => patch,
        Some(_) | None => Map::new(),
    };
    if let Some(inventory) = inventory
        && known.inventory != Some(digest(&inventory))
    {
        patch.insert(
            "inventory".to_owned(),
            replacement(&EVERY_MEMBER, &json(&inventory)),
        );
    }
    if validations.is_empty() {
        if known.validations.is_some() {
            patch.insert("validationsInfo".to_owned(), Value::Null);
        }
    } else if known.validations != Some(digest(&validations)) {
        let before: Map<String, Value> = known
            .categories
            .iter()
            .map(|name| (name.clone(), Value::Null))
            .collect();
        patch.insert(
            "validationsInfo".to_owned(),
            replacement(&Value::Object(before), &json(&validations)),
        );
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// What an inventory can have outside of its lists. Ours are not kept, so what is gone is not known: everything that is not there is
/// taken away.
static EVERY_MEMBER: LazyLock<Value> = LazyLock::new(|| {
    let text = || Some(String::new());
    json(&HostInventory {
        hostname: text(),
        bmc_address: text(),
        bmc_v6_address: text(),
        boot: Some(HostBoot {
            current_boot_mode: text(),
            device_type: text(),
            pxe_interface: text(),
        }),
        cpu: Some(HostCpu {
            count: Some(0),
            clock_megahertz: Some(0),
            flags: vec![String::new()],
            model_name: text(),
            architecture: text(),
        }),
        memory: Some(HostMemory {
            physical_bytes: Some(0),
            usable_bytes: Some(0),
        }),
        disks: vec![Default::default()],
        interfaces: vec![Default::default()],
        gpus: vec![Default::default()],
        system_vendor: Some(HostSystemVendor {
            manufacturer: text(),
            product_name: text(),
            serial_number: text(),
            is_virtual: Some(true),
        }),
        report_time: Some(muster_resources::Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH)),
    })
});

fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("resources have text keys and finite numbers, so they are JSON")
}

/// `new` as a merge patch onto an object that may have the members of `possible`: those that `new` has not are taken away.
fn replacement(possible: &Value, new: &Value) -> Value {
    let (Value::Object(possible), Value::Object(new)) = (possible, new) else {
        return new.clone();
    };
    let mut patch = Map::new();
    for (key, value) in new {
        let value = possible
            .get(key)
            .map_or_else(|| value.clone(), |inner| replacement(inner, value));
        patch.insert(key.clone(), value);
    }
    for key in possible.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// What turns `old` into `new`; `None` when nothing does. Lists are replaced as a whole.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let changed = new.iter().filter_map(|(key, value)| {
                let change = match old.get(key) {
                    Some(before) => difference(before, value)?,
                    None => value.clone(),
                };
                Some((key.clone(), change))
            });
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            let patch: Map<String, Value> = changed
                .chain(gone.map(|key| (key.clone(), Value::Null)))
                .collect();
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (old != new).then(|| new.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_changed_is_sent() {
        let old = json!({"a": 1, "b": {"c": [1], "d": 2}, "gone": {"x": 1}, "same": {"y": []}});
        let new = json!({"a": 1, "b": {"c": [2], "d": 2}, "same": {"y": []}, "more": {"z": 0}});
        let patch = json!({"b": {"c": [2]}, "gone": null, "more": {"z": 0}});
        assert_eq!(difference(&old, &new), Some(patch));
        assert_eq!(difference(&new, &new), None);
    }

    #[test]
    fn a_replacement_takes_away_what_could_have_been_there() {
        let possible = json!({"a": 0, "b": {"c": 0, "d": 0}, "e": [0]});
        let new = json!({"b": {"c": 1}, "e": [{"x": 1}]});
        let patch = json!({"a": null, "b": {"c": 1, "d": null}, "e": [{"x": 1}]});
        assert_eq!(replacement(&possible, &new), patch);
    }

    #[test]
    fn the_status_that_is_there_is_not_written_again() {
        let mut status = AgentStatus {
            role: Some("worker".into()),
            inventory: Some(HostInventory {
                hostname: Some("a".into()),
                ..HostInventory::default()
            }),
            ..AgentStatus::default()
        };
        let check = muster_resources::ValidationResult {
            id: "connected".into(),
            ..Default::default()
        };
        status.validations_info.insert("network".into(), vec![check]);
        let known = Known::of(muster_resources::Agent {
            status: Some(status.clone()),
            ..Default::default()
        });
        assert_eq!(super::status(&known, status.clone()), None);

        let mut silent = status.clone();
        silent.inventory = None;
        assert_eq!(
            super::status(&known, silent),
            None,
            "an inventory is not taken back"
        );

        let mut other = status.clone();
        other.inventory = Some(HostInventory::default());
        other.validations_info.clear();
        let patch = super::status(&known, other).expect("both differ");
        assert_eq!(patch["inventory"]["hostname"], Value::Null);
        assert_eq!(patch["validationsInfo"], Value::Null);
        assert!(patch.get("role").is_none());
    }
}
