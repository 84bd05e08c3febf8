//! InfraEnvs with their references, and clusters, as custom resources: their conditions, and their deletion.

use muster_tests::artifacts::live_image;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::kube::{Api, KubeServed, Kubectl, on_each_api};
use serde_json::{Value, json};

on_each_api!(
    what_an_infra_env_refers_to_is_followed,
    network_configurations_are_applied_or_named,
    rest_does_not_win_against_a_resource,
    edits_are_reconciled_once_each,
    an_imported_cluster_lets_its_agents_go_when_it_is_deleted,
    an_infra_env_goes_with_its_unbound_hosts_and_names_those_that_keep_it,
);

const NAMESPACE: &str = "pools";

const SECRET_VALUE: &str = "dXNlcjpodW50ZXIy";

fn pull_secret(value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": NAMESPACE},
        "stringData": {".dockerconfigjson": value},
    })
}

fn good_pull_secret() -> Value {
    pull_secret(&json!({"auths": {"registry.example.test": {"auth": SECRET_VALUE}}}).to_string())
}

fn infra_env(name: &str, more: Value) -> Value {
    let mut spec = json!({"pullSecretRef": {"name": "pull"}});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
        "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
    })
}

fn serve(api: Api) -> (KubeServed, Kubectl) {
    let served = api.serve_with(|settings| settings.live_image(&live_image()));
    let kubectl = served.kubectl();
    kubectl.run(&["create", "namespace", NAMESPACE]);
    let kubectl = kubectl.namespace(NAMESPACE);
    (served, kubectl)
}

/// Waits for a condition; returns its message.
#[track_caller]
fn await_condition_of(kubectl: &Kubectl, object: &[&str], type_: &str, reason: &str, word: &str) -> String {
    let what = format!("{type_} of {object:?} to say {reason} and {word:?}");
    kubectl.await_that(&what, object, LEAST_LIMIT, |seen| {
        let list = seen["status"]["conditions"].as_array()?;
        let found = list.iter().find(|one| one["type"] == type_)?;
        let message = found["message"].as_str().unwrap_or_default();
        (found["reason"] == reason && message.contains(word)).then(|| message.to_owned())
    })
}

/// The id of an InfraEnv's record.
#[track_caller]
fn id_of(kubectl: &Kubectl, name: &str) -> String {
    kubectl.await_that(
        "the InfraEnv's record",
        &["infraenv", name],
        LEAST_LIMIT,
        |seen| {
            let url = seen["status"]["debugInfo"]["eventsURL"].as_str()?;
            Some(url.split_once("infra_env_id=")?.1.to_owned())
        },
    )
}

fn what_an_infra_env_refers_to_is_followed(api: Api) {
    let (served, kubectl) = serve(api);
    let object = ["infraenv", "hw"];
    kubectl.apply(&[infra_env("hw", json!({}))]);
    await_condition_of(
        &kubectl,
        &object,
        "ImageCreated",
        "ImageCreationError",
        "Secret pools/pull does not exist",
    );

    kubectl.apply(&[good_pull_secret()]);
    kubectl.run(&[
        "wait",
        "infraenv/hw",
        "--for=condition=ImageCreated",
        "--timeout=120s",
    ]);
    let labels = kubectl.get(&["secret", "pull"])["metadata"]["labels"].clone();
    assert_eq!(labels["agent-install.openshift.io/watch"], "true");
    assert_eq!(labels["cluster.open-cluster-management.io/backup"], "true");
    let first = kubectl.get(&object);
    let client = served.http();
    let id = id_of(&kubectl, "hw");
    let rest = client.get(&format!("/infra-envs/{id}")).expect(200).json();
    assert_eq!(rest["download_url"], first["status"]["isoDownloadURL"]);

    // Rotated: handled at once, and no value is shown.
    kubectl.apply(&[pull_secret("hunter2 is no JSON")]);
    let reported = await_condition_of(
        &kubectl,
        &object,
        "ImageCreated",
        "ImageCreationError",
        "spec.pullSecretRef",
    );
    assert!(!reported.contains("hunter2"), "{reported}");
    kubectl.apply(&[good_pull_secret()]);
    await_condition_of(&kubectl, &object, "ImageCreated", "InfraEnvAvailable", "");
    assert!(!served.log().contains("hunter2") && !served.log().contains(SECRET_VALUE));

    for (spec, word) in [
        (
            json!({"proxy": {"httpProxy": "gopher://x"}}),
            "spec.proxy.httpProxy",
        ),
        (
            json!({"proxy": null, "cpuArchitecture": "arm64"}),
            "spec.cpuArchitecture: cannot be changed",
        ),
        (
            json!({"cpuArchitecture": "x86_64", "additionalNTPSources": ["not a name"]}),
            "spec.additionalNTPSources",
        ),
    ] {
        let patch = json!({ "spec": spec }).to_string();
        kubectl.run(&["patch", "infraenv", "hw", "--type", "merge", "-p", &patch]);
        await_condition_of(&kubectl, &object, "ImageCreated", "ImageCreationError", word);
    }
    kubectl.run(&[
        "patch",
        "infraenv",
        "hw",
        "--type",
        "merge",
        "-p",
        r#"{"spec":{"additionalNTPSources":null}}"#,
    ]);
    await_condition_of(&kubectl, &object, "ImageCreated", "InfraEnvAvailable", "");
    let last = kubectl.get(&object);
    assert_eq!(
        last["status"]["isoDownloadURL"],
        first["status"]["isoDownloadURL"]
    );

    // Nothing is written without a difference, even by a service that reconciles everything again.
    let mut served = served;
    assert!(served.terminate().success());
    served.start_again();
    served.await_leading();
    kubectl.apply(&[infra_env("after", json!({}))]);
    kubectl.run(&[
        "wait",
        "infraenv/after",
        "--for=condition=ImageCreated",
        "--timeout=120s",
    ]);
    let again = kubectl.get(&object);
    assert_eq!(
        again["metadata"]["resourceVersion"],
        last["metadata"]["resourceVersion"]
    );
}

fn network_configurations_are_applied_or_named(api: Api) {
    let (served, kubectl) = serve(api);
    let config = |name: &str, mac: &str, interface: &str| {
        json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"net": "lab"}},
            "spec": {
                "interfaces": [{"name": "nic-a", "macAddress": mac}],
                "config": {"interfaces": [{"name": interface, "type": "ethernet", "state": "up"}]},
            },
        })
    };
    let selector =
        json!({"matchExpressions": [{"key": "net", "operator": "In", "values": ["lab", "other"]}]});
    kubectl.apply(&[
        good_pull_secret(),
        infra_env("hw", json!({"nmStateConfigLabelSelector": selector})),
    ]);
    kubectl.run(&[
        "wait",
        "infraenv/hw",
        "--for=condition=ImageCreated",
        "--timeout=120s",
    ]);
    let object = ["infraenv", "hw"];
    assert_eq!(
        kubectl.get(&object)["status"]["conditions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );

    kubectl.apply(&[config("one", "02:00:00:aa:10:01", "nic-a")]);
    await_condition_of(
        &kubectl,
        &object,
        "StaticNetworkApplied",
        "NMStateConfigsInImage",
        "1 NMStateConfig",
    );
    let mut unapplied = config("tuned", "02:00:00:aa:10:09", "nic-a");
    unapplied["spec"]["config"]["interfaces"][0]["ethtool"] = json!({"pause": {"rx": true}});
    kubectl.apply(&[unapplied]);
    let reported = await_condition_of(
        &kubectl,
        &object,
        "StaticNetworkApplied",
        "NotSupportedByImage",
        "tuned: interfaces[0]",
    );
    assert!(
        reported.contains("1 of 2") && reported.contains("ethtool"),
        "{reported}"
    );
    kubectl.run(&["delete", "nmstateconfig", "tuned"]);
    let client = served.http();
    let path = format!("/infra-envs/{}", id_of(&kubectl, "hw"));
    let stored = client.get(&path).expect(200).json();
    assert!(
        stored["static_network_config"]
            .as_str()
            .unwrap()
            .contains("02:00:00:aa:10:01")
    );

    kubectl.apply(&[
        config("two", "02:00:00:AA:10:01", "nic-a"),
        config("three", "02:00:00:aa:10:03", "unknown"),
    ]);
    let reported = await_condition_of(
        &kubectl,
        &object,
        "StaticNetworkApplied",
        "InvalidNMStateConfig",
        "three: spec.config",
    );
    assert!(
        reported.contains("2 of 3") && reported.contains("two: spec.interfaces"),
        "{reported}"
    );
    kubectl.run(&[
        "wait",
        "infraenv/hw",
        "--for=condition=ImageCreated",
        "--timeout=120s",
    ]);

    kubectl.run(&["label", "nmstateconfigs", "--all", "net-"]);
    kubectl.await_that("no configuration to be left", &object, LEAST_LIMIT, |seen| {
        (seen["status"]["conditions"].as_array()?.len() == 1).then_some(())
    });
    let stored = client.get(&path).expect(200).json();
    assert_eq!(stored["static_network_config"].as_str().unwrap_or_default(), "");
}

/// Reconciles of InfraEnvs until now.
fn reconciles(served: &KubeServed) -> u64 {
    let text = served.http().request("GET", "/metrics", None).expect(200).text();
    let counted = text
        .lines()
        .filter(|line| line.starts_with("muster_reconciles_total") && line.contains("\"infra_env\""));
    counted
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

fn edits_are_reconciled_once_each(api: Api) {
    const EDITS: u64 = 10;
    let (served, kubectl) = serve(api);
    kubectl.apply(&[good_pull_secret(), infra_env("hw", json!({}))]);
    // The edit changes nothing in the record, and only the observed generation in the status.
    let edit = |rack: u64| {
        let edit = json!({"spec": {"agentLabels": {"rack": rack.to_string()}}}).to_string();
        kubectl.run(&["patch", "infraenv", "hw", "--type", "merge", "-p", &edit]);
        kubectl.await_that("the edit to be seen", &["infraenv", "hw"], LEAST_LIMIT, |seen| {
            (seen["status"]["observedGeneration"] == seen["metadata"]["generation"]).then_some(())
        });
    };
    edit(0);
    let before = reconciles(&served);
    (1..=EDITS).for_each(edit);
    let all = reconciles(&served) - before;
    // Earlier news may be reconciled meanwhile; the status of each edit, which is the controller's own, is not.
    assert!(
        (EDITS..EDITS * 3 / 2).contains(&all),
        "{all} reconciles for {EDITS} edits"
    );
}

fn rest_does_not_win_against_a_resource(api: Api) {
    let (served, kubectl) = serve(api);
    kubectl.apply(&[
        good_pull_secret(),
        infra_env("hw", json!({"ntpSources": ["198.51.100.1"]})),
    ]);
    let path = format!("/infra-envs/{}", id_of(&kubectl, "hw"));
    let client = served.http();
    let sources = || client.get(&path).expect(200).json()["ntp_sources"].clone();
    let other = json!({"ntp_sources": "203.0.113.9"});
    let refused = client.patch(&path, &other).expect(409).error_message();
    let patch = r#"{"spec":{"ntpSources":["203.0.113.9"]}}"#;
    let command = format!("kubectl -n {NAMESPACE} patch infraenv hw --type merge -p '{patch}'");
    assert!(refused.ends_with(&command), "{refused}");
    assert_eq!(sources(), "198.51.100.1");
    let refused = client.delete(&path).expect(409).error_message();
    let command = format!("kubectl -n {NAMESPACE} delete infraenv hw");
    assert!(refused.ends_with(&command), "{refused}");
    kubectl.run(&["patch", "infraenv", "hw", "--type", "merge", "-p", patch]);
    await_condition("the time source of the resource", LEAST_LIMIT, || {
        match sources() {
            Value::String(text) if text == "203.0.113.9" => Ok(()),
            other => Err(other.to_string()),
        }
    });
    client.patch(&path, &other).expect(201);
}

fn cluster(spec: Value) -> [Value; 2] {
    let mut deployment = json!({
        "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
        "metadata": {"name": "hc1", "namespace": NAMESPACE},
        "spec": {
            "baseDomain": "example.test", "clusterName": "hc1", "platform": {"agentBareMetal": {"agentSelector": {}}},
            "clusterInstallRef": {
                "group": "extensions.hive.openshift.io", "version": "v1beta1", "kind": "AgentClusterInstall", "name": "hc1",
            },
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        deployment["spec"][key] = value.clone();
    }
    let install = json!({
        "apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall",
        "metadata": {"name": "hc1", "namespace": NAMESPACE},
        "spec": {
            "clusterDeploymentRef": {"name": "hc1"}, "networking": {"userManagedNetworking": true},
            "provisionRequirements": {"controlPlaneAgents": 3},
        },
    });
    [deployment, install]
}

fn an_imported_cluster_lets_its_agents_go_when_it_is_deleted(api: Api) {
    let (served, kubectl) = serve(api);
    let client = served.http();
    let object = ["aci", "hc1"];
    let [deployment, install] = cluster(json!({}));
    kubectl.apply(&[install]);
    await_condition_of(
        &kubectl,
        &object,
        "SpecSynced",
        "InputError",
        "no ClusterDeployment pools/hc1",
    );
    kubectl.apply(&[deployment]);
    await_condition_of(
        &kubectl,
        &object,
        "SpecSynced",
        "InputError",
        "spec.installed: true",
    );
    let clusters = || client.get("/clusters").expect(200).json();
    assert_eq!(clusters(), json!([]), "nothing is made silently");

    kubectl.apply(&cluster(json!({"installed": true})));
    await_condition_of(
        &kubectl,
        &object,
        "SpecSynced",
        "SyncOK",
        "hc1-admin-kubeconfig with the cluster's kubeconfig does not exist",
    );
    kubectl.run(&[
        "create",
        "secret",
        "generic",
        "hc1-admin-kubeconfig",
        "--from-literal=kubeconfig=hunter2",
    ]);
    kubectl.run(&["wait", "aci/hc1", "--for=condition=Completed", "--timeout=120s"]);
    kubectl.run(&[
        "patch",
        "aci",
        "hc1",
        "--type",
        "merge",
        "-p",
        r#"{"spec":{"apiVIPs":["198.51.100.5"]}}"#,
    ]);
    kubectl.await_that("the address of the API", &object, LEAST_LIMIT, |seen| {
        (seen["status"]["apiVIP"] == "198.51.100.5").then_some(())
    });
    assert_eq!(clusters()[0]["name"], "hc1");
    kubectl.run(&[
        "patch",
        "aci",
        "hc1",
        "--type",
        "merge",
        "-p",
        r#"{"spec":{"apiVIPs":["here"]}}"#,
    ]);
    await_condition_of(&kubectl, &object, "SpecSynced", "InputError", "spec.apiVIPs");

    // An InfraEnv of the cluster: its hosts are bound to it from the start.
    let of_cluster = json!({"clusterRef": {"name": "hc1", "namespace": NAMESPACE}});
    kubectl.apply(&[
        good_pull_secret(),
        infra_env("own", of_cluster),
        infra_env("lost", json!({"clusterRef": {"name": "nope"}})),
    ]);
    kubectl.run(&[
        "wait",
        "infraenv/own",
        "--for=condition=ImageCreated",
        "--timeout=120s",
    ]);
    await_condition_of(
        &kubectl,
        &["infraenv", "lost"],
        "ImageCreated",
        "MissingClusterDeployment",
        "pools/nope",
    );
    let path = format!("/infra-envs/{}", id_of(&kubectl, "own"));
    assert_eq!(
        client.get(&path).expect(200).json()["cluster_id"],
        clusters()[0]["id"]
    );

    kubectl.run(&["delete", "clusterdeployment", "hc1", "--timeout=120s"]);
    let left = kubectl.get(&["clusterdeployments,agentclusterinstalls"]);
    assert_eq!(left["items"], json!([]));
    assert_eq!(clusters(), json!([]));
    await_condition_of(
        &kubectl,
        &["infraenv", "own"],
        "ImageCreated",
        "MissingClusterDeployment",
        "pools/hc1",
    );
    assert!(!served.log().contains("hunter2"));
}

fn an_infra_env_goes_with_its_unbound_hosts_and_names_those_that_keep_it(api: Api) {
    let (served, kubectl) = serve(api);
    let client = served.http();
    kubectl.apply(&cluster(json!({"installed": true})));
    kubectl.run(&["wait", "aci/hc1", "--for=condition=Completed", "--timeout=120s"]);
    let of_cluster = json!({"clusterRef": {"name": "hc1"}});
    kubectl.apply(&[
        good_pull_secret(),
        infra_env("pool", json!({})),
        infra_env("own", of_cluster),
    ]);
    for (name, host) in [("pool", "5a"), ("own", "5b")] {
        let path = format!("/infra-envs/{}/hosts", id_of(&kubectl, name));
        let host = format!("55555555-0000-4000-8000-0000000000{host}");
        let body = json!({"host_id": host, "discovery_agent_version": "v1"});
        client.post(&path, &body).expect(201);
    }
    kubectl.run(&["delete", "infraenv", "pool", "--timeout=120s"]);

    kubectl.run(&["delete", "infraenv", "own", "--wait=false"]);
    let object = ["infraenv", "own"];
    let reported = await_condition_of(&kubectl, &object, "DeletionBlocked", "HostsInUse", "0000000000");
    assert!(
        reported.contains("55555555-0000-4000-8000-00000000005b (discovering)"),
        "{reported}"
    );
    let envs = client.get("/infra-envs").expect(200).json();
    assert_eq!(envs.as_array().unwrap().len(), 1);

    // The cluster is deleted, with the hosts that were its own.
    kubectl.run(&["delete", "clusterdeployment", "hc1", "--timeout=120s"]);
    kubectl.run(&["wait", "infraenv/own", "--for=delete", "--timeout=120s"]);
    let envs = client.get("/infra-envs").expect(200).json();
    assert_eq!(envs, json!([]));
}
