//! Generates the CustomResourceDefinitions from the types of this crate.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresourceStatus, CustomResourceSubresources,
    CustomResourceValidation, JSONSchemaProps,
};
use kube::CustomResourceExt;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{
    Agent, AgentClassification, AgentCluster, AgentClusterInstall, AgentClusterTemplate, AgentMachine,
    AgentMachineTemplate, AgentQuota, AgentRemediation, AgentRemediationTemplate, Bmc, ClusterDeployment,
    ClusterImageSet, InfraEnv, NMStateConfig, schema,
};

/// The kinds that Muster owns.
pub fn own() -> Vec<CustomResourceDefinition> {
    vec![
        definition::<Agent>(Spec::Optional),
        definition::<AgentClassification>(Spec::Optional),
        definition::<AgentClusterInstall>(Spec::Required),
        definition::<InfraEnv>(Spec::Optional),
        definition::<NMStateConfig>(Spec::Optional),
        definition::<Bmc>(Spec::Required),
        definition::<AgentQuota>(Spec::Required),
        of_provider(definition::<AgentCluster>(Spec::Optional)),
        of_contract(without_status(definition::<AgentClusterTemplate>(Spec::Optional))),
        of_provider(definition::<AgentMachine>(Spec::Optional)),
        of_provider(definition::<AgentMachineTemplate>(Spec::Optional)),
        // A MachineHealthCheck names their version, so they need no labels and no older version.
        definition::<AgentRemediation>(Spec::Optional),
        without_status(definition::<AgentRemediationTemplate>(Spec::Optional)),
    ]
}

/// Kinds that Muster reads, for Kubernetes clusters in which their owners are not installed.
pub fn foreign() -> Vec<CustomResourceDefinition> {
    vec![
        definition::<ClusterDeployment>(Spec::Optional),
        definition::<ClusterImageSet>(Spec::Optional),
    ]
}

/// Labels by which Cluster API identifies the kinds of a provider, and the contracts that they follow: of the last two, the newest that
/// a version of Cluster API knows. They decide which members of a status are read: `ready`, or `initialization`
/// (docs/protocol/capi-agent-provider.md#7, docs/protocol/capi-day1.md, section 1).
const PROVIDER_LABELS: [(&str, &str); 4] = [
    ("cluster.x-k8s.io/provider", "agent"),
    ("cluster.x-k8s.io/v1beta1", "v1beta1"),
    ("cluster.x-k8s.io/v1beta2", "v1beta1"),
    // `clusterctl move` takes objects of such kinds along that hang on a Cluster by their owners, as those of all four kinds do. It puts the
    // label on what it installs itself; here it counts for other ways to install, too.
    ("clusterctl.cluster.x-k8s.io", ""),
];

/// Labels of older contracts, on kinds that follow them.
const OLD_PROVIDER_LABELS: [(&str, &str); 2] = [
    ("cluster.x-k8s.io/v1alpha3", "v1alpha1"),
    ("cluster.x-k8s.io/v1alpha4", "v1alpha1"),
];

/// The version of the provider's kinds for old clients. Its content is the same.
const OLD_PROVIDER_VERSION: &str = "v1alpha1";

/// A kind of the Cluster API provider.
fn of_contract(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let labels = PROVIDER_LABELS.map(|(key, value)| (key.to_owned(), value.to_owned()));
    definition.metadata.labels = Some(BTreeMap::from(labels));
    definition
}

/// A kind of the Cluster API provider that old clients know, too.
fn of_provider(definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut definition = of_contract(definition);
    let old = OLD_PROVIDER_LABELS.map(|(key, value)| (key.to_owned(), value.to_owned()));
    definition.metadata.labels.get_or_insert_default().extend(old);
    if let Some(newest) = definition.spec.versions.first() {
        let mut old = newest.clone();
        old.deprecation_warning = Some(format!(
            "{}/{OLD_PROVIDER_VERSION} {} is deprecated; use {}",
            definition.spec.group, definition.spec.names.kind, newest.name
        ));
        OLD_PROVIDER_VERSION.clone_into(&mut old.name);
        old.deprecated = Some(true);
        old.storage = false;
        definition.spec.versions.insert(0, old);
    }
    definition
}

/// A kind without a status.
fn without_status(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        version.subresources = Some(CustomResourceSubresources::default());
    }
    definition
}

/// Kinds of Cluster API, HyperShift and Metal3 that the built-in Kubernetes API serves, as JSON. A cluster uses the definitions of their
/// owners.
///
/// # Panics
/// Never: the files are a part of this crate, and a test reads them.
pub fn builtin() -> Vec<Value> {
    let files = [
        include_str!("../../crds/builtin/cluster.x-k8s.io_clusters.yaml"),
        include_str!("../../crds/builtin/cluster.x-k8s.io_machines.yaml"),
        include_str!("../../crds/builtin/hypershift.openshift.io_hostedclusters.yaml"),
        include_str!("../../crds/builtin/hypershift.openshift.io_hostedcontrolplanes.yaml"),
        include_str!("../../crds/builtin/hypershift.openshift.io_nodepools.yaml"),
        include_str!("../../crds/builtin/metal3.io_baremetalhosts.yaml"),
        include_str!("../../crds/builtin/metal3.io_preprovisioningimages.yaml"),
    ];
    files
        .into_iter()
        .map(|file| serde_saphyr::from_str(file).expect("a definition of this crate is YAML"))
        .collect()
}

/// Validation of an object without `spec`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Spec {
    Required,
    Optional,
}

/// The definition that `kube` derives, with the schema that [`schema::of`] makes.
fn definition<K: CustomResourceExt + JsonSchema>(spec: Spec) -> CustomResourceDefinition {
    let mut definition = K::crd();
    let names = &mut definition.spec.names;
    names.list_kind = Some(format!("{}List", names.kind));
    let mut schema = schema::of::<K>();
    if spec == Spec::Optional
        && let Some(object) = schema.as_object_mut()
    {
        object.remove("required");
    }
    let schema: JSONSchemaProps =
        serde_json::from_value(schema).expect("what a schema is made of is known at compile time");
    for version in &mut definition.spec.versions {
        version.schema = Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema.clone()),
        });
        // NMStateConfigs have the subresource without a status.
        version
            .subresources
            .get_or_insert_with(|| CustomResourceSubresources {
                scale: None,
                status: Some(CustomResourceSubresourceStatus(json!({}))),
            });
        for column in version.additional_printer_columns.iter_mut().flatten() {
            column.priority = column.priority.filter(|priority| *priority != 0);
        }
    }
    definition
}

/// A definition as one YAML document.
pub fn to_yaml(definition: &CustomResourceDefinition) -> String {
    let mut value = serde_json::to_value(definition).expect("definitions are plain data");
    whole_numbers(&mut value);
    serde_saphyr::to_string(&value).expect("JSON can be written as YAML")
}

/// Bounds of integers are floating-point numbers in Kubernetes' types; they are written as integers.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < 1e15)
            {
                #[allow(clippy::cast_possible_truncation, reason = "a whole number below 10^15")]
                {
                    *value = json!(float as i64);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The file that a definition is kept in: `<group>_<plural>.yaml`.
pub fn file_name(definition: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", definition.spec.group, definition.spec.names.plural)
}

#[cfg(test)]
mod tests;
