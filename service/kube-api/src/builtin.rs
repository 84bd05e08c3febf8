//! The built-in kinds: data that everybody expects an API server to keep. No workload runs, no account is checked.

mod columns;
mod content;

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use crate::metadata::NameRule;
use crate::object;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::table::Columns;

pub use content::{complete, keep_on_update, validate};

/// Shapes of the built-in kinds (see `facts/extract.py`).
static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../facts/builtin-schemas.json"))
        .expect("a file of this crate, read by its tests")
});

static RESOURCES: LazyLock<Vec<Arc<Resource>>> =
    LazyLock::new(|| KINDS.iter().map(|kind| Arc::new(kind.resource())).collect());

/// What is special about a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Declared by a CRD; nothing.
    Custom,
    /// Its end is the end of what is in it.
    Namespace,
    /// `stringData` becomes `data`; it has a type.
    Secret,
    /// Can be made immutable.
    ConfigMap,
    /// An event of the core group.
    Event,
    /// The same events as `events.k8s.io` shows them.
    GroupedEvent,
    /// Who leads.
    Lease,
    /// A name.
    ServiceAccount,
    /// A machine.
    Node,
    /// Carries who asked.
    SigningRequest,
    /// Declares resources.
    Definition,
    /// Asked, not kept: who am I?
    Identity,
    /// Asked, not kept: may I, or may somebody?
    Access,
}

impl Nature {
    /// Fields besides name and namespace that field selectors may ask for.
    pub fn selectable_fields(self) -> &'static [&'static str] {
        match self {
            Self::Namespace => &["status.phase"],
            Self::Secret => &["type"],
            Self::Event => &[
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ],
            Self::GroupedEvent => &[
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            ],
            Self::Node => &["spec.unschedulable"],
            Self::SigningRequest => &["spec.signerName"],
            Self::Custom
            | Self::ConfigMap
            | Self::Lease
            | Self::ServiceAccount
            | Self::Definition
            | Self::Identity
            | Self::Access => &[],
        }
    }

    /// Where a field of [`Nature::selectable_fields`] stands in an object.
    pub fn field_path(self, field: &str) -> &str {
        match (self, field) {
            (Self::Event, "source") => "source.component",
            _ => field,
        }
    }

    /// How its objects are named.
    pub fn name_rule(self) -> NameRule {
        match self {
            Self::Namespace => NameRule::Label,
            _ => NameRule::Subdomain,
        }
    }

    /// Whether it may be replaced without saying which version is meant. Source: `AllowUnconditionalUpdate` of each strategy.
    pub fn replaces_blindly(self) -> bool {
        !matches!(self, Self::Custom | Self::Lease | Self::Definition)
    }

    /// Whether its objects are kept.
    pub fn is_kept(self) -> bool {
        !matches!(self, Self::Identity | Self::Access)
    }

    /// Whether it is read into a type of its own, so that values of a wrong JSON type cannot be understood (400).
    pub fn is_typed(self) -> bool {
        self != Self::Custom
    }
}

struct Kind {
    nature: Nature,
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    has_status: bool,
    definition: &'static str,
}

const fn core(
    nature: Nature,
    plural: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    definition: &'static str,
) -> Kind {
    Kind {
        nature,
        group: "",
        plural,
        kind,
        short_names: short,
        namespaced: true,
        has_status: false,
        definition,
    }
}

const KINDS: &[Kind] = &[
    Kind {
        namespaced: false,
        has_status: true,
        ..core(
            Nature::Namespace,
            "namespaces",
            "Namespace",
            &["ns"],
            "io.k8s.api.core.v1.Namespace",
        )
    },
    core(
        Nature::Secret,
        "secrets",
        "Secret",
        &[],
        "io.k8s.api.core.v1.Secret",
    ),
    core(
        Nature::ConfigMap,
        "configmaps",
        "ConfigMap",
        &["cm"],
        "io.k8s.api.core.v1.ConfigMap",
    ),
    core(
        Nature::Event,
        "events",
        "Event",
        &["ev"],
        "io.k8s.api.core.v1.Event",
    ),
    core(
        Nature::ServiceAccount,
        "serviceaccounts",
        "ServiceAccount",
        &["sa"],
        "io.k8s.api.core.v1.ServiceAccount",
    ),
    Kind {
        namespaced: false,
        has_status: true,
        ..core(Nature::Node, "nodes", "Node", &["no"], "io.k8s.api.core.v1.Node")
    },
    Kind {
        group: "coordination.k8s.io",
        ..core(
            Nature::Lease,
            "leases",
            "Lease",
            &[],
            "io.k8s.api.coordination.v1.Lease",
        )
    },
    Kind {
        group: "events.k8s.io",
        ..core(
            Nature::GroupedEvent,
            "events",
            "Event",
            &["ev"],
            "io.k8s.api.events.v1.Event",
        )
    },
    Kind {
        group: "certificates.k8s.io",
        namespaced: false,
        has_status: true,
        ..core(
            Nature::SigningRequest,
            "certificatesigningrequests",
            "CertificateSigningRequest",
            &["csr"],
            "io.k8s.api.certificates.v1.CertificateSigningRequest",
        )
    },
    Kind {
        group: "apiextensions.k8s.io",
        namespaced: false,
        has_status: true,
        ..core(
            Nature::Definition,
            "customresourcedefinitions",
            "CustomResourceDefinition",
            &["crd", "crds"],
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        )
    },
    Kind {
        group: "authentication.k8s.io",
        namespaced: false,
        ..core(
            Nature::Identity,
            "selfsubjectreviews",
            "SelfSubjectReview",
            &[],
            "io.k8s.api.authentication.v1.SelfSubjectReview",
        )
    },
    Kind {
        group: "authorization.k8s.io",
        namespaced: false,
        ..core(
            Nature::Access,
            "selfsubjectaccessreviews",
            "SelfSubjectAccessReview",
            &[],
            "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
        )
    },
    Kind {
        group: "authorization.k8s.io",
        namespaced: false,
        ..core(
            Nature::Access,
            "subjectaccessreviews",
            "SubjectAccessReview",
            &[],
            "io.k8s.api.authorization.v1.SubjectAccessReview",
        )
    },
];

impl Kind {
    fn resource(&self) -> Resource {
        // Both kinds of events are the same objects.
        let is_grouped_event = self.nature == Nature::GroupedEvent;
        let storage_group = if is_grouped_event { "" } else { self.group };
        let storage_name = match storage_group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        };
        let mut open_api = DEFINITIONS.get(self.definition).cloned().unwrap_or_default();
        let gvk = json!([{"group": self.group, "version": "v1", "kind": self.kind}]);
        object::set_member(&mut open_api, "x-kubernetes-group-version-kind", Some(gvk));
        Resource {
            group: self.group.into(),
            version: "v1".into(),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            short_names: self.short_names.iter().map(|name| (*name).to_owned()).collect(),
            categories: if self.nature == Nature::Definition {
                vec!["api-extensions".into()]
            } else {
                Vec::new()
            },
            namespaced: self.namespaced,
            storage_name: storage_name.into(),
            storage_api_version: object::api_version(storage_group, "v1"),
            is_stored_as_served: !is_grouped_event,
            nature: self.nature,
            schema: schema(self.definition),
            open_api,
            columns: Columns::BuiltIn(columns::of(self.nature)),
            has_status: self.has_status,
            scale: None,
            selectable: Vec::new(),
            deprecation: None,
        }
    }
}

/// The built-in resources.
pub fn resources() -> &'static [Arc<Resource>] {
    &RESOURCES
}

/// A compiled definition.
pub fn schema(definition: &str) -> Arc<Schema> {
    let schema = Schema::of_definition(&DEFINITIONS, definition);
    Arc::new(schema.unwrap_or_else(|error| unreachable!("the definitions are a file of this crate: {error}")))
}

/// A definition and all that it refers to.
pub fn definitions_below(name: &str) -> Map<String, Value> {
    let mut found = Map::new();
    let mut wanted = vec![name.to_owned()];
    let mut seen = HashSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(definition) = DEFINITIONS.get(&name) {
            references(definition, &mut wanted);
            found.insert(name, definition.clone());
        }
    }
    found
}

/// Adds the names that a schema refers to.
pub fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (member, value) in members {
                match value.as_str() {
                    Some(reference) if member == "$ref" => {
                        names.extend(reference.rsplit('/').next().map(str::to_owned));
                    }
                    _ => references(value, names),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_kind_has_a_schema_with_its_members() {
        for resource in resources() {
            assert!(
                resource.schema.properties.contains_key("metadata"),
                "{}",
                resource.plural
            );
            let metadata = &resource.schema.properties["metadata"];
            assert!(
                metadata.properties.contains_key("ownerReferences"),
                "{}",
                resource.plural
            );
        }
    }
}
