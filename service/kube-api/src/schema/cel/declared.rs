//! The declarations of a schema for CEL. Source: `k8s.io/apiserver` 0.34 `pkg/cel/common/schemas.go` and `pkg/cel/escaping.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::types::Type;

/// Largest request that a server takes, bytes: no value is larger.
pub const MOST_BYTES: u64 = 3 << 20;

/// A place of the schema that rules can refer to.
#[derive(Debug, Clone)]
pub struct Declared {
    pub kind: Type,
    /// Elements of a list or map, characters of a text, at most.
    pub most: u64,
    /// Bytes of its JSON, at least.
    pub least_bytes: u64,
    /// Members of an object by their names in CEL.
    pub fields: BTreeMap<String, Arc<Declared>>,
    /// Elements of a list, values of a map.
    pub element: Option<Arc<Declared>>,
}

impl Declared {
    fn scalar(kind: Type, most: u64, least_bytes: u64) -> Self {
        Self {
            kind,
            most,
            least_bytes,
            fields: BTreeMap::new(),
            element: None,
        }
    }

    /// The declaration of a schema at `place`, such as `self.spec`; `None`: rules cannot refer to it. `is_root`: of a custom resource.
    pub fn of(schema: &Value, place: &str, is_root: bool) -> Option<Self> {
        let number = |name: &str| schema[name].as_u64();
        let longest = MOST_BYTES - 2;
        if schema["x-kubernetes-int-or-string"] == true {
            let most = number("maxLength").map_or(longest, characters);
            return Some(Self::scalar(Type::Dyn, most, 1));
        }
        let is_resource = is_root || schema["x-kubernetes-embedded-resource"] == true;
        let kind = if is_resource {
            Some("object")
        } else {
            schema["type"].as_str()
        };
        Some(match kind? {
            "array" => {
                let element = Self::of(&schema["items"], &format!("{place}.@idx"), false)?;
                let most = number("maxItems").unwrap_or(longest / (element.least_bytes + 1));
                Self::many(Type::list(element.kind.clone()), most, element)
            }
            "object" => {
                let values = &schema["additionalProperties"];
                if values.is_object() && !is_resource {
                    let element = Self::of(values, &format!("{place}.@elem"), false)?;
                    let most = number("maxProperties").unwrap_or(longest / (element.least_bytes + 6));
                    let kind = Type::map(Type::String, element.kind.clone());
                    return Some(Self::many(kind, most, element));
                }
                Self::object(schema, place, is_resource)
            }
            "string" => match schema["format"].as_str() {
                Some("byte") => Self::scalar(Type::Bytes, number("maxLength").unwrap_or(longest), 2),
                Some("duration") => Self::scalar(Type::Duration, 32, 3),
                Some("date") => Self::scalar(Type::Timestamp, 12, 12),
                Some("date-time") => Self::scalar(Type::Timestamp, 32, 21),
                _ => {
                    let texts = schema["enum"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str);
                    let allowed = texts.map(|text| text.len() as u64).max();
                    let most = number("maxLength").map(characters).or(allowed);
                    Self::scalar(Type::String, most.unwrap_or(longest), 2)
                }
            },
            "boolean" => Self::scalar(Type::Bool, 0, 4),
            "number" => Self::scalar(Type::Double, 0, 1),
            "integer" => Self::scalar(Type::Int, 0, 1),
            _ => return None,
        })
    }

    /// A member by its name in rules. A reserved word need not be escaped.
    pub fn field(&self, name: &str) -> Option<&Arc<Self>> {
        let escaped = || RESERVED.contains(&name).then(|| format!("__{name}__"));
        let plain = self.fields.get(name);
        plain.or_else(|| self.fields.get(&escaped()?))
    }

    fn many(kind: Type, most: u64, element: Self) -> Self {
        Self {
            element: Some(Arc::new(element)),
            ..Self::scalar(kind, most, 2)
        }
    }

    fn object(schema: &Value, place: &str, is_resource: bool) -> Self {
        let mut declared = Self::scalar(Type::Object(place.to_owned()), 0, 2);
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let mut properties = schema["properties"].as_object().cloned().unwrap_or_default();
        if is_resource {
            let text = json!({"type": "string"});
            properties.insert("kind".into(), text.clone());
            properties.insert("apiVersion".into(), text.clone());
            let names = json!({"type": "object", "properties": {"name": text, "generateName": text}});
            properties.insert("metadata".into(), names);
        }
        for (name, property) in &properties {
            let escaped = escape(name);
            let place = format!("{place}.{}", escaped.as_deref().unwrap_or(name));
            let Some(field) = Self::of(property, &place, false) else {
                continue;
            };
            if required.contains(&name.as_str()) && property.get("default").is_none() {
                declared.least_bytes += name.len() as u64 + field.least_bytes + 4;
            }
            if let Some(escaped) = escaped {
                declared.fields.insert(escaped, Arc::new(field));
            }
        }
        declared
    }
}

/// A character has four bytes at most.
fn characters(most: u64) -> u64 {
    most.saturating_mul(4)
}

/// Words that are no names in CEL.
pub const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a member in rules; `None`: rules cannot name it.
pub fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    name.chars().all(allowed).then(|| {
        name.replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_an_api_server_does() {
        for (name, escaped) in [
            ("replicas", Some("replicas")),
            ("my_field", Some("my_field")),
            ("a__b", Some("a__underscores__b")),
            ("foo-bar", Some("foo__dash__bar")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("namespace", Some("__namespace__")),
            ("int", Some("int")),
            ("9lives", None),
            ("ü", None),
            ("a b", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
        }
    }
}
