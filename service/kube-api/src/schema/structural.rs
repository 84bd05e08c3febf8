//! The compiled form of a schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::cel::rules::Node;

/// The JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    /// The name in schemas.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The list type for server-side apply (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Values that occur once.
    Set,
    /// Objects identified by these members.
    Map(Vec<String>),
}

/// A node of a schema.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `None` for any type.
    pub kind: Option<Type>,
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    pub properties: BTreeMap<String, Arc<Schema>>,
    /// `additionalProperties`
    pub additional: Option<Arc<Schema>>,
    pub items: Option<Arc<Schema>>,
    pub required: Vec<String>,
    pub default: Option<Value>,
    pub list_type: ListType,
    /// `x-kubernetes-map-type: atomic`
    pub atomic_map: bool,
    /// `x-kubernetes-patch-merge-key`, for strategic merge patches of built-in kinds.
    pub patch_merge_key: Option<String>,
    /// True when `x-kubernetes-patch-strategy` names `merge`.
    pub patch_merges: bool,
    pub rules: Rules,
    /// CEL rules of the whole tree, at its root only.
    pub cel: Option<Arc<Node>>,
    /// One of these rules has a loop. Set at the root only.
    pub has_loops: bool,
}

/// The keywords that restrict values.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// `enum`
    pub allowed: Vec<Value>,
    /// `pattern`, with its source.
    pub pattern: Option<(String, Regex)>,
    pub format: Option<String>,
    /// `minimum`; true when it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// `maximum`; true when it is exclusive.
    pub maximum: Option<(f64, bool)>,
    pub multiple_of: Option<f64>,
    pub min_length: Option<usize>,
    pub max_length: Option<usize>,
    pub min_items: Option<usize>,
    pub max_items: Option<usize>,
    pub unique_items: bool,
    pub min_properties: Option<usize>,
    pub max_properties: Option<usize>,
    pub all_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
}

impl Schema {
    /// Accepts and keeps any value.
    pub fn anything() -> Self {
        Self {
            preserve_unknown: true,
            ..Self::default()
        }
    }

    /// The schema of a member, if it is declared.
    pub fn member(&self, name: &str) -> Option<&Arc<Schema>> {
        self.properties.get(name).or(self.additional.as_ref())
    }
}
