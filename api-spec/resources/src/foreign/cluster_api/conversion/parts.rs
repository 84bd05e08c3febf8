//! Converts the parts that Clusters and Machines have in common: references, timeouts, conditions.

use serde_json::{Map, Value, json};

/// The older version.
pub const V1BETA1: &str = "v1beta1";
/// The version in which objects are stored.
pub const V1BETA2: &str = "v1beta2";

/// A JSON object's members.
pub type Members = Map<String, Value>;

/// Moves the members that both versions have in the same form.
pub fn same(from: &mut Members, to: &mut Members, names: &[&str]) {
    for name in names {
        if let Some(value) = from.remove(*name) {
            to.insert((*name).to_owned(), value);
        }
    }
}

/// Removes a member that is an object.
pub fn take(from: &mut Members, name: &str) -> Option<Members> {
    match from.remove(name) {
        Some(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// Inserts an object, unless it is empty.
pub fn put(to: &mut Members, name: &str, members: Members) {
    if !members.is_empty() {
        to.insert(name.to_owned(), Value::Object(members));
    }
}

/// Moves a member, if it is there, under another name.
pub fn renamed(from: &mut Members, name: &str, to: &mut Members, new: &str) {
    if let Some(value) = from.remove(name) {
        to.insert(new.to_owned(), value);
    }
}

/// Converts a reference: v1beta1 has version and namespace, v1beta2 the group only.
pub fn reference(from: &mut Members, to: &mut Members, name: &str, namespace: &str, version: &str) {
    let Some(mut reference) = take(from, name) else {
        return;
    };
    let mut converted = Members::new();
    same(&mut reference, &mut converted, &["kind", "name"]);
    if version == V1BETA2 {
        let api_version = reference.get("apiVersion").and_then(Value::as_str);
        if let Some((group, _)) = api_version.and_then(|text| text.split_once('/')) {
            converted.insert("apiGroup".into(), group.into());
        }
    } else {
        if let Some(group) = reference.get("apiGroup").and_then(Value::as_str) {
            // The version of all kinds that Clusters and Machines of Agents refer to; another that was written is kept.
            converted.insert("apiVersion".into(), format!("{group}/{V1BETA1}").into());
        }
        if !namespace.is_empty() && !converted.is_empty() {
            converted.insert("namespace".into(), namespace.into());
        }
    }
    put(to, name, converted);
}

/// Timeouts of a Machine's deletion: their names in v1beta1, and those in `deletion` of v1beta2.
const TIMEOUTS: [(&str, &str); 3] = [
    ("nodeDrainTimeout", "nodeDrainTimeoutSeconds"),
    ("nodeVolumeDetachTimeout", "nodeVolumeDetachTimeoutSeconds"),
    ("nodeDeletionTimeout", "nodeDeletionTimeoutSeconds"),
];

/// Converts durations to whole seconds.
pub fn timeouts_to_seconds(from: &mut Members, to: &mut Members) {
    let mut deletion = Members::new();
    for (duration, seconds) in TIMEOUTS {
        let value = from.remove(duration);
        if let Some(value) = value.as_ref().and_then(Value::as_str).and_then(seconds_of) {
            deletion.insert(seconds.to_owned(), value.into());
        }
    }
    put(to, "deletion", deletion);
}

/// Converts seconds to durations.
pub fn seconds_to_timeouts(from: &mut Members, to: &mut Members) {
    let mut deletion = take(from, "deletion").unwrap_or_default();
    for (duration, seconds) in TIMEOUTS {
        let value = deletion.remove(seconds);
        if let Some(value) = value.as_ref().and_then(Value::as_u64) {
            to.insert(duration.to_owned(), duration_of(value).into());
        }
    }
}

/// The whole seconds of a duration as Go writes it (`1m30.5s`); `None` if it is invalid. Longer ones than v1beta2 can hold are cut.
pub fn seconds_of(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let length = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..length] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number * unit;
        rest = &rest[length..];
    }
    let longest = f64::from(i32::MAX);
    let seconds = seconds.min(longest) * if negative { -1.0 } else { 1.0 };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole seconds are wanted, and they fit"
    )]
    Some(seconds as i64).filter(|seconds| *seconds >= 0)
}

/// Seconds as Go writes a duration: `1h0m5s`.
pub fn duration_of(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// Splits a v1beta1 status: its own conditions and failure go to `deprecated.v1beta1`, the members of its `v1beta2` (those in `newer`) to
/// the top.
pub fn split(from: &mut Members, to: &mut Members, newer: &[&str]) {
    let mut deprecated = Members::new();
    same(
        from,
        &mut deprecated,
        &["conditions", "failureReason", "failureMessage"],
    );
    if !deprecated.is_empty() {
        to.insert("deprecated".into(), json!({ V1BETA1: deprecated }));
    }
    let mut inner = take(from, V1BETA2).unwrap_or_default();
    same(&mut inner, to, newer);
}

/// The reverse of [`split`].
pub fn joined(from: &mut Members, to: &mut Members, newer: &[&str]) {
    let mut deprecated = take(from, "deprecated").unwrap_or_default();
    let mut deprecated = take(&mut deprecated, V1BETA1).unwrap_or_default();
    same(
        &mut deprecated,
        to,
        &["conditions", "failureReason", "failureMessage"],
    );
    let mut inner = Members::new();
    same(from, &mut inner, newer);
    put(to, V1BETA2, inner);
}
