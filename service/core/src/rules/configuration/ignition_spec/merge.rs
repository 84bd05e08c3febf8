//! Merges a child over a parent, both of one specification.
//!
//! Objects merge member by member and the child wins. Items of lists merge with the item of the same key, in the
//! parent's place; new ones are appended; lists without keys are joined. Files, directories and links share their keys,
//! as do kernel arguments that should and that should not exist: an item that the child has in one list is removed from
//! the parent's others. A header without a value removes the parent's. Source: Ignition 2.26, `config/merge`.

use serde_json::{Map, Value};

use super::schema::{CONFIG, Equals, Holds, Key, Kind, Member};

/// Returns `parent` with `child` merged over it. Members that no specification knows are merged by their form: objects
/// by member, lists joined.
pub fn merged(parent: Value, child: &Value) -> Value {
    one(parent, child, Some(&CONFIG))
}

fn one(parent: Value, child: &Value, kind: Option<&Kind>) -> Value {
    match (parent, child) {
        (Value::Object(parent), Value::Object(child)) => Value::Object(objects(parent, child, kind)),
        (Value::Array(mut parent), Value::Array(child)) => {
            parent.extend(child.iter().cloned());
            Value::Array(parent)
        }
        // `null` in the child has no effect.
        (parent, Value::Null) => parent,
        (_, child) => child.clone(),
    }
}

fn objects(
    mut parent: Map<String, Value>,
    child: &Map<String, Value>,
    kind: Option<&Kind>,
) -> Map<String, Value> {
    let members = kind.map_or(&[][..], |kind| kind.members);
    for member in members
        .iter()
        .filter(|member| member.equals == Equals::MergeAcross)
    {
        give_way(&mut parent, child, member, members);
    }
    for (name, value) in child {
        let member = members.iter().find(|member| member.name == name);
        let old = parent.remove(name).unwrap_or(Value::Null);
        let new = match (old, value, member) {
            (Value::Array(old), Value::Array(new), Some(member)) if member.equals != Equals::Stay => {
                Value::Array(lists(old, new, member))
            }
            (old, value, member) => one(old, value, member.and_then(kind_of)),
        };
        let says_nothing = new.is_null() || new.as_array().is_some_and(Vec::is_empty);
        if !says_nothing {
            parent.insert(name.clone(), new);
        }
    }
    parent
}

fn kind_of(member: &Member) -> Option<&'static Kind> {
    match member.holds {
        Holds::One(kind) | Holds::Many(kind) => Some(kind),
        Holds::Text | Holds::Number | Holds::Flag | Holds::Texts => None,
    }
}

/// Removes from the parent's other lists the items that the child has in this one.
fn give_way(
    parent: &mut Map<String, Value>,
    child: &Map<String, Value>,
    member: &Member,
    members: &[Member],
) {
    let Some(new) = child.get(member.name).and_then(Value::as_array) else {
        return;
    };
    let new: Vec<String> = new.iter().map(|item| key(item, member)).collect();
    let others = members
        .iter()
        .filter(|other| other.equals == Equals::MergeAcross && other.name != member.name);
    for other in others {
        if let Some(old) = parent.get_mut(other.name).and_then(Value::as_array_mut) {
            old.retain(|item| !new.contains(&key(item, other)));
            if old.is_empty() {
                parent.remove(other.name);
            }
        }
    }
}

fn lists(parent: Vec<Value>, child: &[Value], member: &Member) -> Vec<Value> {
    let known: Vec<String> = parent.iter().map(|item| key(item, member)).collect();
    let mut items = Vec::with_capacity(parent.len() + child.len());
    for (old, wanted) in parent.into_iter().zip(&known) {
        match child.iter().rfind(|new| key(new, member) == *wanted) {
            Some(new) if member.name == "httpHeaders" && new.get("value").is_none() => {}
            Some(new) => items.push(one(old, new, kind_of(member))),
            None => items.push(old),
        }
    }
    let added = child.iter().filter(|new| !known.contains(&key(new, member)));
    items.extend(added.cloned());
    items
}

/// The key that identifies an item in its list.
pub(super) fn key(item: &Value, member: &Member) -> String {
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(kind) = kind_of(member) else {
        return item.as_str().unwrap_or_default().to_owned();
    };
    match kind.key {
        Key::None => String::new(),
        Key::Of(name) => text(name).unwrap_or_default(),
        Key::Partition => match item.get("number").and_then(Value::as_i64) {
            Some(number) if number != 0 => format!("number:{number}"),
            Some(_) | None => text("label").map_or_else(String::new, |label| format!("label:{label}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merged;

    #[test]
    fn what_no_specification_knows_is_kept() {
        let parent = json!({"ignition": {"version": "3.9.0", "a": {"b": 1}}, "new": [1]});
        let child = json!({"ignition": {"a": {"c": null, "d": 2}}, "new": [2], "storage": {"files": [{"path": "/a"}]}});
        assert_eq!(
            merged(parent, &child),
            json!({
                "ignition": {"version": "3.9.0", "a": {"b": 1, "d": 2}}, "new": [1, 2], "storage": {"files": [{"path": "/a"}]}
            })
        );
    }
}
