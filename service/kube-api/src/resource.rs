//! One resource in one version, as it is served.

use std::sync::Arc;

use serde_json::Value;

use crate::error::Subject;
use crate::jsonpath::Path;
use crate::object;
use crate::schema::Schema;
use crate::storage::Key;
use crate::strategy::Strategy;
use crate::table::Columns;

/// What is served under `/apis/GROUP/VERSION/PLURAL` (or `/api/v1/PLURAL`).
#[derive(Debug)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    /// Version within the group.
    pub version: String,
    /// Name in paths.
    pub plural: String,
    /// Name of one.
    pub singular: String,
    /// Name in objects.
    pub kind: String,
    /// Name in lists.
    pub list_kind: String,
    /// Names for the command line.
    pub short_names: Vec<String>,
    /// Such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// [`Key::resource`] of its objects, of all versions.
    pub storage_name: Arc<str>,
    /// The `apiVersion` that is stored.
    pub storage_api_version: String,
    /// Whether stored documents can be sent as they are.
    pub is_stored_as_served: bool,
    /// What is special about it.
    pub strategy: Strategy,
    /// What objects must look like, `metadata` included.
    pub schema: Arc<Schema>,
    /// The schema for clients.
    pub open_api: Value,
    /// What `kubectl get` shows.
    pub columns: Columns,
    /// Whether `/status` is apart.
    pub has_status: bool,
    /// Where `/scale` looks.
    pub scale: Option<Scale>,
    /// Fields besides name and namespace that field selectors may ask for.
    pub selectable: Vec<Path>,
    /// What clients of a deprecated version are told.
    pub deprecation: Option<String>,
}

/// Paths of the scale subresource.
#[derive(Debug, Clone)]
pub struct Scale {
    /// Wished number.
    pub spec_replicas: Path,
    /// Present number.
    pub status_replicas: Path,
    /// Label selector as text.
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

    /// Where an object is kept.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        Key {
            resource: self.storage_name.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// A stored object in this version.
    pub fn served(&self, mut stored: Value) -> Value {
        if self.strategy == Strategy::GroupedEvent {
            return crate::event::grouped(stored);
        }
        object::set_member(&mut stored, "apiVersion", Some(self.api_version().into()));
        stored
    }

    /// An object of this version as it is stored.
    pub fn as_stored(&self, mut served: Value) -> Value {
        if self.strategy == Strategy::GroupedEvent {
            return crate::event::ungrouped(served);
        }
        object::set_member(
            &mut served,
            "apiVersion",
            Some(self.storage_api_version.clone().into()),
        );
        served
    }

    /// Whether `generation` counts changes of its content.
    pub fn has_generation(&self) -> bool {
        matches!(self.strategy, Strategy::Custom | Strategy::Definition)
    }

    /// Whether field selectors may ask for a field.
    pub fn selects_by(&self, field: &str) -> bool {
        matches!(field, "metadata.name" | "metadata.namespace")
            || self.strategy.selectable_fields().contains(&field)
            || self
                .selectable
                .iter()
                .any(|path| path.source.trim_start_matches('.') == field)
    }

    /// A field's value as field selectors compare it; empty when it is not there.
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

    /// What discovery says can be done.
    pub fn verbs(&self) -> &'static [&'static str] {
        if !self.strategy.is_stored() {
            return &["create"];
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

    /// The subresources besides the object itself: name and kind with its group and version.
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
