//! Reads and writes the members that every Kubernetes object has. Below it: parts of a document, JSONPath, the rules of metadata.

pub mod jsonpath;
mod peek;
pub mod validation;

use chrono::{SecondsFormat, Utc};
use serde_json::{Map, Value};

pub use peek::Parts;

/// `metadata`, if it is an object.
pub fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.as_object()
}

/// `metadata`, created if it is missing or not an object.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    member_mut(object, "metadata")
}

/// `metadata` as a value, created if it is missing.
pub fn metadata_value(object: &mut Value) -> &mut Value {
    metadata_mut(object);
    &mut object["metadata"]
}

/// A member that is an object, created if it is missing or not an object.
pub fn member_mut<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let members = object.as_object_mut().expect("it was made an object");
    let member = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !member.is_object() {
        *member = Value::Object(Map::new());
    }
    member.as_object_mut().expect("it was made an object")
}

/// A text of `metadata`; empty when it is missing.
pub fn metadata_text<'a>(object: &'a Value, member: &str) -> &'a str {
    metadata(object)
        .and_then(|metadata| metadata.get(member)?.as_str())
        .unwrap_or_default()
}

/// `metadata.name`; empty when it is missing.
pub fn name(object: &Value) -> &str {
    metadata_text(object, "name")
}

/// `metadata.namespace`; empty when it is missing.
pub fn namespace(object: &Value) -> &str {
    metadata_text(object, "namespace")
}

/// `metadata.uid`; empty when it is missing.
pub fn uid(object: &Value) -> &str {
    metadata_text(object, "uid")
}

/// `metadata.resourceVersion`; empty when it is missing.
pub fn resource_version(object: &Value) -> &str {
    metadata_text(object, "resourceVersion")
}

/// Bytes of a value as JSON.
pub fn json_length(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

pub fn set_resource_version(object: &mut Value, revision: u64) {
    metadata_mut(object).insert("resourceVersion".into(), revision.to_string().into());
}

/// True when its deletion was requested.
pub fn is_terminating(object: &Value) -> bool {
    metadata(object).is_some_and(|metadata| metadata.get("deletionTimestamp").is_some_and(|at| !at.is_null()))
}

pub fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = metadata(object).and_then(|metadata| metadata.get("finalizers")?.as_array());
    finalizers
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

pub fn owner_references(object: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let owners = metadata(object).and_then(|metadata| metadata.get("ownerReferences")?.as_array());
    owners.into_iter().flatten().filter_map(Value::as_object)
}

pub fn labels(object: &Value) -> Option<&Map<String, Value>> {
    metadata(object)?.get("labels")?.as_object()
}

/// `metadata.generation`; 0 when it is missing.
pub fn generation(object: &Value) -> i64 {
    metadata(object)
        .and_then(|metadata| metadata.get("generation")?.as_i64())
        .unwrap_or(0)
}

/// The value at a path of member names.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, name| value.get(name))
}

/// Sets (or removes, with `None`) a top-level member.
pub fn set_member(object: &mut Value, name: &str, value: Option<Value>) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    match value {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.remove(name),
    };
}

/// Removes a top-level member and returns it.
pub fn take_member(object: &mut Value, name: &str) -> Option<Value> {
    object.as_object_mut()?.remove(name)
}

/// Greatest whole number of which floating-point numbers hold all smaller ones. Source: `swag.IsFloat64AJSONInteger`.
pub const MAX_WHOLE_FLOAT: f64 = 9_007_199_254_740_991.0;

/// Writes whole numbers as a Go server stores them: `5.0` and `5e0` are `5`.
pub fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|one| one.fract() == 0.0 && one.abs() <= MAX_WHOLE_FLOAT);
            if let Some(whole) = whole {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(normalize_numbers),
        Value::Object(members) => members.values_mut().for_each(normalize_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The current time as Kubernetes writes it: UTC, whole seconds.
pub fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Splits an `apiVersion` into group and version.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Joins group and version.
pub fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_without_a_fraction() {
        let text =
            r#"{"a": 5.0, "b": [1e2, -3.0, 0.5], "c": {"d": 1e300, "e": 7, "f": 18446744073709551615}}"#;
        let mut value: Value = serde_json::from_str(text).unwrap();
        normalize_numbers(&mut value);
        let normal = r#"{"a":5,"b":[100,-3,0.5],"c":{"d":1e300,"e":7,"f":18446744073709551615}}"#;
        assert_eq!(value, serde_json::from_str::<Value>(normal).unwrap());
        assert!(value["a"].is_i64() && value["b"][0].is_i64());
    }
}
