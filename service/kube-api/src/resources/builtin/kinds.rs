//! The list of built-in kinds.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::columns;
use super::definitions::{DEFINITIONS, schema};
use crate::object;
use crate::resources::table::Columns;
use crate::resources::{Resource, Strategy};

static RESOURCES: LazyLock<Vec<Arc<Resource>>> =
    LazyLock::new(|| KINDS.iter().map(|kind| Arc::new(kind.resource())).collect());

pub fn resources() -> &'static [Arc<Resource>] {
    &RESOURCES
}

const KINDS: &[Kind] = &[
    Kind::cluster(Strategy::Namespace, "", "namespaces", "Namespace")
        .short(&["ns"])
        .with_status(),
    Kind::namespaced(Strategy::Secret, "", "secrets", "Secret"),
    Kind::namespaced(Strategy::ConfigMap, "", "configmaps", "ConfigMap").short(&["cm"]),
    Kind::namespaced(Strategy::Event, "", "events", "Event").short(&["ev"]),
    Kind::cluster(Strategy::Node, "", "nodes", "Node")
        .short(&["no"])
        .with_status(),
    Kind::namespaced(Strategy::Service, "", "services", "Service").short(&["svc"]),
    Kind::namespaced(Strategy::Lease, "coordination.k8s.io", "leases", "Lease"),
    Kind::namespaced(Strategy::GroupedEvent, "events.k8s.io", "events", "Event").short(&["ev"]),
    Kind::cluster(
        Strategy::SigningRequest,
        "certificates.k8s.io",
        "certificatesigningrequests",
        "CertificateSigningRequest",
    )
    .short(&["csr"])
    .with_status(),
    Kind::cluster(
        Strategy::Definition,
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinition",
    )
    .short(&["crd", "crds"])
    .with_status(),
    Kind::cluster(
        Strategy::Identity,
        "authentication.k8s.io",
        "selfsubjectreviews",
        "SelfSubjectReview",
    ),
    Kind::cluster(
        Strategy::Access,
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
    ),
    Kind::cluster(
        Strategy::Rules,
        "authorization.k8s.io",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
    ),
    Kind::cluster(
        Strategy::Access,
        "authorization.k8s.io",
        "subjectaccessreviews",
        "SubjectAccessReview",
    ),
];

/// A built-in kind; all are served in version `v1`.
struct Kind {
    strategy: Strategy,
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    has_status: bool,
}

impl Kind {
    const fn cluster(
        strategy: Strategy,
        group: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self {
            strategy,
            group,
            plural,
            kind,
            short_names: &[],
            namespaced: false,
            has_status: false,
        }
    }

    const fn namespaced(
        strategy: Strategy,
        group: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        let mut own = Self::cluster(strategy, group, plural, kind);
        own.namespaced = true;
        own
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn with_status(mut self) -> Self {
        self.has_status = true;
        self
    }

    /// The name of its published schema.
    fn definition(&self) -> String {
        let package = match self.group {
            "" => "io.k8s.api.core",
            "apiextensions.k8s.io" => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
            group => &format!("io.k8s.api.{}", group.trim_end_matches(".k8s.io")),
        };
        format!("{package}.v1.{}", self.kind)
    }

    fn resource(&self) -> Resource {
        // Both kinds of events are the same stored objects.
        let is_grouped_event = self.strategy == Strategy::GroupedEvent;
        let storage_group = if is_grouped_event { "" } else { self.group };
        let storage_name = match storage_group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        };
        let definition = self.definition();
        let mut open_api = DEFINITIONS.get(&definition).cloned().unwrap_or_default();
        let gvk = json!([{"group": self.group, "version": "v1", "kind": self.kind}]);
        object::set_member(&mut open_api, "x-kubernetes-group-version-kind", Some(gvk));
        let categories: &[&str] = match self.strategy {
            Strategy::Definition => &["api-extensions"],
            _ => &[],
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Resource {
            group: self.group.into(),
            version: "v1".into(),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            short_names: texts(self.short_names),
            categories: texts(categories),
            namespaced: self.namespaced,
            storage_name: storage_name.into(),
            storage_api_version: object::api_version(storage_group, "v1"),
            is_stored_as_served: !is_grouped_event,
            converter: None,
            strategy: self.strategy,
            schema: schema(&definition),
            open_api,
            columns: Columns::BuiltIn(columns::of(self.strategy)),
            has_status: self.has_status,
            scale: None,
            selectable: Vec::new(),
            deprecation: None,
            declaration: 0,
        }
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
