//! Objects of a running implementation, recorded on 2026-11-21 (tests/wire/README.md), and a form that makes
//! Muster's comparable with them: conditions by type, times, addresses and wording as placeholders.

use serde_json::{Map, Value};

/// Values that are addresses of this service.
const ADDRESSES: [&str; 8] = [
    "isoDownloadURL",
    "kernel",
    "initrd",
    "rootfs",
    "ipxeScript",
    "discoveryIgnitionURL",
    "eventsURL",
    "staticNetworkDownloadURL",
];

/// Values with Muster's own wording.
const WORDS: [&str; 2] = ["message", "stateInfo"];

/// Converts to the form of the recordings.
pub fn comparable(value: &Value) -> Value {
    folded("", value)
}

fn folded(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                members
                    .map(|(key, value)| (key.clone(), folded(key, value)))
                    .collect(),
            )
        }
        Value::Array(list) if key == "conditions" => {
            let by_type = |one: &Value| {
                (
                    one["type"].as_str().unwrap_or_default().to_owned(),
                    folded("", one),
                )
            };
            Value::Object(list.iter().map(by_type).collect::<Map<_, _>>())
        }
        Value::Array(list) => Value::Array(list.iter().map(|one| folded(key, one)).collect()),
        Value::String(text) if text.is_empty() => value.clone(),
        Value::String(_) if ADDRESSES.contains(&key) => format!("<{key}>").into(),
        Value::String(_) if WORDS.contains(&key) => "<words>".into(),
        Value::String(_) if key.ends_with("Time") => "<time>".into(),
        other => other.clone(),
    }
}
