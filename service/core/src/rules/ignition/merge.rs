//! Merges a child configuration over a parent, by Ignition's rules.
//!
//! Objects merge field by field and the child wins. Lists whose items have a key (files by path, units by name, users
//! by name and so on) merge item by item: same key, same rules; new keys go to the end. Lists of plain values are
//! joined, each value once. Other lists append. Files, directories and links share their paths: one in the child
//! removes those of another kind at the same path. Source: docs/protocol/discovery-ignition.md#10, and Ignition's operator notes.

use serde_json::{Map, Value};

/// The three kinds of nodes in a file system.
const NODES: [&str; 3] = ["directories", "files", "links"];

/// `parent` with `child` merged over it.
pub fn merge(mut parent: Value, child: &Value) -> Value {
    give_way(&mut parent, child);
    merged(parent, child, "")
}

/// The key fields of items of the list at `at` (field names joined by dots).
fn key_at(at: &str) -> &'static [&'static str] {
    match at {
        "storage.files" | "storage.directories" | "storage.links" => &["path"],
        "storage.disks" | "storage.filesystems" => &["device"],
        "storage.disks.partitions" => &["number", "label"],
        "systemd.units"
        | "systemd.units.dropins"
        | "passwd.users"
        | "passwd.groups"
        | "storage.luks"
        | "storage.raid" => &["name"],
        "ignition.security.tls.certificateAuthorities" => &["source"],
        _ if at.ends_with(".httpHeaders") => &["name"],
        _ => &[],
    }
}

fn merged(parent: Value, child: &Value, at: &str) -> Value {
    match (parent, child) {
        (Value::Object(parent), Value::Object(child)) => Value::Object(objects(parent, child, at)),
        (Value::Array(parent), Value::Array(child)) => Value::Array(lists(parent, child, at)),
        // `null` in the child says nothing.
        (parent, Value::Null) => parent,
        (_, child) => child.clone(),
    }
}

fn objects(mut parent: Map<String, Value>, child: &Map<String, Value>, at: &str) -> Map<String, Value> {
    for (field, value) in child {
        let inner = if at.is_empty() {
            field.clone()
        } else {
            format!("{at}.{field}")
        };
        let old = parent.remove(field).unwrap_or(Value::Null);
        parent.insert(field.clone(), merged(old, value, &inner));
    }
    parent
}

fn lists(mut parent: Vec<Value>, child: &[Value], at: &str) -> Vec<Value> {
    for item in child {
        let identity = identity(item, at);
        let place = parent.iter().position(|old| {
            identity_of_plain(old, item) || (identity.is_some() && self::identity(old, at) == identity)
        });
        match place {
            Some(index) => {
                let old = std::mem::take(&mut parent[index]);
                parent[index] = merged(old, item, at);
            }
            None => parent.push(item.clone()),
        }
    }
    parent
}

/// Equal plain values are one.
fn identity_of_plain(old: &Value, new: &Value) -> bool {
    !new.is_object() && !new.is_array() && old == new
}

/// The first key that is set; `None` when the list has none, so that items always append.
fn identity<'a>(item: &'a Value, at: &str) -> Option<(&'static str, &'a Value)> {
    key_at(at)
        .iter()
        .map(|key| (*key, item.get(key).unwrap_or(&Value::Null)))
        .find(|(_, value)| !matches!(value, Value::Null) && value.as_i64() != Some(0))
}

/// Removes from `parent` the nodes whose path the child gives to a node of another kind.
fn give_way(parent: &mut Value, child: &Value) {
    for kind in NODES {
        let paths: Vec<&Value> = list(child, kind).filter_map(|node| node.get("path")).collect();
        for other in NODES.into_iter().filter(|other| *other != kind) {
            let nodes = parent
                .get_mut("storage")
                .and_then(|storage| storage.get_mut(other))
                .and_then(Value::as_array_mut);
            if let Some(nodes) = nodes {
                nodes.retain(|node| node.get("path").is_none_or(|path| !paths.contains(&path)));
            }
        }
    }
}

fn list<'a>(config: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    config
        .get("storage")
        .and_then(|storage| storage.get(kind))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::merge;
    use serde_json::json;

    #[test]
    fn files_and_units_and_users_merge_by_their_key_field_by_field() {
        let parent = json!({
            "ignition": {"version": "3.1.0"},
            "passwd": {"users": [{"name": "core", "passwordHash": "!", "sshAuthorizedKeys": ["a"]}]},
            "storage": {"files": [{"path": "/a", "mode": 384, "contents": {"source": "data:,1"}}, {"path": "/b"}]},
            "systemd": {"units": [{"name": "x.service", "enabled": true, "dropins": [{"name": "1.conf", "contents": "1"}]}]}
        });
        let child = json!({
            "ignition": {"version": "3.2.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["a", "b"]}, {"name": "me"}]},
            "storage": {"files": [{"path": "/c"}, {"path": "/a", "contents": {"source": "data:,2"}}]},
            "systemd": {"units": [{"name": "x.service", "enabled": false, "dropins": [{"name": "1.conf", "contents": "2"}, {"name": "2.conf"}]}]}
        });
        assert_eq!(
            merge(parent, &child),
            json!({
                "ignition": {"version": "3.2.0"},
                "passwd": {"users": [{"name": "core", "passwordHash": "!", "sshAuthorizedKeys": ["a", "b"]}, {"name": "me"}]},
                "storage": {"files": [{"path": "/a", "mode": 384, "contents": {"source": "data:,2"}}, {"path": "/b"}, {"path": "/c"}]},
                "systemd": {"units": [{"name": "x.service", "enabled": false, "dropins": [{"name": "1.conf", "contents": "2"}, {"name": "2.conf"}]}]}
            })
        );
    }

    #[test]
    fn lists_without_a_key_append() {
        let parent = json!({"storage": {"files": [{"path": "/a", "append": [{"source": "data:,1"}]}]}});
        let child = json!({"storage": {"files": [{"path": "/a", "append": [{"source": "data:,1"}]}]}});
        let both = merge(parent, &child);
        assert_eq!(both["storage"]["files"][0]["append"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_link_takes_the_place_of_a_file() {
        let parent = json!({"storage": {"files": [{"path": "/a"}, {"path": "/b"}]}});
        let child = json!({"storage": {"links": [{"path": "/a", "target": "/b"}]}});
        let both = merge(parent, &child);
        assert_eq!(both["storage"]["files"], json!([{"path": "/b"}]));
        assert_eq!(both["storage"]["links"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn null_in_the_child_says_nothing() {
        assert_eq!(
            merge(json!({"a": 1}), &json!({"a": null, "b": 2})),
            json!({"a": 1, "b": 2})
        );
    }
}
