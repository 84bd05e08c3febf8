//! A kind with lists in its objects, for the cost of lists in a server.

use serde_json::{Value, json};

/// The CRD of `things` in a group: objects with a list `l` of this schema, and perhaps a CEL rule about them.
pub fn definition(group: &str, list: &Value, rule: Option<&str>) -> Value {
    let mut schema = json!({"type": "object", "properties": {"l": list}});
    if let Some(rule) = rule {
        schema["x-kubernetes-validations"] = json!([{"rule": rule}]);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// A thing with this list.
pub fn thing(group: &str, name: &str, list: &Value) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": name}, "l": list})
}
