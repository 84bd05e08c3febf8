//! Keeps `metadata.managedFields` up to date with every write, and resolves applies by it.

use serde_json::{Value, json};

use super::set::FieldSet;
use super::structure::{Comparison, compare, fields_of, merged, without};
use crate::object;
use crate::resources::{Converter, Resource};
use crate::schema::Schema;

/// The schema of the written version, and the converter to the others: an entry lists fields of the version that its manager wrote.
#[derive(Debug, Clone, Copy)]
pub struct Versions<'a> {
    schema: &'a Schema,
    converter: Option<&'a Converter>,
}

impl<'a> From<&'a Resource> for Versions<'a> {
    fn from(resource: &'a Resource) -> Self {
        Self {
            schema: &resource.schema,
            converter: resource.converter.as_ref(),
        }
    }
}

impl<'a> From<&'a Schema> for Versions<'a> {
    fn from(schema: &'a Schema) -> Self {
        Self {
            schema,
            converter: None,
        }
    }
}

impl Versions<'_> {
    /// What a write of `manager` changes, in the terms of each version that `entries` are of. The first is the
    /// written one.
    fn differences(self, old: &Value, new: &Value, entries: &[Entry], manager: &Manager) -> Differences {
        let mut found = vec![(manager.api_version.clone(), difference(self.schema, old, new))];
        for entry in entries {
            let version = &entry.manager.api_version;
            let is_known = found.iter().any(|(name, _)| name == version);
            if let Some((converter, schema)) = self.other(version)
                && !is_known
            {
                let seen = |object: &Value| converter.converted(object.clone(), version);
                found.push((version.clone(), difference(schema, &seen(old), &seen(new))));
            }
        }
        Differences(found)
    }

    /// The converter and schema of another version, where that has other content.
    fn other(&self, version: &str) -> Option<(&Converter, &Schema)> {
        let converter = self.converter?;
        Some((converter, converter.schema(version)?))
    }
}

/// Changes by version.
struct Differences(Vec<(String, Comparison)>);

impl Differences {
    /// Changes in the written version.
    fn own(&self) -> &Comparison {
        &self.0[0].1
    }

    /// Changes in the version of an entry.
    fn of(&self, entry: &Entry) -> &Comparison {
        let found = self.0.iter().find(|(name, _)| *name == entry.manager.api_version);
        found.map_or(self.own(), |(_, comparison)| comparison)
    }
}

/// The operation of a managed fields entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
pub enum Operation {
    /// Server-side apply, which states all fields that its manager wants to own.
    Apply,
    /// Any other write.
    Update,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    pub name: String,
    pub operation: Operation,
    /// `apiVersion` of the written object.
    pub api_version: String,
    /// Empty for the main resource.
    pub subresource: String,
}

#[derive(Debug, Clone)]
struct Entry {
    manager: Manager,
    time: String,
    fields: FieldSet,
}

/// Members of `metadata` that are not tracked.
const UNOWNED: [&str; 9] = [
    "f:name",
    "f:namespace",
    "f:creationTimestamp",
    "f:selfLink",
    "f:uid",
    "f:clusterName",
    "f:generation",
    "f:managedFields",
    "f:resourceVersion",
];

fn stripped(mut set: FieldSet) -> FieldSet {
    for step in ["f:apiVersion", "f:kind"] {
        set.remove(&[step]);
    }
    set.remove_itself("f:metadata");
    for step in UNOWNED {
        set.remove(&["f:metadata", step]);
    }
    set
}

/// The entries that a client sends with an update, if they are usable: `kubectl` moves fields from one manager to another in this way
/// before its first server-side apply. An update without entries leaves them as they are.
fn sent(object: &Value) -> Option<Vec<Entry>> {
    let entries = object::metadata(object)?.get("managedFields")?.as_array()?;
    let is_usable = |entry: &Value| {
        let is_text = |member: &str| entry[member].as_str().is_some_and(|text| !text.is_empty());
        is_text("apiVersion")
            && matches!(entry["operation"].as_str(), Some("Apply" | "Update"))
            && entry["fieldsType"] == "FieldsV1"
            && entry["fieldsV1"].is_object()
    };
    (!entries.is_empty() && entries.iter().all(is_usable)).then(|| decode(object))
}

fn decode(object: &Value) -> Vec<Entry> {
    let entries = object::metadata(object).and_then(|metadata| metadata.get("managedFields")?.as_array());
    let text = |entry: &Value, member: &str| entry[member].as_str().unwrap_or_default().to_owned();
    let entries = entries.into_iter().flatten().map(|entry| Entry {
        manager: Manager {
            name: text(entry, "manager"),
            operation: if entry["operation"] == "Apply" {
                Operation::Apply
            } else {
                Operation::Update
            },
            api_version: text(entry, "apiVersion"),
            subresource: text(entry, "subresource"),
        },
        time: text(entry, "time"),
        fields: FieldSet::from_json(&entry["fieldsV1"]),
    });
    entries.collect()
}

fn encode(mut entries: Vec<Entry>, object: &mut Value) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|one, other| {
        let key = |entry: &Entry| {
            (
                entry.manager.operation,
                entry.time.clone(),
                entry.manager.name.clone(),
            )
        };
        key(one).cmp(&key(other))
    });
    let entries = entries.into_iter().map(
        |Entry {
             manager,
             time,
             fields,
         }| {
            let mut entry = json!({
                "manager": manager.name,
                "operation": <&str>::from(manager.operation),
                "apiVersion": manager.api_version,
                "time": time,
                "fieldsType": "FieldsV1",
                "fieldsV1": fields.to_json(),
            });
            if !manager.subresource.is_empty() {
                entry["subresource"] = manager.subresource.into();
            }
            entry
        },
    );
    let entries: Vec<Value> = entries.collect();
    let metadata = object::metadata_mut(object);
    if entries.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".into(), entries.into());
    }
}

fn difference(schema: &Schema, old: &Value, new: &Value) -> Comparison {
    let Comparison {
        added,
        modified,
        removed,
    } = compare(schema, old, new);
    Comparison {
        added: stripped(added),
        modified: stripped(modified),
        removed: stripped(removed),
    }
}

/// True when a client requests the removal of all entries, by a list with one empty entry.
fn is_reset(object: &Value) -> bool {
    let entries = object::metadata(object).and_then(|metadata| metadata.get("managedFields")?.as_array());
    entries.is_some_and(|entries| {
        entries.len() == 1 && entries[0].as_object().is_some_and(serde_json::Map::is_empty)
    })
}

/// Writes the entries of `new`, which replaces `old` or is created: the manager becomes the only owner of the
/// fields it changed.
pub fn on_update<'a>(
    versions: impl Into<Versions<'a>>,
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager,
) {
    if is_reset(new) {
        object::metadata_mut(new).remove("managedFields");
        return;
    }
    let nothing = json!({});
    let old = old.unwrap_or(&nothing);
    // Entries in the body of a subresource are ignored.
    let sent = sent(new).filter(|_| manager.subresource.is_empty());
    let mut entries = sent.unwrap_or_else(|| decode(old));
    let differences = versions.into().differences(old, new, &entries, manager);
    let comparison = differences.own();
    if !comparison.is_same() {
        let changed = comparison.added.union(&comparison.modified);
        for entry in &mut entries {
            let comparison = differences.of(entry);
            if entry.manager != *manager {
                let changed = comparison.added.union(&comparison.modified);
                entry.fields = entry.fields.difference(&changed);
            }
            entry.fields = entry.fields.difference(&comparison.removed);
        }
        match entries.iter_mut().find(|entry| entry.manager == *manager) {
            Some(entry) => {
                let fields = entry.fields.union(&changed);
                if fields != entry.fields || !changed.is_empty() {
                    entry.time = object::now();
                }
                entry.fields = fields;
            }
            None => entries.push(Entry {
                manager: manager.clone(),
                time: object::now(),
                fields: changed,
            }),
        }
    }
    encode(entries, new);
}

/// Applies `applied` for `manager` and returns the resulting object.
///
/// # Errors
/// Pairs of manager and field that others own with another value, unless `force`.
pub fn on_apply<'a>(
    versions: impl Into<Versions<'a>>,
    live: Option<&Value>,
    applied: &Value,
    manager: &Manager,
    force: bool,
) -> Result<Value, Vec<(String, String)>> {
    let versions = versions.into();
    let nothing = json!({});
    let live = live.unwrap_or(&nothing);
    let mut entries = decode(live);
    let desired = stripped(fields_of(versions.schema, applied));
    let own = entries.iter().position(|entry| is_same(&entry.manager, manager));
    let before = own.map(|index| entries.remove(index));
    let merged = merged(versions.schema, live, applied);
    let mut result = match &before {
        Some(before) => without_dropped(versions, merged, applied, before, &entries),
        None => merged,
    };

    let differences = versions.differences(live, &result, &entries, manager);
    let mut conflicts = Vec::new();
    for entry in &mut entries {
        let comparison = differences.of(entry);
        let changed = comparison.added.union(&comparison.modified);
        let disputed = entry.fields.intersection(&changed);
        if !disputed.is_empty() {
            let who = shown(&entry.manager);
            conflicts.extend(disputed.shown().into_iter().map(|field| (who.clone(), field)));
            entry.fields = entry.fields.difference(&disputed);
        }
        entry.fields = entry.fields.difference(&comparison.removed);
    }
    let comparison = differences.own();
    if !conflicts.is_empty() && !force {
        return Err(conflicts);
    }
    let time = match before {
        Some(before) if before.fields == desired && before.manager == *manager && comparison.is_same() => {
            before.time
        }
        _ => object::now(),
    };
    entries.push(Entry {
        manager: manager.clone(),
        time,
        fields: desired,
    });
    encode(entries, &mut result);
    Ok(result)
}

/// Fields that `applied` set and that `live` still has with the same value, as conflicts show them.
pub fn unchanged_since<'a>(versions: impl Into<Versions<'a>>, applied: &Value, live: &Value) -> Vec<String> {
    let schema = versions.into().schema;
    let Comparison {
        modified, removed, ..
    } = difference(schema, applied, live);
    let set = stripped(fields_of(schema, applied));
    set.difference(&modified).difference(&removed).shown()
}

/// True when an entry is the applier's own: it may have applied another version before.
fn is_same(of_entry: &Manager, manager: &Manager) -> bool {
    of_entry.name == manager.name
        && of_entry.operation == manager.operation
        && of_entry.subresource == manager.subresource
}

/// `merged` without the fields that the manager applied before and now leaves out, unless another manager owns
/// them.
fn without_dropped(
    versions: Versions<'_>,
    merged: Value,
    applied: &Value,
    before: &Entry,
    others: &[Entry],
) -> Value {
    let dropped = |schema: &Schema, applied: &Value| {
        let desired = stripped(fields_of(schema, applied));
        let managed = others.iter().fold(desired, |all, entry| all.union(&entry.fields));
        before.fields.difference(&managed.with_parents())
    };
    let version = &before.manager.api_version;
    let written = merged["apiVersion"].as_str().unwrap_or_default().to_owned();
    match versions.other(version).filter(|_| *version != written) {
        None => without(versions.schema, &merged, &dropped(versions.schema, applied)),
        Some((converter, schema)) => {
            let applied = converter.converted(applied.clone(), version);
            let seen = converter.converted(merged, version);
            let result = without(schema, &seen, &dropped(schema, &applied));
            converter.converted(result, &written)
        }
    }
}

/// `"NAME" with subresource "status" using v1`, as conflicts name a manager.
fn shown(manager: &Manager) -> String {
    let mut text = format!("{:?}", manager.name);
    if !manager.subresource.is_empty() {
        text.push_str(&format!(" with subresource {:?}", manager.subresource));
    }
    if manager.operation == Operation::Update {
        text.push_str(&format!(" using {}", manager.api_version));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::of_crd(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}, "b": {"type": "string"},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer"}}}},
        }}}}))
        .unwrap()
    }

    fn manager(name: &str, operation: Operation) -> Manager {
        Manager {
            name: name.into(),
            operation,
            api_version: "g/v1".into(),
            subresource: String::new(),
        }
    }

    fn fields(object: &Value, name: &str) -> Value {
        let entries = object["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = entries.into_iter().find(|entry| entry["manager"] == name);
        found.map(|entry| entry["fieldsV1"].clone()).unwrap_or_default()
    }

    #[test]
    fn an_update_takes_fields_over_and_keeps_entries_when_nothing_changes() {
        let mut one = json!({"spec": {"a": "1", "b": "1"}, "metadata": {"name": "x", "labels": {"l": "1"}}});
        on_update(&schema(), None, &mut one, &manager("creator", Operation::Update));
        assert_eq!(
            fields(&one, "creator"),
            json!({"f:metadata": {"f:labels": {".": {}, "f:l": {}}}, "f:spec": {".": {}, "f:a": {}, "f:b": {}}})
        );
        let mut two = one.clone();
        two["spec"]["a"] = "2".into();
        on_update(
            &schema(),
            Some(&one),
            &mut two,
            &manager("editor", Operation::Update),
        );
        assert_eq!(fields(&two, "editor"), json!({"f:spec": {"f:a": {}}}));
        assert_eq!(fields(&two, "creator")["f:spec"], json!({".": {}, "f:b": {}}));
        let mut same = two.clone();
        on_update(
            &schema(),
            Some(&two),
            &mut same,
            &manager("third", Operation::Update),
        );
        assert_eq!(same, two);
    }

    #[test]
    fn what_an_applier_no_longer_says_goes_unless_another_wants_it() {
        let (a, b) = (manager("a", Operation::Apply), manager("b", Operation::Apply));
        let first = on_apply(
            &schema(),
            None,
            &json!({"spec": {"a": "1", "list": [{"n": "x", "v": 1}, {"n": "y"}]}}),
            &a,
            false,
        )
        .unwrap();
        let second = on_apply(
            &schema(),
            Some(&first),
            &json!({"spec": {"list": [{"n": "y"}], "b": "2"}}),
            &b,
            false,
        )
        .unwrap();
        let third = on_apply(&schema(), Some(&second), &json!({"spec": {"a": "1"}}), &a, false).unwrap();
        assert_eq!(third["spec"], json!({"a": "1", "b": "2", "list": [{"n": "y"}]}));
        assert_eq!(fields(&third, "a"), json!({"f:spec": {"f:a": {}}}));
        let again = on_apply(&schema(), Some(&third), &json!({"spec": {"a": "1"}}), &a, false).unwrap();
        assert_eq!(again, third);
    }

    #[test]
    fn another_managers_value_is_a_conflict_unless_forced() {
        let mut live = json!({"spec": {"a": "1"}});
        on_update(
            &schema(),
            None,
            &mut live,
            &manager("kubectl-edit", Operation::Update),
        );
        let applied = json!({"spec": {"a": "2"}});
        let applier = manager("gitops", Operation::Apply);
        let conflicts = on_apply(&schema(), Some(&live), &applied, &applier, false).unwrap_err();
        assert_eq!(
            conflicts,
            [("\"kubectl-edit\" using g/v1".to_owned(), ".spec.a".to_owned())]
        );
        let forced = on_apply(&schema(), Some(&live), &applied, &applier, true).unwrap();
        assert_eq!(forced["spec"], json!({"a": "2"}));
        assert_eq!(fields(&forced, "kubectl-edit"), json!({"f:spec": {}}));
        // The same value is shared.
        let shared = on_apply(
            &schema(),
            Some(&live),
            &json!({"spec": {"a": "1"}}),
            &applier,
            false,
        )
        .unwrap();
        assert_eq!(fields(&shared, "gitops"), json!({"f:spec": {"f:a": {}}}));
    }
}
