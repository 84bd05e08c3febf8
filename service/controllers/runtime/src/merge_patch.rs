//! JSON merge patches.

use serde_json::{Map, Value};

/// The JSON merge patch that turns `old` into `new`; `None` when they are equal. Lists are replaced as a
/// whole.
pub fn merge_patch(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let changed = new.iter().filter_map(|(key, value)| {
                let change = match old.get(key) {
                    Some(before) => merge_patch(before, value)?,
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
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_changed_is_sent() {
        let old = json!({"a": 1, "b": {"c": [1], "d": 2}, "gone": {"x": 1}, "same": {"y": []}});
        let new = json!({"a": 1, "b": {"c": [2], "d": 2}, "same": {"y": []}, "more": {"z": 0}});
        let patch = json!({"b": {"c": [2]}, "gone": null, "more": {"z": 0}});
        assert_eq!(merge_patch(&old, &new), Some(patch));
        assert_eq!(merge_patch(&new, &new), None);
    }
}
