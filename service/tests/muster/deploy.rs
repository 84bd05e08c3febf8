//! The manifests in `deploy/`: kustomize builds them, and what they say fits the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the service is in a folder")
        .to_owned()
}

/// Everything that a kustomization makes, by kind and name.
fn built(folder: &str) -> BTreeMap<(String, String), Value> {
    let output = Command::new(muster_tests::kube::program("kubectl"))
        .arg("kustomize")
        .arg(root().join("deploy").join(folder))
        .output()
        .expect("kubectl runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("Warning"), "{errors}");
    let text = String::from_utf8(output.stdout).expect("YAML is text");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("kubectl writes YAML");
    let named = |object: Value| {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        ((text(&object["kind"]), text(&object["metadata"]["name"])), object)
    };
    objects.into_iter().map(named).collect()
}

fn get<'a>(objects: &'a BTreeMap<(String, String), Value>, kind: &str, name: &str) -> &'a Value {
    objects
        .get(&(kind.to_owned(), name.to_owned()))
        .unwrap_or_else(|| panic!("no {kind} {name}"))
}

#[test]
fn the_base_holds_everything_and_the_kinds_that_are_ours() {
    let objects = built("base");
    let deployment = get(&objects, "Deployment", "muster");
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/name"], "muster");
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    for (kind, name) in [("Service", "muster"), ("PodDisruptionBudget", "muster")] {
        let object = get(&objects, kind, name);
        assert_eq!(object["metadata"]["namespace"], "muster");
        let selector = &object["spec"]["selector"];
        let selector = if kind == "Service" {
            selector
        } else {
            &selector["matchLabels"]
        };
        assert_eq!(selector, labels, "{kind}");
    }
    let kinds: BTreeSet<_> = objects
        .iter()
        .filter(|((kind, _), _)| kind == "CustomResourceDefinition")
        .map(|(_, object)| object["spec"]["names"]["kind"].as_str().unwrap())
        .collect();
    let ours = [
        "Agent",
        "AgentClassification",
        "AgentCluster",
        "AgentClusterInstall",
        "AgentMachine",
        "AgentMachineTemplate",
        "InfraEnv",
        "NMStateConfig",
    ];
    assert_eq!(kinds, BTreeSet::from(ours));
}

#[test]
fn the_pod_runs_the_program_with_options_that_it_has() {
    let objects = built("base");
    let pod = &get(&objects, "Deployment", "muster")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["args"], serde_json::json!(["serve"]));
    let map = objects
        .iter()
        .find(|((kind, name), _)| kind == "ConfigMap" && name.starts_with("muster-"))
        .map(|(_, map)| map);
    let settings = map.unwrap()["data"].as_object().unwrap().keys().cloned();
    let variables = container["env"].as_array().unwrap().iter();
    let variables = variables.map(|variable| variable["name"].as_str().unwrap().to_owned());
    let help = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["serve", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for name in variables.chain(settings) {
        // Values are not shown for some.
        let known = help.contains(&format!("[env: {name}=")) || help.contains(&format!("[env: {name}]"));
        assert!(known, "muster serve does not know {name}");
    }
    let ports: BTreeMap<_, _> = container["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| {
            (
                port["name"].as_str().unwrap(),
                port["containerPort"].as_i64().unwrap(),
            )
        })
        .collect();
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let get = &container[probe]["httpGet"];
        assert_eq!(ports[get["port"].as_str().unwrap()], 8090, "{probe}");
    }
    for port in get(&objects, "Service", "muster")["spec"]["ports"]
        .as_array()
        .unwrap()
    {
        assert_eq!(
            ports[port["targetPort"].as_str().unwrap()],
            port["port"].as_i64().unwrap()
        );
    }
}

#[test]
fn rights_name_kinds_and_verbs_and_belong_to_the_pods_account() {
    let objects = built("base");
    let pod = &get(&objects, "Deployment", "muster")["spec"]["template"]["spec"];
    for (kind, name, role) in [
        ("ClusterRoleBinding", "muster", "muster"),
        ("RoleBinding", "muster-lease", "muster-lease"),
    ] {
        let binding = get(&objects, kind, name);
        assert_eq!(binding["roleRef"]["name"], role);
        assert_eq!(binding["subjects"][0]["name"], pod["serviceAccountName"]);
        assert_eq!(binding["subjects"][0]["namespace"], "muster");
    }
    let role = get(&objects, "ClusterRole", "muster");
    let lease = get(&objects, "Role", "muster-lease");
    for rule in [role, lease]
        .into_iter()
        .flat_map(|role| role["rules"].as_array().unwrap())
    {
        for list in ["apiGroups", "resources", "verbs"] {
            let list = rule[list].as_array().unwrap();
            assert!(!list.is_empty() && list.iter().all(|one| one != "*"), "{rule}");
        }
        let reads_secrets = rule["resources"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one == "secrets");
        if reads_secrets {
            let verbs = rule["verbs"].as_array().unwrap();
            assert!(
                verbs.iter().all(|verb| verb != "create" && verb != "delete"),
                "{rule}"
            );
        }
    }
    let named = &lease["rules"][0]["resourceNames"][0];
    assert_eq!(named, muster_resources::names::LEASE);
}

#[test]
fn the_example_puts_its_own_addresses_and_image_in_place() {
    let objects = built("example");
    let container = &get(&objects, "Deployment", "muster")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.test/muster:0.1.0");
    let name = container["envFrom"][0]["configMapRef"]["name"].as_str().unwrap();
    let map = get(&objects, "ConfigMap", name);
    assert_eq!(
        map["data"]["MUSTER_PUBLIC_URL"],
        "https://muster.example.test:8090"
    );
}
