//! Converts the text of a config to its one form.

use serde_json::{Map, Value};

use super::problem::{Problem, joined, unreadable};
use super::schema::{CONFIG, Holds, Kind};
use super::strict::json;
use super::version::{NEWEST, version_text};

/// The specification and the config.
pub(super) fn read(text: &str) -> Result<(u8, Value), Problem> {
    let raw = json(text)?;
    let minor = version(&raw)?;
    let mut value = Value::Object(object(&raw, &CONFIG, minor, "")?);
    value["ignition"]["version"] = version_text(minor).into();
    Ok((minor, value))
}

/// Go's decoder accepts names of members in any case.
fn is_named(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

fn version(raw: &Value) -> Result<u8, Problem> {
    let member = |value: &Value, wanted: &str| {
        let members = value.as_object().into_iter().flatten();
        members
            .filter(|(name, _)| is_named(name, wanted))
            .map(|(_, value)| value.clone())
            .next()
    };
    let known = || {
        format!(
            "must be the version of an Ignition specification from 3.0.0 to {}",
            version_text(NEWEST)
        )
    };
    let Some(Value::String(text)) = member(raw, "ignition").and_then(|ignition| member(&ignition, "version"))
    else {
        return Err(unreadable("ignition.version".into(), known()));
    };
    (0..=NEWEST)
        .find(|minor| version_text(*minor) == text)
        .ok_or_else(|| {
            let shown: String = text.chars().take(20).collect();
            unreadable("ignition.version".into(), format!("{}; it is {shown:?}", known()))
        })
}

fn object(raw: &Value, kind: &Kind, minor: u8, path: &str) -> Result<Map<String, Value>, Problem> {
    let Value::Object(raw) = raw else {
        return Err(unreadable(path.into(), "must be an object"));
    };
    let mut members = Map::new();
    for (name, value) in raw {
        let known = kind
            .members
            .iter()
            .find(|member| member.since <= minor && is_named(name, member.name));
        // Ignition ignores members that the config's version does not know.
        let Some(member) = known else { continue };
        let path = joined(path, member.name);
        if raw.keys().filter(|other| is_named(other, member.name)).count() > 1 {
            return Err(unreadable(
                path,
                "stands twice, with letters of different case; keep one of them",
            ));
        }
        if let Some(value) = held(value, member.holds, minor, &path)? {
            members.insert(member.name.into(), value);
        }
    }
    Ok(members)
}

/// `None`: the member has no effect.
fn held(raw: &Value, holds: Holds, minor: u8, path: &str) -> Result<Option<Value>, Problem> {
    if raw.is_null() {
        return Ok(None);
    }
    let wrong = |what: &str| unreadable(path.into(), format!("must be {what}"));
    match holds {
        Holds::Text => raw
            .is_string()
            .then(|| raw.clone())
            .ok_or_else(|| wrong("a string")),
        Holds::Number => raw
            .is_i64()
            .then(|| raw.clone())
            .ok_or_else(|| wrong("a whole number, in decimal and without quotes")),
        Holds::Flag => raw
            .is_boolean()
            .then(|| raw.clone())
            .ok_or_else(|| wrong("true or false, without quotes")),
        Holds::One(kind) => {
            let members = object(raw, kind, minor, path)?;
            // In 3.2.0 this member counts even if it is empty.
            let counts = minor < 3 && path.ends_with(".clevis.custom");
            return Ok((counts || !members.is_empty()).then_some(Value::Object(members)));
        }
        Holds::Many(kind) => {
            return list(raw, path, |item, path| match item {
                Value::Null => Ok(Value::Object(Map::new())),
                item => object(item, kind, minor, path).map(Value::Object),
            });
        }
        Holds::Texts => {
            return list(raw, path, |item, path| match item {
                Value::Null => Ok("".into()),
                Value::String(_) => Ok(item.clone()),
                _ => Err(unreadable(path.into(), "must be a string")),
            });
        }
    }
    .map(Some)
}

fn list(
    raw: &Value,
    path: &str,
    one: impl Fn(&Value, &str) -> Result<Value, Problem>,
) -> Result<Option<Value>, Problem> {
    let Value::Array(raw) = raw else {
        return Err(unreadable(path.into(), "must be a list"));
    };
    let items = raw
        .iter()
        .enumerate()
        .map(|(index, item)| one(item, &joined(path, index)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((!items.is_empty()).then_some(Value::Array(items)))
}

/// Applies the implicit differences between specifications: members that had no "unset" have the empty text, and bits
/// that older ones never applied are removed.
pub(super) fn translate(config: &mut Value, from: u8, to: u8) {
    let crosses = |minor: u8| from < minor && minor <= to;
    if crosses(1) {
        let list = config.pointer_mut("/ignition/security/tls/certificateAuthorities");
        each(list, |one| set_if_absent(one, "source"));
    }
    if crosses(3) {
        each(config.pointer_mut("/storage/links"), |link| {
            set_if_absent(link, "target");
        });
        each(config.pointer_mut("/storage/raid"), |raid| {
            set_if_absent(raid, "level");
        });
        each(config.pointer_mut("/storage/luks"), |luks| {
            if let Some(custom) = luks.pointer_mut("/clevis/custom") {
                set_if_absent(custom, "config");
                set_if_absent(custom, "pin");
            }
        });
    }
    if crosses(6) {
        for nodes in ["/storage/files", "/storage/directories"] {
            each(config.pointer_mut(nodes), |node| {
                if let Some(mode) = node.get("mode").and_then(Value::as_i64) {
                    node["mode"] = (mode & !0o7000).into();
                }
            });
        }
    }
}

fn each(list: Option<&mut Value>, mut change: impl FnMut(&mut Value)) {
    let items = list.and_then(Value::as_array_mut).into_iter().flatten();
    for item in items {
        change(item);
    }
}

fn set_if_absent(object: &mut Value, name: &str) {
    if object.get(name).is_none() {
        object[name] = "".into();
    }
}
