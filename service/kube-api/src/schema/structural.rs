//! The compiled form of a schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::CompiledSchema;
use regex::Regex;
use serde_json::Value;

/// The JSON type that a value must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

impl Type {
    /// As schemas write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// How lists are merged by server-side apply (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// As a whole.
    #[default]
    Atomic,
    /// Values that occur once.
    Set,
    /// Objects told apart by these members.
    Map(Vec<String>),
}

/// One node of a schema.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// The type, unless anything goes.
    pub kind: Option<Type>,
    /// `null` is allowed.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// Members.
    pub properties: BTreeMap<String, Arc<Schema>>,
    /// Members besides.
    pub additional: Option<Arc<Schema>>,
    /// Elements.
    pub items: Option<Arc<Schema>>,
    /// Members that must be there.
    pub required: Vec<String>,
    /// Filled in when absent.
    pub default: Option<Value>,
    /// How lists are merged.
    pub list_type: ListType,
    /// `x-kubernetes-map-type: atomic`
    pub atomic_map: bool,
    /// `x-kubernetes-patch-merge-key`, for strategic merge patches of built-in kinds.
    pub patch_merge_key: Option<String>,
    /// `x-kubernetes-patch-strategy` names merging.
    pub patch_merges: bool,
    /// What values must fulfil.
    pub rules: Rules,
    /// CEL rules of the whole tree, at its root only.
    pub cel: Option<Arc<CompiledSchema>>,
}

/// Keywords that restrict values.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// `enum`
    pub allowed: Vec<Value>,
    /// `pattern`, with its source.
    pub pattern: Option<(String, Regex)>,
    /// `format`
    pub format: Option<String>,
    /// `minimum`, and whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// `maximum`, and whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `minLength`
    pub min_length: Option<usize>,
    /// `maxLength`
    pub max_length: Option<usize>,
    /// `minItems`
    pub min_items: Option<usize>,
    /// `maxItems`
    pub max_items: Option<usize>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `minProperties`
    pub min_properties: Option<usize>,
    /// `maxProperties`
    pub max_properties: Option<usize>,
    /// `allOf`
    pub all_of: Vec<Schema>,
    /// `anyOf`
    pub any_of: Vec<Schema>,
    /// `oneOf`
    pub one_of: Vec<Schema>,
    /// `not`
    pub not: Option<Box<Schema>>,
}

impl Schema {
    /// Anything goes, and is kept.
    pub fn anything() -> Self {
        Self {
            preserve_unknown: true,
            ..Self::default()
        }
    }

    /// The schema of a member, if the schema says something of it.
    pub fn member(&self, name: &str) -> Option<&Arc<Schema>> {
        self.properties.get(name).or(self.additional.as_ref())
    }
}
