//! Compiles the JSON of a schema.

use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::{Map, Value};

use super::cel::rules::Node;
use super::cost;
use super::structural::{ListType, Rules, Schema, Type};

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct SchemaError {
    /// Path below the root of the schema.
    pub path: String,
    pub reason: String,
}

/// Named schemas that `$ref` points to by the last part of the reference; CRDs have none.
pub type Definitions = Map<String, Value>;

impl Schema {
    /// Compiles the schema of a CRD version. [`Node::of`] finds faults in its CEL rules.
    ///
    /// # Errors
    /// The first keyword that cannot be used.
    pub fn of_crd(document: &Value) -> Result<Self, SchemaError> {
        let mut schema = Compiler::new(&Map::new()).compile(document, "")?;
        if let (Some(rules), _) = Node::of(document) {
            schema.has_loops = cost::has_loops(&rules);
            schema.cel = Some(Arc::new(rules));
        }
        Ok(schema)
    }

    /// Compiles one of several schemas that refer to each other.
    ///
    /// # Errors
    /// The first keyword that cannot be used.
    pub fn of_definition(definitions: &Definitions, name: &str) -> Result<Self, SchemaError> {
        let document = definitions.get(name).ok_or_else(|| SchemaError {
            path: name.to_owned(),
            reason: "there is no such schema".into(),
        })?;
        Compiler::new(definitions).compile(document, name)
    }
}

struct Compiler<'a> {
    definitions: &'a Definitions,
    known: HashMap<String, Schema>,
}

impl<'a> Compiler<'a> {
    fn new(definitions: &'a Definitions) -> Self {
        Self {
            definitions,
            known: HashMap::new(),
        }
    }

    fn compile(&mut self, node: &Value, path: &str) -> Result<Schema, SchemaError> {
        let fail = |reason: String| SchemaError {
            path: path.to_owned(),
            reason,
        };
        let node = node
            .as_object()
            .ok_or_else(|| fail("a schema is an object".into()))?;
        if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, node, path);
        }
        let flag = |name: &str| node.get(name).and_then(Value::as_bool).unwrap_or(false);
        let text = |name: &str| node.get(name).and_then(Value::as_str);
        let mut schema = Schema {
            kind: text("type")
                .map(|name| name.parse().map_err(|_| fail(format!("unknown type {name:?}"))))
                .transpose()?,
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string") || text("format") == Some("int-or-string"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            required: texts(node.get("required")),
            default: node.get("default").cloned(),
            list_type: list_type(node),
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
            patch_merge_key: text("x-kubernetes-patch-merge-key").map(str::to_owned),
            patch_merges: text("x-kubernetes-patch-strategy")
                .is_some_and(|names| names.split(',').any(|name| name == "merge")),
            rules: self.rules(node, path)?,
            ..Schema::default()
        };
        if schema.int_or_string {
            schema.kind = None;
        }
        for (name, child) in node
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let child = self.compile(child, &joined(path, name))?;
            schema.properties.insert(name.clone(), Arc::new(child));
        }
        match node.get("additionalProperties") {
            Some(Value::Bool(true)) => schema.additional = Some(Arc::new(Schema::anything())),
            None | Some(Value::Bool(false) | Value::Null) => {}
            Some(child) => schema.additional = Some(Arc::new(self.compile(child, &joined(path, "*"))?)),
        }
        // In published definitions an object without members is open (`FieldsV1`); in CRDs it is empty.
        let is_open =
            schema.kind == Some(Type::Object) && schema.properties.is_empty() && schema.additional.is_none();
        schema.preserve_unknown |= is_open && !self.definitions.is_empty();
        if let Some(child) = node.get("items") {
            schema.items = Some(Arc::new(self.compile(child, &format!("{path}[]"))?));
        }
        Ok(schema)
    }

    fn referred(
        &mut self,
        reference: &str,
        node: &Map<String, Value>,
        path: &str,
    ) -> Result<Schema, SchemaError> {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let mut schema = match self.known.get(name) {
            Some(schema) => schema.clone(),
            None => {
                let document = self.definitions.get(name).ok_or_else(|| SchemaError {
                    path: path.to_owned(),
                    reason: format!("refers to {name}, which is not there"),
                })?;
                let schema = self.compile(document, name)?;
                self.known.insert(name.to_owned(), schema.clone());
                schema
            }
        };
        if let Some(default) = node.get("default") {
            schema.default = Some(default.clone());
        }
        Ok(schema)
    }

    fn rules(&mut self, node: &Map<String, Value>, path: &str) -> Result<Rules, SchemaError> {
        let size = |name: &str| {
            node.get(name)
                .and_then(Value::as_u64)
                .and_then(|size| usize::try_from(size).ok())
        };
        let limit = |name: &str, exclusive: &str| {
            let exclusive = node.get(exclusive).and_then(Value::as_bool).unwrap_or(false);
            node.get(name)
                .and_then(Value::as_f64)
                .map(|limit| (limit, exclusive))
        };
        let pattern = node.get("pattern").and_then(Value::as_str).map(|source| {
            let regex = Regex::new(source).map_err(|error| SchemaError {
                path: joined(path, "pattern"),
                reason: error.to_string(),
            })?;
            Ok((source.to_owned(), regex))
        });
        let not = node
            .get("not")
            .map(|child| self.compile(child, &joined(path, "not")).map(Box::new));
        Ok(Rules {
            allowed: node
                .get("enum")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            pattern: pattern.transpose()?,
            format: node.get("format").and_then(Value::as_str).map(str::to_owned),
            minimum: limit("minimum", "exclusiveMinimum"),
            maximum: limit("maximum", "exclusiveMaximum"),
            multiple_of: node.get("multipleOf").and_then(Value::as_f64),
            min_length: size("minLength"),
            max_length: size("maxLength"),
            min_items: size("minItems"),
            max_items: size("maxItems"),
            unique_items: node.get("uniqueItems").and_then(Value::as_bool).unwrap_or(false),
            min_properties: size("minProperties"),
            max_properties: size("maxProperties"),
            all_of: self.several(node, "allOf", path)?,
            any_of: self.several(node, "anyOf", path)?,
            one_of: self.several(node, "oneOf", path)?,
            not: not.transpose()?,
        })
    }

    fn several(
        &mut self,
        node: &Map<String, Value>,
        name: &str,
        path: &str,
    ) -> Result<Vec<Schema>, SchemaError> {
        let children = node.get(name).and_then(Value::as_array).into_iter().flatten();
        children
            .map(|child| self.compile(child, &joined(path, name)))
            .collect()
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let texts = value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn list_type(node: &Map<String, Value>) -> ListType {
    match node.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(texts(node.get("x-kubernetes-list-map-keys"))),
        _ => ListType::Atomic,
    }
}
