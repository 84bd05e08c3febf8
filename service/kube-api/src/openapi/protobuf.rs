//! Encodes the definitions of `/openapi/v2` as protobuf, the only form in which kubectl reads them. It needs
//! them for kinds that no document of v3 has: `kubectl apply` of a `List` is validated by them.
//!
//! Messages and field numbers: `OpenAPIv2.proto` of gnostic-models. Members that the validation does not use
//! are left out.

use prost::Message;
use serde_json::{Map, Value};

/// The media type in `Accept`. Older clients append `@v1.0`.
pub const ACCEPTED: &str = "application/com.github.proto-openapi.spec.v2";
/// The media type of the answer.
pub const MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

#[derive(Clone, PartialEq, Message)]
struct Document {
    #[prost(string, tag = "1")]
    swagger: String,
    #[prost(message, optional, tag = "2")]
    info: Option<Info>,
    #[prost(message, optional, tag = "8")]
    paths: Option<Paths>,
    #[prost(message, optional, tag = "9")]
    definitions: Option<NamedSchemas>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(string, tag = "1")]
    title: String,
    #[prost(string, tag = "2")]
    version: String,
}

/// Empty: clients read paths from v3.
#[derive(Clone, PartialEq, Message)]
struct Paths {}

/// `Definitions` and `Properties`.
#[derive(Clone, PartialEq, Message)]
struct NamedSchemas {
    #[prost(message, repeated, tag = "1")]
    schemas: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedSchema {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Schema {
    #[prost(string, tag = "1")]
    reference: String,
    #[prost(string, tag = "2")]
    format: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(string, repeated, tag = "19")]
    required: Vec<String>,
    #[prost(message, optional, boxed, tag = "21")]
    additional_properties: Option<Box<AdditionalProperties>>,
    #[prost(message, optional, tag = "22")]
    kind: Option<Texts>,
    #[prost(message, optional, tag = "23")]
    items: Option<Items>,
    #[prost(message, optional, tag = "25")]
    properties: Option<NamedSchemas>,
    #[prost(message, repeated, tag = "31")]
    extensions: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct AdditionalProperties {
    #[prost(message, optional, boxed, tag = "1")]
    schema: Option<Box<Schema>>,
}

#[derive(Clone, PartialEq, Message)]
struct Texts {
    #[prost(string, repeated, tag = "1")]
    value: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Items {
    #[prost(message, repeated, tag = "1")]
    schema: Vec<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedAny {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(string, tag = "2")]
    yaml: String,
}

/// Encodes a document of version 2, as [`OpenApi::v2`](super::OpenApi::v2) builds it.
pub fn encode(document: &Value) -> Vec<u8> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let document = Document {
        swagger: text(&document["swagger"]),
        info: Some(Info {
            title: text(&document["info"]["title"]),
            version: text(&document["info"]["version"]),
        }),
        paths: Some(Paths {}),
        definitions: document["definitions"].as_object().map(named),
    };
    document.encode_to_vec()
}

fn named(schemas: &Map<String, Value>) -> NamedSchemas {
    let named = |(name, schema): (&String, &Value)| NamedSchema {
        name: name.clone(),
        value: Some(converted(schema)),
    };
    NamedSchemas {
        schemas: schemas.iter().map(named).collect(),
    }
}

fn converted(schema: &Value) -> Schema {
    let text = |name: &str| schema[name].as_str().unwrap_or_default().to_owned();
    let is_set = |name: &str| schema[name] == Value::Bool(true);
    let mut made = Schema {
        description: text("description"),
        extensions: extensions(schema),
        ..Schema::default()
    };
    // Version 3 wraps a reference with siblings in `allOf`; here it has no siblings.
    let reference = schema["$ref"]
        .as_str()
        .or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        made.reference = reference.to_owned();
        return made;
    }
    // Version 2 expresses "any value" by an empty schema.
    if is_set("x-kubernetes-preserve-unknown-fields") || is_set("x-kubernetes-int-or-string") {
        return made;
    }
    made.format = text("format");
    made.kind = schema["type"].as_str().map(|kind| Texts {
        value: vec![kind.to_owned()],
    });
    let required = schema["required"].as_array().into_iter().flatten();
    made.required = required.filter_map(Value::as_str).map(str::to_owned).collect();
    made.properties = schema["properties"].as_object().map(named);
    made.items = schema["items"].as_object().map(|_| Items {
        schema: vec![converted(&schema["items"])],
    });
    made.additional_properties = schema["additionalProperties"].as_object().map(|_| {
        Box::new(AdditionalProperties {
            schema: Some(Box::new(converted(&schema["additionalProperties"]))),
        })
    });
    made
}

/// JSON is YAML.
fn extensions(schema: &Value) -> Vec<NamedAny> {
    let members = schema.as_object().into_iter().flatten();
    let extensions = members.filter(|(name, _)| name.starts_with("x-kubernetes-"));
    let named = extensions.map(|(name, value)| NamedAny {
        name: name.clone(),
        value: Some(AnyValue {
            yaml: value.to_string(),
        }),
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_keep_what_a_check_of_fields_needs() {
        let kinds = json!([{"group": "g", "version": "v1", "kind": "K"}]);
        let bytes = encode(&json!({
            "swagger": "2.0",
            "info": {"title": "t", "version": "v"},
            "definitions": {
                "g.v1.K": {
                    "type": "object",
                    "required": ["spec"],
                    "x-kubernetes-group-version-kind": kinds,
                    "properties": {
                        "metadata": {"allOf": [{"$ref": "#/definitions/meta"}], "default": {}},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "spec": {"type": "array", "items": {"type": "string", "format": "byte"}},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                },
            },
        }));
        let document = Document::decode(bytes.as_slice()).unwrap();
        let definitions = document.definitions.unwrap().schemas;
        let kind = definitions[0].value.clone().unwrap();
        assert_eq!(definitions[0].name, "g.v1.K");
        assert_eq!(kind.required, ["spec"]);
        assert_eq!(kind.extensions[0].name, "x-kubernetes-group-version-kind");
        assert_eq!(kind.extensions[0].value.as_ref().unwrap().yaml, kinds.to_string());
        let properties = kind.properties.unwrap().schemas;
        let property = |name: &str| {
            let found = properties.iter().find(|property| property.name == name);
            found.and_then(|property| property.value.clone()).unwrap()
        };
        assert_eq!(property("metadata").reference, "#/definitions/meta");
        assert_eq!(property("free").kind, None);
        assert_eq!(property("spec").items.unwrap().schema[0].format, "byte");
        let values = property("labels").additional_properties.unwrap().schema.unwrap();
        assert_eq!(values.kind.unwrap().value, ["string"]);
    }
}
