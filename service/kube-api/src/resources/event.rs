//! Converts events between the core group (the stored form) and `events.k8s.io`, which names members differently.

use serde_json::{Map, Value};

/// Member names in the core group and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Converts a core event to `events.k8s.io/v1`.
pub fn grouped(event: Value) -> Value {
    renamed(event, "events.k8s.io/v1", |name| {
        NAMES
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, grouped)| *grouped)
    })
}

/// Converts an event of `events.k8s.io/v1` to the core group.
pub fn ungrouped(event: Value) -> Value {
    renamed(event, "v1", |name| {
        NAMES
            .iter()
            .find(|(_, grouped)| *grouped == name)
            .map(|(core, _)| *core)
    })
}

fn renamed(event: Value, api_version: &str, new_name: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(members) = event else {
        return event;
    };
    let renamed = members
        .into_iter()
        .map(|(name, value)| (new_name(&name).map_or(name, str::to_owned), value));
    let mut renamed: Map<String, Value> = renamed.collect();
    renamed.insert("apiVersion".into(), api_version.into());
    Value::Object(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_keeps_its_content_in_both_groups() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "a"}, "message": "m",
            "source": {"component": "c"}, "count": 2, "reportingComponent": "r", "reason": "Why"});
        let shown = grouped(core.clone());
        assert_eq!(shown["regarding"], json!({"name": "a"}));
        assert_eq!(
            (&shown["note"], &shown["apiVersion"]),
            (&json!("m"), &json!("events.k8s.io/v1"))
        );
        assert_eq!(ungrouped(shown), core);
    }
}
