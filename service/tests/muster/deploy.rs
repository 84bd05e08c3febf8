//! The manifests in `deploy/`: kustomize builds them, and they fit the program.

mod monitoring;
mod packages;

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
fn the_base_holds_everything_but_the_kinds_which_are_apart() {
    let objects = built("base");
    let deployment = get(&objects, "Deployment", "muster");
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/name"], "muster");
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    for (kind, name, selector) in [
        ("Service", "muster", "/spec/selector"),
        ("Service", "muster-status", "/spec/selector"),
        ("PodDisruptionBudget", "muster", "/spec/selector/matchLabels"),
        ("NetworkPolicy", "muster", "/spec/podSelector/matchLabels"),
    ] {
        let object = get(&objects, kind, name);
        assert_eq!(object["metadata"]["namespace"], "muster");
        assert_eq!(object.pointer(selector), Some(labels), "{kind}");
    }
    // Deleting base deletes no custom resource.
    assert!(objects.keys().all(|(kind, _)| kind != "CustomResourceDefinition"));
    let kinds = built("crds");
    let kinds: BTreeSet<_> = kinds
        .iter()
        .filter(|((kind, _), _)| kind == "CustomResourceDefinition")
        .map(|(_, object)| object["spec"]["names"]["kind"].as_str().unwrap())
        .collect();
    let ours = [
        "Agent",
        "AgentClassification",
        "AgentCluster",
        "AgentClusterInstall",
        "AgentClusterTemplate",
        "AgentMachine",
        "AgentMachineTemplate",
        "AgentQuota",
        "AgentRemediation",
        "AgentRemediationTemplate",
        "BMC",
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
        assert_eq!(ports[get["port"].as_str().unwrap()], 8092, "{probe}");
        // The status listener speaks plain HTTP whatever the API speaks.
        assert_eq!(get.get("scheme"), None, "{probe}");
    }
    for (name, port) in [
        ("MUSTER_LISTEN", "8090"),
        ("MUSTER_BOOT_LISTEN", "8091"),
        ("MUSTER_STATUS_LISTEN", "8092"),
    ] {
        let variables = container["env"].as_array().unwrap();
        let value = variables.iter().find(|one| one["name"] == name).unwrap()["value"].as_str();
        assert_eq!(
            value,
            Some(format!("[::]:{port}").as_str()),
            "every address of both families"
        );
    }
    assert_is_restricted(pod);
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

/// True for a role with this verb on Secrets.
fn may(role: &Value, verb: &str) -> bool {
    let has = |rule: &Value, list: &str, wanted: &str| {
        let list = rule[list].as_array().into_iter().flatten();
        list.into_iter().any(|one| one == wanted || one == "*")
    };
    let mut rules = role["rules"].as_array().into_iter().flatten();
    rules.any(|rule| {
        has(rule, "apiGroups", "") && has(rule, "resources", "secrets") && has(rule, "verbs", verb)
    })
}

/// An account that may make Secrets everywhere, and read them, has the token of every ServiceAccount.
#[test]
fn rights_for_cluster_api_and_metal3_are_asked_for_and_no_secrets_are_made_everywhere() {
    let plain = built("base");
    let both = with_components(&["capi", "metal3"]);
    let roles = [
        "muster-capi-provider",
        "muster-capi-secrets",
        "muster-metal3",
        "muster-metal3-secrets",
    ];
    for role in roles {
        let key = ("ClusterRole".to_owned(), role.to_owned());
        assert!(!plain.contains_key(&key) && both.contains_key(&key), "{role}");
    }
    for objects in [&plain, &both] {
        let bound = objects
            .iter()
            .filter(|((kind, _), _)| kind == "ClusterRoleBinding");
        for (_, binding) in bound {
            let role = get(
                objects,
                "ClusterRole",
                binding["roleRef"]["name"].as_str().unwrap(),
            );
            for verb in ["create", "update", "delete"] {
                assert!(!may(role, verb), "{role}");
            }
        }
    }
    assert!(may(get(&both, "ClusterRole", "muster-capi-secrets"), "create"));
    assert!(may(get(&both, "ClusterRole", "muster-metal3-secrets"), "create"));
    for (objects, capi, metal3) in [(&plain, None, "off"), (&both, Some("true"), "live-iso")] {
        let map = objects
            .iter()
            .find(|((kind, name), _)| kind == "ConfigMap" && name.starts_with("muster-"));
        let data = &map.unwrap().1["data"];
        assert_eq!(data["MUSTER_CAPI_PROVIDER"].as_str(), capi);
        assert_eq!(data["MUSTER_METAL3"], metal3);
    }
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

/// A quantity of the manifests: `20Gi`.
fn gibibytes(quantity: &Value) -> u64 {
    let text = quantity.as_str().expect("a quantity");
    let number = text.strip_suffix("Gi").expect("the manifests count in Gi");
    number.parse().expect("a number")
}

/// The rules of OpenShift's restricted-v2: the namespace chooses the user, so a pod names none; nothing is privileged, volumes are of
/// harmless kinds. Kubernetes' own `restricted` requires no more.
fn assert_is_restricted(pod: &Value) {
    let container = &pod["containers"][0];
    for context in [&pod["securityContext"], &container["securityContext"]] {
        for member in [
            "runAsUser",
            "runAsGroup",
            "fsGroup",
            "supplementalGroups",
            "seLinuxOptions",
            "privileged",
        ] {
            assert_eq!(context.get(member), None, "{member}");
        }
    }
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let own = &container["securityContext"];
    assert_eq!(own["allowPrivilegeEscalation"], false);
    assert_eq!(own["capabilities"]["drop"], serde_json::json!(["ALL"]));
    assert_eq!(own["readOnlyRootFilesystem"], true);
    for member in ["hostNetwork", "hostPID", "hostIPC"] {
        assert_eq!(pod.get(member), None, "{member}");
    }
    // Its writes are limited: otherwise the node would evict its neighbours.
    let resources = &container["resources"];
    assert!(resources["requests"]["ephemeral-storage"].is_string());
    let most = gibibytes(&resources["limits"]["ephemeral-storage"]);
    let mut volumes = 0;
    for volume in pod["volumes"].as_array().expect("it is in the manifest") {
        if let Some(empty) = volume.get("emptyDir") {
            volumes += gibibytes(&empty["sizeLimit"]);
        }
        let kinds = ["emptyDir", "secret", "configMap", "projected"];
        assert!(kinds.iter().any(|kind| volume.get(kind).is_some()), "{volume}");
    }
    assert!(
        volumes > 0 && volumes < most,
        "volumes count as storage of the pod, as its logs do"
    );
    // The user that runs it can write where it writes.
    let data = container["env"]
        .as_array()
        .expect("it is in the manifest")
        .iter()
        .find(|one| one["name"] == "MUSTER_DATA_DIR");
    let data = data.expect("it is in the manifest")["value"]
        .as_str()
        .expect("a folder");
    let mounts = container["volumeMounts"]
        .as_array()
        .expect("it is in the manifest")
        .iter();
    assert!(
        mounts
            .map(|mount| mount["mountPath"].as_str().expect("it is in the manifest"))
            .any(|path| data.starts_with(path))
    );
}

/// An overlay of base with a component, as a user writes it.
fn with_component(name: &str) -> BTreeMap<(String, String), Value> {
    with_components(&[name])
}

fn with_components(names: &[&str]) -> BTreeMap<(String, String), Value> {
    let components: Vec<String> = names.iter().map(|name| format!("../{name}")).collect();
    let components = components.join(", ");
    let folder = tempfile::tempdir_in(root().join("deploy")).expect("it is in the manifest");
    let kustomization = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: muster\nresources: [../base]\ncomponents: [{components}]\n"
    );
    std::fs::write(folder.path().join("kustomization.yaml"), kustomization).expect("it is in the manifest");
    built(
        folder
            .path()
            .file_name()
            .expect("a name")
            .to_str()
            .expect("a name"),
    )
}

#[test]
fn a_certificate_of_the_users_is_mounted_as_a_folder_and_probes_do_not_mind() {
    let objects = with_component("tls");
    let pod = &get(&objects, "Deployment", "muster")["spec"]["template"]["spec"];
    assert_is_restricted(pod);
    let container = &pod["containers"][0];
    let mounts = container["volumeMounts"].as_array().unwrap();
    let mount = mounts
        .iter()
        .find(|mount| mount["name"] == "tls")
        .expect("a mount");
    assert_eq!(
        mount.get("subPath"),
        None,
        "a file that is mounted by its name never changes"
    );
    let folder = mount["mountPath"].as_str().unwrap();
    for name in ["MUSTER_TLS_CERT", "MUSTER_TLS_KEY", "MUSTER_SERVICE_CA"] {
        let variables = container["env"].as_array().unwrap();
        let value = variables.iter().find(|one| one["name"] == name).unwrap()["value"]
            .as_str()
            .unwrap();
        assert!(value.starts_with(folder), "{value}");
    }
    // The settings of the base are still there.
    assert!(
        container["env"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "MUSTER_STATUS_LISTEN")
    );
    assert_eq!(container["livenessProbe"]["httpGet"]["port"], "status");
}

#[test]
fn chosen_namespaces_need_no_rights_in_others() {
    let objects = with_components(&["capi", "metal3", "namespaced"]);
    let bindings: Vec<&str> = objects
        .keys()
        .filter(|(kind, _)| kind == "ClusterRoleBinding")
        .map(|(_, name)| name.as_str())
        .collect();
    assert_eq!(bindings, ["muster-cluster"]);
    let role = get(&objects, "ClusterRole", "muster-cluster");
    let reads_secrets = |rule: &Value| {
        rule["resources"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one == "secrets")
    };
    assert!(!role["rules"].as_array().unwrap().iter().any(reads_secrets));
}

/// The value of a variable of a container.
fn variable<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    let variables = container["env"].as_array()?;
    variables.iter().find(|one| one["name"] == name)?["value"].as_str()
}

#[test]
fn pods_that_hosts_reach_have_no_rights_where_the_controllers_have_pods_of_their_own() {
    let objects = with_components(&["split", "tls"]);
    let pod_of = |name: &str| &get(&objects, "Deployment", name)["spec"]["template"]["spec"];
    let (hosts, controllers) = (pod_of("muster"), pod_of("muster-controllers"));
    assert_is_restricted(hosts);
    assert_is_restricted(controllers);
    assert_eq!(hosts["automountServiceAccountToken"], false);
    let account = hosts["serviceAccountName"].as_str().unwrap();
    get(&objects, "ServiceAccount", account);
    let subjects = objects
        .values()
        .filter_map(|object| object["subjects"].as_array());
    assert!(subjects.flatten().all(|subject| subject["name"] != account));
    assert_eq!(controllers["serviceAccountName"], "muster");
    // Images hold the authority and the addresses of the service: every program that makes them has the same.
    let [ours, theirs] = [hosts, controllers].map(|pod| {
        let mut container = pod["containers"][0].clone();
        let kube_api = variable(&container, "MUSTER_KUBE_API").unwrap().to_owned();
        let variables = container["env"].as_array_mut().unwrap();
        variables.retain(|one| one["name"] != "MUSTER_KUBE_API");
        (container, kube_api)
    });
    assert_eq!(ours.0, theirs.0);
    assert_eq!([ours.1, theirs.1], ["elsewhere", "cluster"]);
    assert_eq!(hosts["volumes"], controllers["volumes"]);
    let label = &get(&objects, "Deployment", "muster-controllers")["spec"]["template"]["metadata"]["labels"];
    let status = get(&objects, "Service", "muster-controllers-status");
    assert_eq!(&status["spec"]["selector"], label);
    for service in ["muster", "muster-status"] {
        assert_ne!(&get(&objects, "Service", service)["spec"]["selector"], label);
    }
    let budget = get(&objects, "PodDisruptionBudget", "muster-controllers");
    assert_eq!(&budget["spec"]["selector"]["matchLabels"], label);
    let policy = get(&objects, "NetworkPolicy", "muster-controllers");
    assert_eq!(&policy["spec"]["podSelector"]["matchLabels"], label);
}

#[test]
fn other_overlays_build() {
    let route = built("openshift");
    let route = get(&route, "Route", "muster");
    assert_eq!(route["spec"]["tls"]["termination"], "passthrough");
    let monitoring = with_component("monitoring");
    let monitor = get(&monitoring, "ServiceMonitor", "muster");
    let service = get(&monitoring, "Service", "muster-status");
    let labels = service["metadata"]["labels"].as_object().unwrap();
    for (key, value) in monitor["spec"]["selector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(labels.get(key), Some(value), "{key}");
    }
}

#[test]
fn users_of_a_namespace_have_its_custom_resources() {
    let objects = built("base");
    let edit = get(&objects, "ClusterRole", "muster-edit");
    let view = get(&objects, "ClusterRole", "muster-view");
    assert_eq!(
        edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"],
        "true"
    );
    assert_eq!(
        view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"],
        "true"
    );
    // As Kubernetes has it with ResourceQuotas: those who are limited, be they admins of the namespace, see the limits and do not set them.
    let owner = get(&objects, "ClusterRole", "muster-quota-edit");
    assert!(
        !owner["metadata"]["labels"].to_string().contains("aggregate-to"),
        "{owner}"
    );
    assert!(view.to_string().contains("agentquotas") && !edit.to_string().contains("agentquotas"));
    for role in [edit, view, owner] {
        for rule in role["rules"].as_array().unwrap() {
            let statuses = rule["resources"].as_array().unwrap();
            assert!(
                statuses.iter().all(|one| !one.as_str().unwrap().contains('/')),
                "{rule}"
            );
        }
    }
}

/// The references of a schema that may name another namespace, by property.
fn references(schema: &Value, found: &mut BTreeSet<String>) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    for (name, property) in properties {
        let names_both = ["name", "namespace"]
            .iter()
            .all(|part| property["properties"].get(part).is_some());
        if names_both {
            found.insert(name.clone());
        }
        references(property, found);
        references(&property["items"], found);
    }
}

#[test]
fn whoever_names_an_object_of_another_namespace_is_asked_for_a_right_there() {
    let objects = with_component("metal3");
    for name in ["muster-references", "muster-metal3-references"] {
        let binding = get(&objects, "ValidatingAdmissionPolicyBinding", name);
        assert_eq!(binding["spec"]["validationActions"], serde_json::json!(["Deny"]));
        assert_eq!(binding["spec"]["policyName"], name);
        get(&objects, "ValidatingAdmissionPolicy", name);
    }
    let policy = &get(&objects, "ValidatingAdmissionPolicy", "muster-references")["spec"];
    let rules = policy["matchConstraints"]["resourceRules"].as_array().unwrap();
    let held = |group: &Value, plural: &Value| {
        rules.iter().any(|rule| {
            rule["apiGroups"].as_array().unwrap().contains(group)
                && rule["resources"].as_array().unwrap().contains(plural)
        })
    };
    let variables = policy["variables"].to_string();
    let kinds = built("crds");
    // Nothing is read of the HostedCluster that a quota is for: it stands for a namespace, and owners of a pool limit any tenant.
    let kinds = kinds.values().filter(|object| {
        object["kind"] == "CustomResourceDefinition" && object["spec"]["names"]["kind"] != "AgentQuota"
    });
    let mut all = BTreeSet::new();
    for kind in kinds {
        let spec = &kind["spec"];
        let mut found = BTreeSet::new();
        for version in spec["versions"].as_array().unwrap() {
            references(
                &version["schema"]["openAPIV3Schema"]["properties"]["spec"],
                &mut found,
            );
        }
        let (group, plural) = (&spec["group"], &spec["names"]["plural"]);
        assert!(
            found.is_empty() || held(group, plural),
            "{plural} have {found:?}, and deploy/base/references.yaml does not hold for them"
        );
        all.extend(found);
    }
    for name in &all {
        for object in ["spec", "old"] {
            let place = format!("variables.{object}.{name}");
            let nested = format!("variables.{object}.ignitionEndpoint.{name}");
            assert!(
                variables.contains(&place) || variables.contains(&nested),
                "deploy/base/references.yaml looks at no {place}"
            );
        }
    }
    assert!(
        all.contains("clusterDeploymentName") && all.contains("caCertificateReference"),
        "{all:?}"
    );
}
