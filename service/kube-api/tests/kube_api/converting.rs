//! Versions of a kind with different content: Cluster API's Machines, converted by the program that embeds the API.

use crate::kubectl::Kubectl;
use crate::peers::Peer;

on_both! {
    each_version_is_read_written_and_watched,
    an_applier_may_change_the_version_and_others_keep_their_fields,
    what_only_one_version_holds_survives_writes_of_the_other,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_uses_both_versions() {
    let peer = Peer::built_in(muster_kube_api::Kind::Sqlite).await;
    peer.shelf("typed").await;
    let folder = tempfile::tempdir().unwrap();
    let kubectl = Kubectl::with_config(&peer.kubeconfig_in(folder.path())).in_namespace("typed");
    let file = kubectl.file("m.yaml", &cases::older("m").to_string());
    let applied = kubectl.run(&["apply", "-f", &file]).await;
    assert_eq!(applied.trim(), "machine.cluster.x-k8s.io/m created");
    for (version, path, expected) in [
        ("v1beta1", "{.spec.nodeDrainTimeout}", "1m30s"),
        ("v1beta2", "{.spec.deletion.nodeDrainTimeoutSeconds}", "90"),
        (
            "v1beta1",
            "{.spec.infrastructureRef.apiVersion}",
            "capi-provider.agent-install.openshift.io/v1beta1",
        ),
        (
            "v1beta2",
            "{.spec.infrastructureRef.apiGroup}",
            "capi-provider.agent-install.openshift.io",
        ),
    ] {
        let resource = format!("machines.{version}.cluster.x-k8s.io");
        let output = format!("jsonpath={path}");
        assert_eq!(
            kubectl.run(&["get", &resource, "m", "-o", &output]).await,
            expected,
            "{version}"
        );
    }
    // A second apply changes nothing, and an apply in the other version changes only its fields.
    assert!(kubectl.run(&["apply", "-f", &file]).await.contains("unchanged"));
    let mut newer = cases::newer("m");
    newer["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = 60.into();
    let file = kubectl.file("n.yaml", &newer.to_string());
    kubectl
        .run(&["apply", "--server-side", "--force-conflicts", "-f", &file])
        .await;
    let output = "jsonpath={.spec.nodeDrainTimeout}";
    let resource = "machines.v1beta1.cluster.x-k8s.io";
    assert_eq!(kubectl.run(&["get", resource, "m", "-o", output]).await, "1m0s");
    let table = kubectl.run(&["get", "ma"]).await;
    let headings = "NAME CLUSTER NODE NAME READY AVAILABLE UP-TO-DATE PHASE AGE VERSION";
    let first: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first.join(" "), headings);
    let table = kubectl.run(&["get", resource]).await;
    let first: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        first.join(" "),
        "NAME CLUSTER NODENAME PROVIDERID PHASE AGE VERSION"
    );
}

mod cases {
    use std::time::Duration;

    use ::http::StatusCode;
    use serde_json::{Value, json};

    use crate::http::Events;
    use crate::world::{World, client};

    const OLDER: &str = "/apis/cluster.x-k8s.io/v1beta1/namespaces/shelf/machines";
    const NEWER: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/shelf/machines";
    const APPLY: &str = "application/apply-patch+yaml";

    /// As HyperShift writes it.
    pub fn older(name: &str) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": name, "labels": {"a": "b"}},
            "spec": {
                "clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "nodeDrainTimeout": "1m30s",
                "infrastructureRef": {"apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachine", "name": name},
            },
        })
    }

    /// As the provider reads it.
    pub fn newer(name: &str) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": name},
            "spec": {
                "clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "deletion": {"nodeDrainTimeoutSeconds": 90},
                "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": name},
            },
        })
    }

    async fn next(events: &mut Events) -> Value {
        let found = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
        found.expect("an event in time").expect("an event")
    }

    pub async fn each_version_is_read_written_and_watched(world: World) {
        world.post(OLDER, older("m")).await;
        let stored = world.get(&format!("{NEWER}/m")).await;
        assert_eq!(stored["apiVersion"], "cluster.x-k8s.io/v1beta2");
        assert_eq!(stored["spec"]["deletion"], json!({"nodeDrainTimeoutSeconds": 90}));
        assert_eq!(stored["metadata"]["generation"], 1);

        // Lists: whole, as metadata, as tables, by label.
        let listed = world.get(&format!("{OLDER}?labelSelector=a%3Db")).await;
        assert_eq!(listed["items"][0]["spec"]["nodeDrainTimeout"], "1m30s");
        let listed = world.get(NEWER).await;
        assert_eq!(
            listed["items"][0]["spec"]["infrastructureRef"]["kind"],
            "AgentMachine"
        );
        assert_eq!(
            listed["items"][0]["spec"]["infrastructureRef"].get("apiVersion"),
            None
        );

        let (older, newer) = (format!("{OLDER}?watch=true"), format!("{NEWER}?watch=true"));
        let mut seen_older = Events::open(&client(&world.api), &older).await;
        let mut seen_newer = Events::open(&client(&world.api), &newer).await;
        assert_eq!(
            next(&mut seen_older).await["object"]["spec"]["nodeDrainTimeout"],
            "1m30s"
        );
        next(&mut seen_newer).await;
        world
            .merge(
                &format!("{NEWER}/m"),
                json!({"spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}}}),
            )
            .await;
        let event = next(&mut seen_older).await;
        assert_eq!(event["type"], "MODIFIED");
        assert_eq!(event["object"]["spec"]["nodeDrainTimeout"], "1m0s");
        let event = next(&mut seen_newer).await;
        assert_eq!(event["object"]["spec"]["deletion"]["nodeDrainTimeoutSeconds"], 60);

        // The status, in the form of each version.
        let status = json!({"status": {"infrastructureReady": true, "nodeRef": {"kind": "Node", "name": "n", "apiVersion": "v1"}}});
        let changed = world.merge(&format!("{OLDER}/m/status"), status).await;
        assert_eq!(changed["status"]["nodeRef"]["kind"], "Node");
        let stored = world.get(&format!("{NEWER}/m")).await;
        assert_eq!(stored["status"]["nodeRef"], json!({"name": "n"}));
        assert_eq!(
            stored["status"]["initialization"]["infrastructureProvisioned"],
            true
        );

        // An update without changes writes nothing, in either version.
        for path in [OLDER, NEWER] {
            let before = world.get(&format!("{path}/m")).await;
            let after = world.put(&format!("{path}/m"), &before).await;
            assert_eq!(
                before["metadata"]["resourceVersion"],
                after["metadata"]["resourceVersion"]
            );
        }
        let invalid = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "x"}, "spec": {}});
        let (code, reason, message) = world.refused("POST", OLDER, invalid).await;
        assert_eq!((code, reason.as_str()), (422, "Invalid"), "{message}");
    }

    pub async fn an_applier_may_change_the_version_and_others_keep_their_fields(world: World) {
        let apply = async |path: &str, manager: &str, object: Value| {
            let path = format!("{path}/m?fieldManager={manager}");
            world.send("PATCH", &path, APPLY, object.to_string()).await
        };
        let (status, body) = apply(OLDER, "hypershift", older("m")).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        // Another manager's field, in the other version.
        let other = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "m"},
            "spec": {"clusterName": "c", "bootstrap": {}, "providerID": "agent://1",
                "infrastructureRef": newer("m")["spec"]["infrastructureRef"]}});
        let (status, body) = apply(NEWER, "provider", other).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        // A conflict is found through the other version's name of the field.
        let mut stolen = newer("m");
        stolen["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = 30.into();
        let (status, body) = apply(NEWER, "provider", stolen.clone()).await;
        assert_eq!(status, StatusCode::CONFLICT, "{body}");
        assert!(
            body["message"]
                .as_str()
                .unwrap()
                .contains(".spec.nodeDrainTimeout"),
            "{body}"
        );
        // The first applier moves to the newer version and leaves out its timeout: that is removed, and the fields of the other applier
        // stay.
        let mut without = newer("m");
        without["spec"].as_object_mut().unwrap().remove("deletion");
        let (status, body) = apply(NEWER, "hypershift", without).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(body["spec"].get("deletion"), None, "{body}");
        assert_eq!(body["spec"]["providerID"], "agent://1");
        let managers = body["metadata"]["managedFields"].as_array().unwrap();
        let versions: Vec<(&str, &str)> = managers
            .iter()
            .map(|entry| {
                (
                    entry["manager"].as_str().unwrap(),
                    entry["apiVersion"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(versions.len(), 2, "{versions:?}");
        assert!(
            versions.contains(&("hypershift", "cluster.x-k8s.io/v1beta2")),
            "{versions:?}"
        );
    }

    pub async fn what_only_one_version_holds_survives_writes_of_the_other(world: World) {
        let mut machine = older("m");
        machine["spec"]["nodeDrainTimeout"] = "90.5s".into();
        world.post(OLDER, machine).await;
        world
            .merge(&format!("{NEWER}/m"), json!({"spec": {"minReadySeconds": 5}}))
            .await;
        let read = world.get(&format!("{OLDER}/m")).await;
        assert_eq!(read["spec"]["nodeDrainTimeout"], "90.5s");
        assert_eq!(read["spec"].get("minReadySeconds"), None);
        world
            .merge(
                &format!("{OLDER}/m"),
                json!({"spec": {"providerID": "agent://1"}}),
            )
            .await;
        let read = world.get(&format!("{NEWER}/m")).await;
        assert_eq!(read["spec"]["minReadySeconds"], 5);
        assert_eq!(read["spec"]["providerID"], "agent://1");
    }
}
