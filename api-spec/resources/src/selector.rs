//! Schema of label selectors, in own words; the Rust type is k8s-openapi's.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// As the API machinery declares it: the selector and its lists are replaced as a whole by server-side apply.
pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = plain_schema(generator);
    schema.insert("x-kubernetes-map-type".into(), "atomic".into());
    for path in [
        "/properties/matchExpressions",
        "/properties/matchExpressions/items/properties/values",
    ] {
        if let Some(Value::Object(list)) = schema.pointer_mut(path) {
            list.insert("x-kubernetes-list-type".into(), "atomic".into());
        }
    }
    schema
}

/// Without a merge strategy, as in older CRDs.
pub(crate) fn plain_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {
                "type": "object",
                "description": "Labels that must be there with exactly these values.",
                "additionalProperties": { "type": "string" }
            },
            "matchExpressions": {
                "type": "array",
                "description": "Conditions that must all hold, together with `matchLabels`.",
                "items": {
                    "type": "object",
                    "description": "One condition on one label.",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": { "type": "string", "description": "Key of the label." },
                        "operator": {
                            "type": "string",
                            "description": "`In` or `NotIn` the values; `Exists` or `DoesNotExist` without values."
                        },
                        "values": {
                            "type": "array",
                            "description": "Values for `In` and `NotIn`.",
                            "items": { "type": "string" }
                        }
                    }
                }
            }
        }
    })
}
