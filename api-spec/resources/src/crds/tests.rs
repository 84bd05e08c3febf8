//! Compares the definitions with the facts, and the checked-in files with the definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::*;

const AGENTS: &str = "agents.agent-install.openshift.io";
const INFRA_ENVS: &str = "infraenvs.agent-install.openshift.io";
const AGENT_MACHINE_TEMPLATES: &str = "agentmachinetemplates.capi-provider.agent-install.openshift.io";
const CLUSTER_DEPLOYMENTS: &str = "clusterdeployments.hive.openshift.io";
const AGENT_CLUSTERS: &str = "agentclusters.capi-provider.agent-install.openshift.io";
const AGENT_MACHINES: &str = "agentmachines.capi-provider.agent-install.openshift.io";
const OF_CONTRACT: &str = "Cluster API copies it to the objects that it makes";
const FROM_ZERO: &str = "autoscalers start from no Machine by it";

/// Deliberate differences of a definition from the facts: its name, path, attribute, reason.
const DEVIATIONS: &[(&str, &str, &str, &str)] = &[
    (
        "agents.agent-install.openshift.io",
        "status.observedGeneration",
        "field",
        "kubectl wait tells by it whether conditions are about the spec that was just written",
    ),
    (
        "infraenvs.agent-install.openshift.io",
        "status.observedGeneration",
        "field",
        "kubectl wait tells by it whether conditions are about the spec that was just written",
    ),
    (
        AGENTS,
        "status.failures",
        "field",
        "it says why AgentMachines take other Agents",
    ),
    (
        AGENTS,
        "status.failures.count",
        "field",
        "it says why AgentMachines take other Agents",
    ),
    (
        AGENTS,
        "status.failures.lastTime",
        "field",
        "it says why AgentMachines take other Agents",
    ),
    (
        AGENTS,
        "status.failures.message",
        "field",
        "it says why AgentMachines take other Agents",
    ),
    (
        AGENTS,
        "status.failures.untilTime",
        "field",
        "it says why AgentMachines take other Agents",
    ),
    (
        AGENTS,
        "status.failures.quarantined",
        "field",
        "it says why AgentMachines take other Agents",
    ),
    (
        AGENTS,
        "status.cleaning",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.state",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.message",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.depth",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.since",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.untilTime",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[]",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].id",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].serial",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].wwn",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].sizeBytes",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].state",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].method",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].bytesDone",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].seconds",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].samples",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        AGENTS,
        "status.cleaning.disks[].message",
        "field",
        "it says why AgentMachines take other Agents, and that the disks were erased",
    ),
    (
        INFRA_ENVS,
        "spec.cleaning",
        "field",
        "it chooses how the disks of hosts are erased that leave a cluster",
    ),
    (
        INFRA_ENVS,
        "spec.cleaning.depth",
        "field",
        "it chooses how the disks of hosts are erased that leave a cluster",
    ),
    (
        INFRA_ENVS,
        "spec.cleaning.overwrite",
        "field",
        "it chooses how the disks of hosts are erased that leave a cluster",
    ),
    (
        INFRA_ENVS,
        "spec.cleaning.allDisks",
        "field",
        "it chooses how the disks of hosts are erased that leave a cluster",
    ),
    (
        AGENTS,
        "status.sleep",
        "field",
        "a host that is off stays a candidate, and it must be seen that it is off",
    ),
    (
        AGENTS,
        "status.sleep.stage",
        "field",
        "a host that is off stays a candidate, and it must be seen that it is off",
    ),
    (
        AGENTS,
        "status.sleep.sinceTime",
        "field",
        "a host that is off stays a candidate, and it must be seen that it is off",
    ),
    (
        AGENTS,
        "status.sleep.message",
        "field",
        "a host that is off stays a candidate, and it must be seen that it is off",
    ),
    (
        AGENTS,
        "status.sleep.inventoryTime",
        "field",
        "a host that is off stays a candidate, and it must be seen that it is off",
    ),
    (
        INFRA_ENVS,
        "spec.idleAfter",
        "field",
        "machines that wait for a cluster need no power",
    ),
    (
        INFRA_ENVS,
        "spec.warmSpares",
        "field",
        "machines that wait for a cluster need no power",
    ),
    (
        INFRA_ENVS,
        "spec.quietHours",
        "field",
        "machines that wait for a cluster need no power",
    ),
    (
        AGENT_MACHINES,
        "status.reinstall",
        "field",
        "a node is installed again in its cluster, which nothing upstream does",
    ),
    (
        AGENT_MACHINES,
        "status.reinstall.message",
        "field",
        "a node is installed again in its cluster, which nothing upstream does",
    ),
    (
        AGENT_MACHINES,
        "status.reinstall.phase",
        "field",
        "a node is installed again in its cluster, which nothing upstream does",
    ),
    (
        AGENT_MACHINES,
        "status.reinstall.requested",
        "field",
        "a node is installed again in its cluster, which nothing upstream does",
    ),
    (
        AGENT_MACHINES,
        "spec.architecture",
        "field",
        "a pool of arm64 must not take an amd64 Agent",
    ),
    (
        AGENT_MACHINE_TEMPLATES,
        "spec.template.spec.architecture",
        "field",
        "a pool of arm64 must not take an amd64 Agent",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "spec",
        "preserveUnknownFields",
        "Hive has more fields than the facts list; none must be dropped",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "spec.platform",
        "preserveUnknownFields",
        "platforms other than agentBareMetal are Hive's",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "spec.clusterMetadata",
        "preserveUnknownFields",
        "Hive has more fields",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "spec.clusterPoolRef",
        "preserveUnknownFields",
        "its fields are not listed",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "spec.controlPlaneConfig",
        "preserveUnknownFields",
        "Hive has more fields",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "spec.provisioning",
        "preserveUnknownFields",
        "its fields are not listed",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "status",
        "preserveUnknownFields",
        "Hive has more fields",
    ),
    (
        CLUSTER_DEPLOYMENTS,
        "status.platformStatus",
        "preserveUnknownFields",
        "its fields are not listed",
    ),
    (
        AGENT_CLUSTERS,
        "status.initialization",
        "field",
        "it tells clients of the newer contract of Cluster API what `ready` tells the others",
    ),
    (
        AGENT_CLUSTERS,
        "status.initialization.provisioned",
        "field",
        "it tells clients of the newer contract of Cluster API what `ready` tells the others",
    ),
    (
        AGENT_MACHINES,
        "status.initialization",
        "field",
        "it tells clients of the newer contract of Cluster API what `ready` tells the others",
    ),
    (
        AGENT_MACHINES,
        "status.initialization.provisioned",
        "field",
        "it tells clients of the newer contract of Cluster API what `ready` tells the others",
    ),
    (
        AGENT_MACHINES,
        "status.candidates",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidates[]",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidates[].name",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidates[].namespace",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidates[].reason",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidates[].message",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidatesOmitted",
        "field",
        "it says why an Agent was not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidateReasons",
        "field",
        "it says why Agents were not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidateReasons[]",
        "field",
        "it says why Agents were not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidateReasons[].agents",
        "field",
        "it says why Agents were not taken",
    ),
    (
        AGENT_MACHINES,
        "status.candidateReasons[].reason",
        "field",
        "it says why Agents were not taken",
    ),
    (
        AGENT_MACHINES,
        "status.failureDomain",
        "field",
        "it says where the Agent is",
    ),
    (
        AGENT_MACHINES,
        "spec.osImage",
        "field",
        "it chooses the image for the disk",
    ),
    (
        AGENT_MACHINE_TEMPLATES,
        "spec.template.spec.osImage",
        "field",
        "it chooses the image for the disk",
    ),
    (
        AGENT_MACHINE_TEMPLATES,
        "spec.template.metadata",
        "field",
        OF_CONTRACT,
    ),
    (
        AGENT_MACHINE_TEMPLATES,
        "spec.template.metadata.labels",
        "field",
        OF_CONTRACT,
    ),
    (
        AGENT_MACHINE_TEMPLATES,
        "spec.template.metadata.annotations",
        "field",
        OF_CONTRACT,
    ),
    (AGENT_MACHINE_TEMPLATES, "status", "field", FROM_ZERO),
    (AGENT_MACHINE_TEMPLATES, "status.capacity", "field", FROM_ZERO),
    (AGENT_MACHINE_TEMPLATES, "status.nodeInfo", "field", FROM_ZERO),
    (
        AGENT_MACHINE_TEMPLATES,
        "status.nodeInfo.architecture",
        "field",
        FROM_ZERO,
    ),
    (
        AGENT_MACHINE_TEMPLATES,
        "status.nodeInfo.operatingSystem",
        "field",
        FROM_ZERO,
    ),
];

/// Keywords of schemas, and what the facts call them.
const ATTRIBUTES: [(&str, &str); 17] = [
    ("type", "type"),
    ("format", "format"),
    ("default", "default"),
    ("enum", "enum"),
    ("pattern", "pattern"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("minItems", "minItems"),
    ("maxItems", "maxItems"),
    ("minLength", "minLength"),
    ("maxLength", "maxLength"),
    ("minProperties", "minProperties"),
    ("nullable", "nullable"),
    ("x-kubernetes-list-map-keys", "listMapKeys"),
    ("x-kubernetes-map-type", "mapType"),
    ("x-kubernetes-list-type", "listType"),
    ("x-kubernetes-preserve-unknown-fields", "preserveUnknownFields"),
];

/// Path to what is declared there, in the conventions of the facts.
type Fields = BTreeMap<String, Map<String, Value>>;

/// The kinds of the facts with a type here.
const KINDS: [&str; 10] = [
    "Agent",
    "InfraEnv",
    "NMStateConfig",
    "AgentClassification",
    "AgentClusterInstall",
    "ClusterDeployment",
    "ClusterImageSet",
    "AgentCluster",
    "AgentMachine",
    "AgentMachineTemplate",
];

fn facts() -> Vec<Value> {
    let facts = include_str!("../../../../docs/protocol/crd-fields.json");
    let mut facts: Value = serde_json::from_str(facts).unwrap();
    let mut kinds = facts["crds"].as_array_mut().map(std::mem::take).unwrap();
    kinds.retain(|fact| KINDS.iter().any(|kind| fact["kind"] == *kind));
    assert_eq!(kinds.len(), KINDS.len());
    kinds
}

fn generated() -> Vec<Value> {
    let all = own().into_iter().chain(foreign());
    all.map(|definition| {
        let mut value = serde_json::to_value(definition).unwrap();
        whole_numbers(&mut value);
        value
    })
    .collect()
}

/// Writes down `schema` and what is below it. `required`: whether its parent requires it.
fn collect(schema: &Value, path: &str, required: bool, fields: &mut Fields) {
    let mut field = Map::new();
    for (keyword, value) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "description" | "required" => {}
            "properties" => {
                let required = schema["required"].as_array().into_iter().flatten();
                let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
                for (member, schema) in value.as_object().unwrap() {
                    let path = if path.is_empty() {
                        member.clone()
                    } else {
                        format!("{path}.{member}")
                    };
                    collect(schema, &path, required.contains(member.as_str()), fields);
                }
            }
            "items" => elements(value, "items", &format!("{path}[]"), &mut field, fields),
            "additionalProperties" => elements(value, "mapOf", &format!("{path}{{}}"), &mut field, fields),
            "x-kubernetes-validations" => {
                field.insert("celRules".into(), value.as_array().unwrap().len().into());
            }
            _ => {
                let attribute = ATTRIBUTES.iter().find(|(of_schema, _)| of_schema == keyword);
                let (_, attribute) =
                    attribute.unwrap_or_else(|| panic!("{path}: the facts have no word for {keyword}"));
                field.insert((*attribute).to_owned(), value.clone());
            }
        }
    }
    if required {
        field.insert("required".into(), true.into());
    }
    if !path.is_empty() {
        fields.insert(path.to_owned(), field);
    }
}

/// Elements of lists and maps: scalars are an attribute of the field, everything else is a field itself.
fn elements(
    schema: &Value,
    attribute: &str,
    path: &str,
    field: &mut Map<String, Value>,
    fields: &mut Fields,
) {
    let is_scalar = !matches!(schema["type"].as_str(), Some("object" | "array"));
    if is_scalar || attribute == "mapOf" {
        field.insert(attribute.into(), schema["type"].clone());
    }
    if !is_scalar {
        collect(schema, path, false, fields);
    }
}

/// Each difference of two objects by attribute, as (path, attribute, expected, found).
fn differences(expected: &Fields, found: &Fields) -> Vec<(String, String, Value, Value)> {
    let paths: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let mut differences = Vec::new();
    for path in paths {
        let (Some(expected), Some(found)) = (expected.get(path), found.get(path)) else {
            let is_expected = expected.contains_key(path);
            differences.push((
                path.clone(),
                "field".into(),
                is_expected.into(),
                (!is_expected).into(),
            ));
            continue;
        };
        let attributes: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for attribute in attributes {
            let (expected, found) = (expected.get(attribute), found.get(attribute));
            if expected != found {
                let value = |value: Option<&Value>| value.cloned().unwrap_or_default();
                differences.push((path.clone(), attribute.clone(), value(expected), value(found)));
            }
        }
    }
    differences
}

/// The definitions of kinds that upstream has; for a kind of Muster's own there are no facts to compare with.
fn upstream(facts: &[Value]) -> Vec<Value> {
    let is_upstream = |definition: &Value| {
        let name = &definition["metadata"]["name"];
        facts.iter().any(|fact| fact["name"] == *name)
    };
    generated().into_iter().filter(is_upstream).collect()
}

#[test]
fn every_field_of_each_definition_is_as_the_facts_have_it_and_no_other_is_there() {
    let facts = facts();
    let mut unused: BTreeSet<_> = DEVIATIONS
        .iter()
        .map(|(name, path, what, _)| (*name, *path, *what))
        .collect();
    let mut wrong = Vec::new();
    for definition in upstream(&facts) {
        let name = definition["metadata"]["name"].as_str().unwrap();
        let fact = facts.iter().find(|fact| fact["name"] == name).unwrap();
        // Versions with the same fields are listed with those of one of them.
        let versions = fact["versions"].as_array().unwrap();
        let listed = versions.iter().position(|version| version["fields"].is_object());
        let listed = listed.unwrap();
        let expected: Fields = serde_json::from_value(versions[listed]["fields"].clone()).unwrap();
        let mut found = Fields::new();
        let schema = &definition["spec"]["versions"][listed]["schema"]["openAPIV3Schema"];
        collect(schema, "", false, &mut found);
        assert!(
            found.len() >= expected.len().min(3),
            "{name}: fields were collected"
        );
        for (path, attribute, expected, found) in differences(&expected, &found) {
            let known = unused
                .iter()
                .find(|(of, at, what)| *of == name && *at == path && *what == attribute)
                .copied();
            match known {
                Some(known) => drop(unused.remove(&known)),
                None => wrong.push(format!(
                    "{name} {path} {attribute}: {expected} in the facts, {found} here"
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unused.is_empty(), "deviations that are none: {unused:?}");
}

#[test]
fn names_scope_subresources_and_columns_are_those_of_the_facts() {
    let facts = facts();
    let definitions = upstream(&facts);
    assert_eq!(definitions.len(), facts.len());
    for definition in definitions {
        let name = definition["metadata"]["name"].as_str().unwrap();
        let fact = facts.iter().find(|fact| fact["name"] == name).unwrap();
        let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
        let listed = |value: &Value| value.as_array().cloned().unwrap_or_default();
        assert_eq!(spec["group"], fact["group"], "{name}");
        assert_eq!(spec["scope"], fact["scope"], "{name}");
        for key in ["kind", "listKind", "plural", "singular"] {
            assert_eq!(names[key], fact[key], "{name} {key}");
        }
        for key in ["shortNames", "categories"] {
            assert_eq!(listed(&names[key]), listed(&fact[key]), "{name} {key}");
        }
        let (versions, expected) = (listed(&spec["versions"]), listed(&fact["versions"]));
        assert_eq!(versions.len(), expected.len(), "{name}");
        for (version, expected) in versions.iter().zip(&expected) {
            for key in ["name", "served", "storage", "deprecated"] {
                assert_eq!(version[key], expected[key], "{name} {key}");
            }
            // Upstream's templates have no status.
            let subresources = if name == AGENT_MACHINE_TEMPLATES {
                &json!({"status": {}})
            } else {
                &expected["subresources"]
            };
            assert_eq!(&version["subresources"], subresources, "{name}");
            let columns = listed(&version["additionalPrinterColumns"]);
            let columns: Vec<Value> = columns.into_iter().map(column).collect();
            let mut expected = listed(&expected["additionalPrinterColumns"]);
            if name == "agents.agent-install.openshift.io" {
                expected.extend(OWN_COLUMNS_OF_AGENTS.map(own_column));
            }
            assert_eq!(columns, expected, "{name}");
        }
    }
}

/// Columns that Muster adds after those of the facts, because an unfit host looked like a fit one. Name and member of the condition
/// `RequirementsMet`.
const OWN_COLUMNS_OF_AGENTS: [(&str, &str); 2] = [("Requirements", "reason"), ("Why", "message")];

fn own_column((name, member): (&str, &str)) -> Value {
    let path = format!(".status.conditions[?(@.type=='RequirementsMet')].{member}");
    json!({"name": name, "jsonPath": path, "type": "string", "priority": 1})
}

/// A column as the facts have it: without descriptions, with its priority.
fn column(mut column: Value) -> Value {
    let members = column.as_object_mut().unwrap();
    members.remove("description");
    members.entry("priority").or_insert(0.into());
    column
}

#[test]
fn every_field_is_explained() {
    fn walk(schema: &Value, path: &str, silent: &mut Vec<String>) {
        for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{member}");
            if schema["description"].as_str().is_none_or(str::is_empty) {
                silent.push(path.clone());
            }
            walk(schema, &path, silent);
        }
        for below in ["items", "additionalProperties"] {
            if schema[below].is_object() {
                walk(&schema[below], &format!("{path}[]"), silent);
            }
        }
    }
    let mut silent = Vec::new();
    for definition in generated() {
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        assert!(schema["description"].is_string(), "{kind}");
        walk(schema, kind, &mut silent);
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn what_is_checked_in_is_what_is_generated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds");
    for (definitions, folder) in [(own(), folder.clone()), (foreign(), folder.join("foreign"))] {
        let mut expected = BTreeSet::new();
        for definition in definitions {
            let name = file_name(&definition);
            let text = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
            assert!(
                text == to_yaml(&definition),
                "{name} is stale: muster crds --all --dir api-spec/crds"
            );
            expected.insert(name);
        }
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
        let files = files.filter(|entry| entry.file_type().unwrap().is_file());
        let files: BTreeSet<String> = files
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        assert_eq!(files, expected);
    }
}

#[test]
fn a_definition_reads_from_its_yaml_as_it_was() {
    for definition in own().into_iter().chain(foreign()) {
        let read: CustomResourceDefinition = serde_saphyr::from_str(&to_yaml(&definition)).unwrap();
        assert_eq!(read, definition);
    }
}

/// Cluster API reads the members of a status by the newest contract that the labels name.
#[test]
fn each_kind_of_the_provider_says_which_contracts_it_follows() {
    let provided: Vec<Value> = generated()
        .into_iter()
        .filter(|one| one["spec"]["group"] == crate::names::group::CAPI_PROVIDER)
        .collect();
    let kinds: Vec<&str> = provided
        .iter()
        .map(|one| one["spec"]["names"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "AgentCluster",
            "AgentClusterTemplate",
            "AgentMachine",
            "AgentMachineTemplate",
            "AgentRemediation",
            "AgentRemediationTemplate",
        ]
    );
    // MachineHealthChecks name the version of remediations.
    for one in &provided[..4] {
        let (labels, kind) = (&one["metadata"]["labels"], &one["spec"]["names"]["kind"]);
        for contract in ["v1beta1", "v1beta2"] {
            assert_eq!(
                labels[format!("cluster.x-k8s.io/{contract}")],
                "v1beta1",
                "{kind}"
            );
        }
        assert_eq!(labels["clusterctl.cluster.x-k8s.io"], "", "{kind}");
        let newest = one["spec"]["versions"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (&newest["name"], &newest["storage"]),
            (&json!("v1beta1"), &json!(true))
        );
        let status = &newest["schema"]["openAPIV3Schema"]["properties"]["status"];
        if !kind.as_str().unwrap().ends_with("Template") {
            let provisioned = &status["properties"]["initialization"]["properties"]["provisioned"];
            assert_eq!(provisioned["type"], "boolean", "{kind}");
            let conditions = &status["properties"]["conditions"]["items"]["properties"];
            assert!(conditions["observedGeneration"].is_object(), "{kind}");
        }
    }
}
