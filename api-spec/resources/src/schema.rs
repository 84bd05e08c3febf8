//! From Rust types to structural schemas.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// `int` of the upstream Go types: an integer without a format.
pub(crate) fn integer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer" })
}

/// The same, not negative.
pub(crate) fn integer_from_zero(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0 })
}

/// An object with undeclared members.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// The schema of a custom resource as a CustomResourceDefinition takes it: structural, nothing nullable
/// (the API server drops `null` where a member is not nullable, which is what "optional" means here).
pub(crate) fn of<K: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let generator = settings.with_transform(Structural).into_generator();
    generator.into_root_schema_for::<K>().to_value()
}

/// Turns what schemars writes into what Kubernetes takes.
#[derive(Debug, Clone)]
struct Structural;

impl Transform for Structural {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        optional(schema);
        plain_enum(schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        object.remove("title");
        // Doc comments are wrapped where the source's lines end; readers' lines are others.
        if let Some(Value::String(words)) = object.get_mut("description") {
            let paragraphs = words.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
            *words = paragraphs.collect::<Vec<_>>().join("\n\n");
        }
        // A default that is a list or an object is an empty one: in the schema it would make the API server write it.
        if object
            .get("default")
            .is_some_and(|default| default.is_object() || default.is_array() || default.is_null())
        {
            object.remove("default");
        }
        // Members that a type keeps without knowing them (`#[serde(flatten)]` on a map).
        if object.contains_key("properties")
            && let Some(rest) = object.remove("additionalProperties")
            && rest != json!(false)
        {
            object.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        }
    }
}

/// `Option<T>` is described as `T`, with the description of the member, not of the type.
fn optional(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = object.get("anyOf") else {
        return;
    };
    let null = |choice: &Value| choice["type"] == "null";
    if let [Value::Object(inner), other] = choices.as_slice()
        && null(other)
    {
        let inner = inner.clone();
        object.remove("anyOf");
        for (key, value) in inner {
            object.entry(key).or_insert(value);
        }
    }
}

/// Variants with doc comments are described one by one; Kubernetes supports only lists of values.
fn plain_enum(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let Some(Value::Array(variants)) = object.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    for variant in variants {
        match (variant.get("const"), variant.get("enum")) {
            (Some(value), _) => values.push(value.clone()),
            (None, Some(Value::Array(several))) => values.extend(several.iter().cloned()),
            _ => return,
        }
    }
    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), Value::Array(values));
}
