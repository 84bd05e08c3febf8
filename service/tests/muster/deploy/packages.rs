//! The same manifests for clusterctl and as a Helm chart. Neither program is needed: what they put in place is put in place here, for the few
//! forms that the files have.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where a manifest has another form"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use muster_resources::{AgentCluster, AgentClusterTemplate, AgentMachineTemplate};
use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::{built, get, root, with_components};

const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// Runs a script of `.ci` that writes into a folder.
fn laid_out(script: &str, into: &Path) {
    let output = Command::new(root().join(".ci").join(script))
        .arg(into)
        .env("KUBECTL", muster_tests::kube::program("kubectl"))
        .output()
        .expect("the script runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents(text: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}"));
    all.into_iter().filter(|one| !one.is_null()).collect()
}

/// clusterctl takes kinds that it does not know for namespaced ones. Source: docs/protocol/capi-day1.md, section 1, "components".
#[test]
fn components_for_clusterctl_are_in_one_namespace_and_of_kinds_that_it_knows() {
    let objects = built("clusterctl");
    let mut kinds = BTreeSet::new();
    for ((kind, name), object) in &objects {
        kinds.insert(kind.as_str());
        let metadata = &object["metadata"];
        assert_eq!(
            metadata["labels"][PROVIDER], "infrastructure-muster",
            "{kind} {name}"
        );
        if let Some(namespace) = metadata["namespace"].as_str() {
            assert_eq!(namespace, "muster", "{kind} {name}");
        }
    }
    let known = [
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "CustomResourceDefinition",
        "Deployment",
        "Namespace",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
    ];
    assert_eq!(kinds, BTreeSet::from(known));
    let namespaces = objects.keys().filter(|(kind, _)| kind == "Namespace");
    assert_eq!(namespaces.count(), 1);
    let pod = &get(&objects, "Deployment", "muster")["spec"]["template"]["spec"];
    let [container] = pod["containers"].as_array().unwrap().as_slice() else {
        panic!("{pod}")
    };
    assert_eq!(container["name"], "manager");
    assert_eq!(container["image"], "${MUSTER_IMAGE:=localhost/muster:latest}");
    // The database's Secret is a part of it.
    let variables = container["env"].as_array().unwrap();
    let url = variables.iter().find(|one| one["name"] == "MUSTER_DATABASE_URL");
    let secret = url.unwrap()["valueFrom"]["secretKeyRef"]["name"]
        .as_str()
        .unwrap();
    let secret = get(&objects, "Secret", secret);
    assert_eq!(secret["stringData"]["url"], "${MUSTER_DATABASE_URL}");
    assert_eq!(container["args"], json!(["serve"]));
}

/// A group that is not of Cluster API's name is in no role of its controllers by itself.
#[test]
fn core_and_the_control_planes_of_kubeadm_may_make_what_templates_describe() {
    let objects = with_components(&["capi"]);
    let role = get(&objects, "ClusterRole", "muster-capi-provider-objects");
    for of in ["", "kubeadm.controlplane."] {
        let label = format!("{of}cluster.x-k8s.io/aggregate-to-manager");
        assert_eq!(role["metadata"]["labels"][&label], "true", "{label}");
    }
    let [rule] = role["rules"].as_array().unwrap().as_slice() else {
        panic!("{role}")
    };
    assert_eq!(
        rule["apiGroups"],
        json!([muster_resources::names::group::CAPI_PROVIDER])
    );
    assert_eq!(rule["resources"], json!(["*"]));
    let verbs: BTreeSet<&str> = rule["verbs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let needed = ["create", "delete", "get", "list", "patch", "update", "watch"];
    assert_eq!(verbs, BTreeSet::from(needed));
}

/// A template after clusterctl: variables have their own values, or one that can be seen.
fn filled(text: &str) -> String {
    let variable = Regex::new(r"\$\{([A-Z_]+)(?::=([^}]*))?\}").unwrap();
    let value = |found: &Captures<'_>| {
        let default = found.get(2).map(|default| default.as_str().to_owned());
        default.unwrap_or_else(|| format!("of-{}", found[1].to_ascii_lowercase().replace('_', "-")))
    };
    variable.replace_all(text, value).into_owned()
}

/// The objects of the stream that are of our kinds can be read, and those that others refer to are there.
fn assert_whole(name: &str, objects: &[Value]) {
    let of = |object: &Value| {
        (
            object["kind"].as_str().unwrap_or_default().to_owned(),
            object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let made: BTreeSet<(String, String)> = objects.iter().map(of).collect();
    for object in objects {
        let whole = object.clone();
        match object["kind"].as_str() {
            Some("AgentCluster") => {
                let read: AgentCluster = serde_json::from_value(whole).unwrap();
                assert!(read.spec.control_plane_endpoint.is_some(), "{name}");
            }
            Some("AgentClusterTemplate") => {
                drop(serde_json::from_value::<AgentClusterTemplate>(whole).unwrap())
            }
            Some("AgentMachineTemplate") => {
                drop(serde_json::from_value::<AgentMachineTemplate>(whole).unwrap())
            }
            _ => {}
        }
        let mut named = Vec::new();
        references(&object["spec"], &mut named);
        for reference in named {
            assert!(made.contains(&reference), "{name}: there is no {reference:?}");
        }
    }
}

/// Kind and name of every reference below.
fn references(value: &Value, found: &mut Vec<(String, String)>) {
    if let (Some(kind), Some(name)) = (value["kind"].as_str(), value["name"].as_str()) {
        found.push((kind.to_owned(), name.to_owned()));
    }
    match value {
        Value::Object(members) => members.values().for_each(|member| references(member, found)),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_repository_of_clusterctl_has_all_files_of_a_version() {
    let folder = tempfile::tempdir().unwrap();
    laid_out("clusterctl", folder.path());
    let version = env!("CARGO_PKG_VERSION");
    let files = folder
        .path()
        .join("infrastructure-muster")
        .join(format!("v{version}"));
    let metadata = documents(&read(&files.join("metadata.yaml"))).remove(0);
    assert_eq!(metadata["apiVersion"], "clusterctl.cluster.x-k8s.io/v1alpha3");
    let mut numbers = version
        .split('.')
        .map(|part| part.parse::<u64>().unwrap_or_default());
    let series = json!({"major": numbers.next(), "minor": numbers.next(), "contract": "v1beta2"});
    let listed = metadata["releaseSeries"].as_array().unwrap();
    assert!(listed.contains(&series), "metadata.yaml lacks {series}");
    let components = documents(&read(&files.join("infrastructure-components.yaml")));
    let definitions = components
        .iter()
        .filter(|one| one["kind"] == "CustomResourceDefinition");
    let definitions: BTreeSet<&str> = definitions
        .filter_map(|one| one["metadata"]["name"].as_str())
        .collect();
    assert_eq!(
        components.len(),
        built("clusterctl").len() + 2,
        "Hive's two kinds"
    );
    assert!(
        definitions.contains("clusterdeployments.hive.openshift.io"),
        "{definitions:?}"
    );
    for flavor in ["", "-ignition"] {
        let name = format!("cluster-template{flavor}.yaml");
        let objects = documents(&filled(&read(&files.join(&name))));
        assert_whole(&name, &objects);
        assert_eq!(objects.len(), 8, "{name}");
    }
    let class = read(&files.join("clusterclass-muster.yaml"));
    assert!(
        !class.contains("${"),
        "clusterctl puts nothing in place in a ClusterClass"
    );
    let of_class = documents(&class);
    assert_whole("clusterclass-muster.yaml", &of_class);
    let of_topology = documents(&filled(&read(&files.join("cluster-template-topology.yaml"))));
    let cluster = of_topology.iter().find(|one| one["kind"] == "Cluster").unwrap();
    assert_eq!(
        cluster["spec"]["topology"]["classRef"]["name"],
        of_class[0]["metadata"]["name"]
    );
}

/// The templates of the chart with these values, as Helm writes them: of its language they have `if`, `with`, `toYaml`, and values.
fn rendered(text: &str, values: &Value) -> String {
    let action = Regex::new(r"\{\{[^}]*\}\}").unwrap();
    let value = |found: &Captures<'_>| {
        let inner = found[0].trim_matches(['{', '}', ' ']).to_owned();
        if inner == ".Release.Namespace" {
            return "muster".to_owned();
        }
        let Some((_, path)) = inner.rsplit_once(".Values.") else {
            return "digest".to_owned();
        };
        let pointer = format!("/{}", path.replace('.', "/"));
        match values.pointer(&pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => panic!("values.yaml has no {path}"),
        }
    };
    let (mut kept, mut conditions) = (String::new(), Vec::new());
    for line in text.lines() {
        match line.trim() {
            "{{- if .Values.capiProvider }}" => conditions.push(values["capiProvider"] == true),
            "{{- if ne .Values.metal3 \"off\" }}" => conditions.push(values["metal3"] != "off"),
            "{{- with .Values.settings }}" => {
                conditions.push(values["settings"].as_object().is_some_and(|it| !it.is_empty()));
            }
            "{{- end }}" => assert!(conditions.pop().is_some(), "an end has its beginning"),
            _ if conditions.contains(&false) => {}
            _ => {
                kept.push_str(&action.replace_all(line, value));
                kept.push('\n');
            }
        }
    }
    assert!(conditions.is_empty(), "a condition has no end");
    kept
}

/// The object without what the chart puts in place by its values, and without the namespace that kustomize writes into objects without one.
fn common(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    if kind.starts_with("ValidatingAdmissionPolicy") {
        object["metadata"].as_object_mut().unwrap().remove("namespace");
    }
    if kind == "Deployment" {
        object["spec"]["template"]["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
        let container = &mut object["spec"]["template"]["spec"]["containers"][0];
        // Its name ends in a digest of its content.
        container["envFrom"] = Value::Null;
        // A patch of kustomize moves the variable that it changes to the front.
        let variables = container["env"].as_array_mut().unwrap();
        variables.sort_by_key(|one| one["name"].as_str().unwrap().to_owned());
    }
    if kind == "ConfigMap" {
        object["metadata"]["name"] = "muster".into();
        object["data"] = Value::Null;
    }
    object
}

#[test]
fn the_helm_chart_makes_the_same_objects_as_kustomize() {
    let folder = tempfile::tempdir().unwrap();
    laid_out("chart", folder.path());
    let chart = folder.path().join("muster");
    let described = documents(&read(&chart.join("Chart.yaml"))).remove(0);
    assert_eq!(described["version"], env!("CARGO_PKG_VERSION"));
    let kinds = std::fs::read_dir(chart.join("crds")).unwrap().count();
    let all = muster_resources::crds::own().len() + muster_resources::crds::foreign().len();
    assert_eq!(kinds, all);
    let template = read(&chart.join("templates/muster.yaml"));
    let given = documents(&read(&chart.join("values.yaml"))).remove(0);
    for (components, capi, metal3) in [
        (&[][..], false, "off"),
        (&["capi", "metal3"][..], true, "live-iso"),
    ] {
        let wanted = if components.is_empty() {
            built("base")
        } else {
            with_components(components)
        };
        let settings = wanted
            .iter()
            .find(|((kind, _), _)| kind == "ConfigMap")
            .unwrap()
            .1["data"]
            .clone();
        let mut values = given.clone();
        values["publicUrl"] = settings["MUSTER_PUBLIC_URL"].clone();
        values["bootUrl"] = settings["MUSTER_BOOT_URL"].clone();
        values["capiProvider"] = capi.into();
        values["metal3"] = metal3.into();
        let made = documents(&rendered(&template, &values));
        let name_of = |kind: &str, object: &Value| {
            let name = object["metadata"]["name"].as_str().unwrap();
            let name = if kind == "ConfigMap" { "muster" } else { name };
            (kind.to_owned(), name.to_owned())
        };
        let by_name = |objects: Vec<&Value>| -> BTreeMap<(String, String), Value> {
            let named = |object: &&Value| {
                let kind = object["kind"].as_str().unwrap();
                (kind != "Namespace").then(|| (name_of(kind, object), common(kind, object)))
            };
            objects.iter().filter_map(named).collect()
        };
        let (objects, wanted) = (by_name(made.iter().collect()), by_name(wanted.values().collect()));
        for (key, object) in &wanted {
            assert_eq!(objects.get(key), Some(object), "{key:?}");
        }
        assert_eq!(objects.len(), wanted.len());
        let data = &made.iter().find(|one| one["kind"] == "ConfigMap").unwrap()["data"];
        for (key, value) in settings.as_object().unwrap() {
            assert_eq!(&data[key], value, "{key}");
        }
        assert_eq!(data["MUSTER_CAPI_PROVIDER"], capi.to_string());
    }
}

/// What a health check reads is in `status.conditions`.
#[test]
fn argo_cd_gets_a_health_check_of_each_kind_with_conditions() {
    let objects = built("argocd");
    let checks = get(&objects, "ConfigMap", "argocd-cm")["data"]
        .as_object()
        .unwrap();
    let lua = read(&root().join("deploy/argocd/health.lua"));
    assert!(checks.values().all(|check| *check == lua));
    let kinds = built("crds");
    let with_conditions = kinds.values().filter(|kind| {
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions";
        kind.pointer(status).is_some()
    });
    let wanted: BTreeSet<String> = with_conditions
        .map(|kind| (&kind["spec"]["group"], &kind["spec"]["names"]["kind"]))
        .map(|(group, kind)| (group.as_str().unwrap(), kind.as_str().unwrap()))
        .map(|(group, kind)| format!("resource.customizations.health.{group}_{kind}"))
        .collect();
    assert_eq!(checks.keys().cloned().collect::<BTreeSet<_>>(), wanted);
}
