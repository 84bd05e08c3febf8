//! Custom resources on unusual API servers: objects that cannot be read, kinds that are removed, servers that refuse,
//! controllers of another service, and the end of an installation.

use muster_tests::artifacts::muster_program;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{host_id, known_host};
use muster_tests::kube::world::{
    NAMESPACE, SOON, World, await_leader_status, await_leader_status_within, infra_env,
};
use muster_tests::kube::{Api, Kubectl, on_each_api};
use muster_tests::process::{command, output_within, run};
use serde_json::{Value, json};

on_each_api! {
    objects_that_cannot_be_read_cost_themselves_and_nobody_else,
    agents_that_the_api_server_refuses_are_told_on_their_infra_env,
    conditions_say_of_which_spec_they_are,
}

/// Definitions, each with an object that its controller cannot read if the schema accepts it.
fn unreadable() -> [(&'static str, Value); 6] {
    let object = |api_version: &str, kind: &str, name: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    let (own, hive) = ("agent-install.openshift.io/v1beta1", "hive.openshift.io/v1");
    let secret = json!({"name": "pull-secret"});
    [
        (
            "infraenvs.agent-install.openshift.io",
            object(
                own,
                "InfraEnv",
                "unreadable",
                json!({"pullSecretRef": secret, "networkDiscoveryDelaySeconds": "soon"}),
            ),
        ),
        (
            "agents.agent-install.openshift.io",
            object(
                own,
                "Agent",
                "7d1f0c0e-0000-4000-8000-000000000001",
                json!({"approved": "perhaps"}),
            ),
        ),
        (
            "nmstateconfigs.agent-install.openshift.io",
            object(
                own,
                "NMStateConfig",
                "unreadable",
                json!({"interfaces": "all of them"}),
            ),
        ),
        (
            "agentclassifications.agent-install.openshift.io",
            object(
                own,
                "AgentClassification",
                "unreadable",
                json!({"labelKey": 7, "labelValue": "x", "query": "true"}),
            ),
        ),
        (
            "agentclusterinstalls.extensions.hive.openshift.io",
            object(
                "extensions.hive.openshift.io/v1beta1",
                "AgentClusterInstall",
                "unreadable",
                json!({"provisionRequirements": "three"}),
            ),
        ),
        (
            "clusterdeployments.hive.openshift.io",
            object(
                hive,
                "ClusterDeployment",
                "unreadable",
                json!({"clusterName": ["a", "b"]}),
            ),
        ),
    ]
}

/// Replaces a definition's schema by one that accepts everything, like that of a newer version.
fn loosen(kubectl: &Kubectl, definition: &str) {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/schema", "value": schema}]).to_string();
    kubectl.run(&["patch", "crd", definition, "--type", "json", "-p", &patch]);
}

/// The message of a condition, or an empty text.
fn message(object: &Value, type_: &str) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|one| one["type"] == type_)?;
    Some(found["message"].as_str()?.to_owned())
}

fn objects_that_cannot_be_read_cost_themselves_and_nobody_else(api: Api) {
    let mut world = World::on(api);
    for (definition, object) in unreadable() {
        loosen(&world.kubectl, definition);
        let text = object.to_string();
        // A real server takes the new schema a moment later.
        await_condition(&format!("{definition} to take anything"), SOON, || {
            let file = world.kubectl.file("unreadable.json", &text);
            let applied = world.kubectl.try_run(&["apply", "--validate=false", "-f", &file]);
            if applied.succeeded {
                Ok(())
            } else {
                Err(applied.err)
            }
        });
    }
    let told = |world: &World| {
        for (kind, name, condition) in [
            ("infraenv", "unreadable", "ImageCreated"),
            ("agent", "7d1f0c0e-0000-4000-8000-000000000001", "SpecSynced"),
            ("agentclusterinstall", "unreadable", "SpecSynced"),
            ("agentclassification", "unreadable", "QueryErrors"),
        ] {
            let what = format!("{kind}/{name} to say that it cannot be read");
            world.kubectl.await_that(&what, &[kind, name], SOON, |seen| {
                message(seen, condition)?.contains("cannot be read").then_some(())
            });
        }
    };
    told(&world);
    // Kinds without a condition of ours are reported by Events only.
    await_condition("Events of what cannot be read", SOON, || {
        let events = world
            .kubectl
            .get(&["events", "--field-selector", "reason=Unreadable"]);
        let count = events["items"].as_array().map_or(0, Vec::len);
        if count >= 4 {
            Ok(())
        } else {
            Err(events.to_string())
        }
    });

    // The first list is where one bad item would make all others fail.
    world.service.terminate();
    world.service.start_again();
    world.service.await_leading();
    let path = world.infra_env(&json!({"nmStateConfigLabelSelector": {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}}));
    known_host(&world.client(), &path, 1);
    world
        .kubectl
        .await_that("the Agent", &["agent", &host_id(1)], SOON, |_| Some(()));
    world.patch_agent(&host_id(1), &json!({"approved": true}));
    world.await_agent(&host_id(1), "RequirementsMet", "True", "AgentIsReady");
    let networks = world.kubectl.get(&["infraenv", "hw"]);
    let networks = message(&networks, "StaticNetworkApplied").unwrap_or_default();
    assert!(networks.contains("unreadable: it cannot be read"), "{networks}");
    told(&world);
    let metrics = world.client().request("GET", "/metrics", None).text();
    assert!(
        metrics.contains("muster_unreadable_objects_total{kind=\"Agent\"}"),
        "{metrics}"
    );
    await_leader_status(&world.client(), "ok, leading");

    // After the correction it is an object like others.
    world.kubectl.run(&[
        "patch",
        "infraenv",
        "unreadable",
        "--type",
        "merge",
        "-p",
        r#"{"spec":{"networkDiscoveryDelaySeconds":5}}"#,
    ]);
    world.kubectl.run(&[
        "wait",
        "--for=condition=ImageCreated",
        "infraenv/unreadable",
        "--timeout=120s",
    ]);
}

fn agents_that_the_api_server_refuses_are_told_on_their_infra_env(api: Api) {
    let world = World::on(api);
    // A label that is invalid for Agents is reported on the InfraEnv.
    let path = world.infra_env(&json!({}));
    let label = |value: &str| {
        let patch = json!({"spec": {"agentLabels": {"rack": value}}}).to_string();
        world
            .kubectl
            .run(&["patch", "infraenv", "hw", "--type", "merge", "-p", &patch]);
    };
    label("a b");
    world.kubectl.await_that(
        "the InfraEnv to name the label",
        &["infraenv", "hw"],
        SOON,
        |seen| {
            message(seen, "ImageCreated")?
                .contains("spec.agentLabels")
                .then_some(())
        },
    );
    label("a");
    world.await_image();

    // Other reasons to refuse Agents: a quota, a webhook, a schema.
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/minProperties";
    let definition = "agents.agent-install.openshift.io";
    let patch = |patch: Value| {
        world.kubectl.run(&[
            "patch",
            "crd",
            definition,
            "--type",
            "json",
            "-p",
            &patch.to_string(),
        ]);
    };
    patch(json!([{"op": "add", "path": schema, "value": 90}]));
    let manual = json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": {"name": "probe"}, "spec": {"approved": false}});
    let file = world.kubectl.file("agent.json", &manual.to_string());
    await_condition("Agents to be refused", SOON, || {
        let printed = world
            .kubectl
            .try_run(&["create", "--dry-run=server", "-f", &file]);
        if printed.succeeded {
            Err("they are taken".to_owned())
        } else {
            Ok(())
        }
    });
    known_host(&world.client(), &path, 1);
    known_host(&world.client(), &path, 2);
    world.kubectl.await_that(
        "the InfraEnv to say that Agents are refused",
        &["infraenv", "hw"],
        SOON,
        |seen| {
            message(seen, "AgentsCreated")?
                .contains("2 hosts have no Agents")
                .then_some(())
        },
    );
    patch(json!([{"op": "remove", "path": schema}]));
    for host in [1, 2] {
        world
            .kubectl
            .await_that("the Agent", &["agent", &host_id(host)], SOON, |_| Some(()));
    }
    world
        .kubectl
        .await_that("the condition to go", &["infraenv", "hw"], SOON, |seen| {
            message(seen, "AgentsCreated").is_none().then_some(())
        });
}

fn conditions_say_of_which_spec_they_are(api: Api) {
    let world = World::on(api);
    let path = world.infra_env(&json!({}));
    known_host(&world.client(), &path, 1);
    let id = host_id(1);
    world.await_agent(&id, "SpecSynced", "True", "SyncOK");
    // Conditions of the earlier spec do not end this wait.
    world.patch_agent(&id, &json!({"hostname": "worker-1"}));
    let agent = format!("agent/{id}");
    world
        .kubectl
        .run(&["wait", "--for=condition=SpecSynced", &agent, "--timeout=120s"]);
    let seen = world.kubectl.get(&["agent", &id]);
    assert_eq!(
        seen["status"]["observedGeneration"], seen["metadata"]["generation"],
        "{seen}"
    );
    let hosts = world
        .client()
        .get(&format!("{path}/hosts/{id}"))
        .expect(200)
        .json();
    assert_eq!(hosts["requested_hostname"], "worker-1");
    let infra_env = world.kubectl.get(&["infraenv", "hw"]);
    assert_eq!(
        infra_env["status"]["observedGeneration"],
        infra_env["metadata"]["generation"]
    );
}

#[test]
fn a_kind_that_goes_while_it_is_watched_is_told_and_the_rest_works_on() {
    let world = World::on(Api::Real);
    let path = world.infra_env(&json!({}));
    let definition = "nmstateconfigs.agent-install.openshift.io";
    let kept = world.kubectl.run(&["get", "crd", definition, "-o", "json"]);
    world.kubectl.run(&["delete", "crd", definition]);
    println!("{}", await_leader_status(&world.client(), "nmstateconfigs"));
    known_host(&world.client(), &path, 1);
    world
        .kubectl
        .await_that("the Agent", &["agent", &host_id(1)], SOON, |_| Some(()));
    let mut kept: Value = serde_json::from_str(&kept).unwrap();
    kept["metadata"] = json!({"name": definition});
    kept["status"] = Value::Null;
    world.kubectl.run_with(&["create", "-f", "-"], &kept.to_string());
    // A watch that works again is silent while there are no objects.
    let network = json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig", "metadata": {"name": "one"}, "spec": {}});
    let file = world.kubectl.file("network.json", &network.to_string());
    await_condition("the kind to be back", SOON, || {
        let applied = world.kubectl.try_run(&["apply", "-f", &file]);
        if applied.succeeded {
            Ok(())
        } else {
            Err(applied.err)
        }
    });
    // Two tries of kube's back-off, a minute each at most: the API server first lists the kind from before.
    await_leader_status_within(LEAST_LIMIT * 2, &world.client(), "ok, leading");
}

#[test]
fn somebody_elses_controllers_are_left_alone_until_they_end() {
    let mut world = World::on(Api::Real);
    world.service.terminate();
    world.kubectl.run(&["create", "namespace", "mce"]);
    let lease = |renewed: &str| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "77190dcb.agent-install.openshift.io", "namespace": "mce"},
            "spec": {"holderIdentity": "assisted-service-0", "leaseDurationSeconds": 15, "renewTime": renewed}})
    };
    let theirs = world.kubectl.namespace("mce");
    let renewed = chrono::Utc::now() + chrono::TimeDelta::seconds(50);
    theirs.apply(&[lease(&renewed.format("%Y-%m-%dT%H:%M:%S.000000Z").to_string())]);
    // A service that ran its controllers within the last hour would continue.
    let own = world.kubectl.namespace("muster");
    own.run(&["delete", "lease", "77190dcb.agent-install.openshift.io"]);
    world.service.start_again();
    let said = await_leader_status(&world.client(), "assisted-service-0 in the namespace mce");
    assert!(said.contains("--take-over"), "{said}");
    // REST works meanwhile; and so do controllers after the lease has expired.
    world.client().get("/infra-envs").expect(200);
    theirs.apply(&[lease("2026-01-01T00:00:00.000000Z")]);
    await_leader_status(&world.client(), "ok, leading");
}

#[test]
fn an_uninstallation_leaves_nothing_in_terminating() {
    let mut world = World::on(Api::Real);
    let path = world.infra_env(&json!({}));
    known_host(&world.client(), &path, 1);
    world.await_agreement(&path);
    world.kubectl.apply(&[
        json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentClassification", "metadata": {"name": "all"},
            "spec": {"labelKey": "all", "labelValue": "yes", "query": "true"}}),
        json!({"apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment", "metadata": {"name": "c"}, "spec": {
            "baseDomain": "example.test", "clusterName": "c", "platform": {"agentBareMetal": {"agentSelector": {}}},
            "pullSecretRef": {"name": "pull-secret"}, "clusterInstallRef": {"group": "extensions.hive.openshift.io", "kind": "AgentClusterInstall", "name": "c", "version": "v1beta1"}}}),
        json!({"apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall", "metadata": {"name": "c"}, "spec": {
            "clusterDeploymentRef": {"name": "c"}, "networking": {"userManagedNetworking": true},
            "provisionRequirements": {"controlPlaneAgents": 3}}}),
    ]);
    for (kind, name) in [
        ("agentclassification", "all"),
        ("infraenv", "hw"),
        ("agent", &host_id(1)),
    ] {
        world
            .kubectl
            .await_that("our finalizer", &[kind, name], SOON, |seen| {
                seen["metadata"]["finalizers"]
                    .as_array()
                    .is_some_and(|list| !list.is_empty())
                    .then_some(())
            });
    }
    let kubeconfig = world.kubectl.kubeconfig().to_owned();
    let uninstall = |more: &[&str]| {
        let mut muster = command(muster_program());
        muster
            .args(["uninstall", "--kubeconfig"])
            .arg(&kubeconfig)
            .args(more);
        output_within(&mut muster, b"", LEAST_LIMIT)
    };
    let refused = uninstall(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("controllers run") && said.contains("--replicas=0"),
        "{said}"
    );
    world.service.terminate();
    let told = String::from_utf8(uninstall(&["--dry-run"]).stdout).unwrap();
    assert!(
        told.contains("would release 1 infraenvs.agent-install.openshift.io"),
        "{told}"
    );
    let done = uninstall(&[]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && said.contains("released 1 agents.agent-install.openshift.io"),
        "{said}"
    );
    println!("{said}");

    world
        .kubectl
        .run(&["delete", "namespace", NAMESPACE, "--timeout=120s"]);
    let crds = run(command(muster_program()).args(["crds", "--all"]));
    world
        .kubectl
        .run_with(&["delete", "--timeout=120s", "-f", "-"], &crds);
    let left = world.kubectl.run(&["get", "crds,namespaces", "-A", "-o", "name"]);
    assert!(
        !left.contains("agent-install") && !left.contains(NAMESPACE),
        "{left}"
    );
    let nothing = uninstall(&[]);
    assert!(String::from_utf8_lossy(&nothing.stdout).contains("no object is held"));
}

#[test]
fn definitions_that_somebody_else_owns_are_left_out() {
    let world = World::on(Api::Real);
    let definition = "infraenvs.agent-install.openshift.io";
    world
        .kubectl
        .run(&["delete", "crd", "nmstateconfigs.agent-install.openshift.io"]);
    world.kubectl.run(&[
        "label",
        "crd",
        definition,
        "operators.coreos.com/multicluster-engine.mce=",
    ]);
    let mut muster = command(muster_program());
    muster
        .args(["crds", "--missing", "--kubeconfig"])
        .arg(world.kubectl.kubeconfig());
    let output = output_within(&mut muster, b"", LEAST_LIMIT);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{err}");
    assert_eq!(out.matches("kind: CustomResourceDefinition").count(), 1, "{out}");
    assert!(
        out.contains("name: nmstateconfigs.agent-install.openshift.io"),
        "{out}"
    );
    assert!(err.contains("infraenvs.agent-install.openshift.io is there and left as it is (installed by the operator multicluster-engine.mce)"), "{err}");
}

/// Its finalizer was removed manually while no controller ran.
#[test]
fn hosts_whose_infra_env_went_without_us_wait_for_it_and_are_told() {
    let mut world = World::on(Api::Real);
    let path = world.infra_env(&json!({}));
    known_host(&world.client(), &path, 1);
    world.await_agreement(&path);
    world.service.kill();
    world.kubectl.run(&["delete", "infraenv", "hw", "--wait=false"]);
    let release = r#"{"metadata":{"finalizers":null}}"#;
    world
        .kubectl
        .run(&["patch", "infraenv", "hw", "--type", "merge", "-p", release]);
    world.service.start_again();
    known_host(&world.client(), &path, 2);
    let said = await_leader_status(
        &world.client(),
        "their InfraEnvs have no custom resources (hardware/hw)",
    );
    println!("{said}");
    let metrics = world.client().request("GET", "/metrics", None).text();
    assert!(
        metrics.contains("muster_hosts_without_infra_env_resource"),
        "{metrics}"
    );
    world.kubectl.apply(&[infra_env(&json!({}))]);
    world.await_image();
    world
        .kubectl
        .await_that("the Agent", &["agent", &host_id(2)], SOON, |_| Some(()));
    await_leader_status(&world.client(), "ok, leading");
}
