//! A resource in one version, as it is served.

use std::sync::Arc;

use serde_json::Value;

use super::conversion::Converter;
use super::event;
use super::strategy::Strategy;
use super::table::Columns;
use crate::error::Subject;
use crate::object;
use crate::object::jsonpath::Path;
use crate::schema::Schema;
use crate::storage::Key;

/// A resource under `/apis/GROUP/VERSION/PLURAL` (or `/api/v1/PLURAL`).
#[derive(Debug)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    /// Groups of resources for `kubectl get`, such as `all`.
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// [`Key::resource`] of its objects, the same for all versions.
    pub storage_name: Arc<str>,
    /// The `apiVersion` of stored documents.
    pub storage_api_version: String,
    /// True when stored documents can be sent unchanged.
    pub is_stored_as_served: bool,
    /// Converts between its versions; `None`: they have the same content.
    pub converter: Option<Converter>,
    pub strategy: Strategy,
    /// The schema of objects, `metadata` included.
    pub schema: Arc<Schema>,
    /// The schema for clients.
    pub open_api: Value,
    /// The columns of `kubectl get`.
    pub columns: Columns,
    /// True when `/status` is a subresource.
    pub has_status: bool,
    /// The paths of `/scale`, if it is a subresource.
    pub scale: Option<Scale>,
    /// Fields that field selectors may use in addition to name and namespace.
    pub selectable: Vec<Path>,
    /// The warning for clients of a deprecated version.
    pub deprecation: Option<String>,
    /// Digest of the declaration: equal as long as the CRD is the same one with the same content.
    pub declaration: u64,
}

/// Paths of the scale subresource.
#[derive(Debug, Clone)]
pub struct Scale {
    pub spec_replicas: Path,
    pub status_replicas: Path,
    /// Path of a label selector as text.
    pub label_selector: Option<Path>,
}

impl Resource {
    /// For errors about objects.
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            group: &self.group,
            word: &self.plural,
        }
    }

    /// For errors about content.
    pub fn kind_subject(&self) -> Subject<'_> {
        Subject {
            group: &self.group,
            word: &self.kind,
        }
    }

    /// `GROUP/VERSION`
    pub fn api_version(&self) -> String {
        object::api_version(&self.group, &self.version)
    }

    /// The key of an object.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        Key {
            resource: self.storage_name.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Converts a stored object to this version.
    pub fn served(&self, mut stored: Value) -> Value {
        if self.strategy == Strategy::GroupedEvent {
            return event::grouped(stored);
        }
        if let Some(converter) = &self.converter {
            return converter.converted(stored, &self.api_version());
        }
        object::set_member(&mut stored, "apiVersion", Some(self.api_version().into()));
        stored
    }

    /// Converts an object of this version to the storage version.
    pub fn as_stored(&self, mut served: Value) -> Value {
        if self.strategy == Strategy::GroupedEvent {
            return event::ungrouped(served);
        }
        if let Some(converter) = &self.converter {
            return converter.converted(served, &self.storage_api_version);
        }
        object::set_member(
            &mut served,
            "apiVersion",
            Some(self.storage_api_version.clone().into()),
        );
        served
    }

    /// True when `metadata.generation` counts changes of the content.
    pub fn has_generation(&self) -> bool {
        matches!(self.strategy, Strategy::Custom | Strategy::Definition)
    }

    /// True when field selectors may use a field.
    pub fn selects_by(&self, field: &str) -> bool {
        matches!(field, "metadata.name" | "metadata.namespace")
            || self.strategy.selectable_fields().contains(&field)
            || self
                .selectable
                .iter()
                .any(|path| path.source.trim_start_matches('.') == field)
    }

    /// The value that field selectors compare; empty when the field is missing.
    pub fn selectable_value(&self, field: &str, object: &Value) -> String {
        let own = self
            .selectable
            .iter()
            .find(|path| path.source.trim_start_matches('.') == field);
        let value = match own {
            Some(path) => path.first(object),
            None => {
                let names: Vec<&str> = self.strategy.field_path(field).split('.').collect();
                object::at(object, &names)
            }
        };
        match value {
            None | Some(Value::Null) => match field {
                "spec.unschedulable" => "false".to_owned(),
                _ => String::new(),
            },
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    pub fn verbs(&self) -> &'static [&'static str] {
        if !self.strategy.is_stored() {
            return &["create"];
        }
        if self.strategy.is_read_only() {
            return &["get", "list", "watch"];
        }
        &[
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ]
    }

    /// Subresources: name, apiVersion and kind of the answer, verbs.
    pub fn subresources(&self) -> Vec<(&'static str, String, String, &'static [&'static str])> {
        let mut found: Vec<(&'static str, String, String, &'static [&'static str])> = Vec::new();
        let own = |name| {
            (
                name,
                self.api_version(),
                self.kind.clone(),
                &["get", "patch", "update"][..],
            )
        };
        if self.has_status {
            found.push(own("status"));
        }
        if self.scale.is_some() {
            found.push((
                "scale",
                "autoscaling/v1".into(),
                "Scale".into(),
                &["get", "patch", "update"],
            ));
        }
        match self.strategy {
            Strategy::Namespace => {
                found.push(("finalize", self.api_version(), self.kind.clone(), &["update"]))
            }
            Strategy::SigningRequest => found.push(own("approval")),
            _ => {}
        }
        found
    }
}
