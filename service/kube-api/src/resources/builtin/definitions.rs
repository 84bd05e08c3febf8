//! The published schemas of the built-in kinds, taken from Kubernetes by `facts/extract.py`.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::schema::Schema;

/// OpenAPI definitions by name, `io.k8s.api.core.v1.Secret`.
pub static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../facts/builtin-schemas.json"))
        .expect("a file of this crate, read by its tests")
});

pub fn schema(definition: &str) -> Arc<Schema> {
    let schema = Schema::of_definition(&DEFINITIONS, definition);
    Arc::new(schema.unwrap_or_else(|error| unreachable!("the definitions are a file of this crate: {error}")))
}

/// A definition and all definitions it refers to.
pub fn definitions_below(name: &str) -> Map<String, Value> {
    let mut found = Map::new();
    let mut desired = vec![name.to_owned()];
    let mut seen = HashSet::new();
    while let Some(name) = desired.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(definition) = DEFINITIONS.get(&name) {
            references(definition, &mut desired);
            found.insert(name, definition.clone());
        }
    }
    found
}

/// Adds the names of the definitions that a schema refers to.
pub fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (member, value) in members {
                match value.as_str() {
                    Some(reference) if member == "$ref" => {
                        names.extend(reference.rsplit('/').next().map(str::to_owned));
                    }
                    _ => references(value, names),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, names)),
        _ => {}
    }
}
