//! Tests Agents and their BareMetalHosts: which belong together, and the values that an Agent gets. Source:
//! docs/protocol/kube-controllers.md#7.

use kube::ResourceExt;
use muster_resources::Agent;
use muster_resources::metal3::BareMetalHost;
use serde_json::{Value, json};

use super::{agent, host, infra_env, merge};
use crate::bare_metal_host::agent_spec;
use crate::bare_metal_host::agents::{AgentView, agent_of, claimants, elder_of};
use crate::bare_metal_host::seen::Progress;

fn view(name: &str, namespace: &str, created: &str, mac: &str) -> AgentView {
    view_with(name, namespace, created, mac, &json!({}))
}

fn view_with(name: &str, namespace: &str, created: &str, mac: &str, more: &Value) -> AgentView {
    let mut agent = json!({
        "metadata": {
            "name": name, "namespace": namespace, "creationTimestamp": created,
            "labels": {"infraenvs.agent-install.openshift.io": "hw"},
        },
        "status": {"inventory": {"interfaces": [{"macAddress": "52:54:00:ff:ff:ff"}, {"macAddress": mac}]}},
    });
    merge(&mut agent, more);
    serde_json::from_value(agent).unwrap()
}

fn found(all: &[AgentView]) -> Option<String> {
    agent_of(&host("", json!({})), all).map(ResourceExt::name_any)
}

#[test]
fn the_newest_agent_of_the_infra_env_with_the_mac_is_taken_however_that_is_written() {
    let all = [
        view("old", "lab", "2026-11-24T10:00:00Z", "52:54:00:aa:00:01"),
        view("new", "lab", "2026-11-24T11:00:00Z", "52:54:00:AA:00:01"),
        view("other", "lab", "2026-11-24T12:00:00Z", "52:54:00:aa:00:02"),
        view("elsewhere", "else", "2026-11-24T12:00:00Z", "52:54:00:aa:00:01"),
    ];
    assert_eq!(found(&all).as_deref(), Some("new"));
    let nameless = host("", json!({"spec": {"bootMACAddress": null}}));
    assert!(agent_of(&nameless, &all).is_none());
}

/// Conditions of an Agent that is in the discovery system.
fn heard() -> Value {
    json!({"conditions": [
        {"type": "Connected", "status": "True"}, {"type": "Bound", "status": "False", "reason": "Unbound"},
    ]})
}

#[test]
fn a_machine_that_only_reports_the_mac_takes_nobodys_place() {
    let (old, new, mac) = (
        "2026-11-24T10:00:00Z",
        "2026-11-24T11:00:00Z",
        "52:54:00:aa:00:01",
    );
    let with = |name: &str, created: &str, label: Value, status: Value| {
        let more = json!({"metadata": {"labels": label}, "status": status});
        view_with(name, "lab", created, mac, &more)
    };
    let of_other_pool = with(
        "stranger",
        new,
        json!({"infraenvs.agent-install.openshift.io": "low-trust"}),
        heard(),
    );
    assert_eq!(found(std::slice::from_ref(&of_other_pool)), None);

    let tied = json!({"agent-install.openshift.io/bmh": "h"});
    let newcomer = with("newcomer", new, json!({}), heard());
    let in_cluster = json!({"conditions": [
        {"type": "Connected", "status": "False"}, {"type": "Bound", "status": "True", "reason": "Bound"},
    ]});
    let on_its_way = json!({"inventory": null, "conditions": [
        {"type": "Connected", "status": "False"}, {"type": "Bound", "status": "False", "reason": "Binding"},
    ]});
    for status in [heard(), in_cluster, on_its_way] {
        let right = with("right", old, tied.clone(), status.clone());
        let all = [right, newcomer.clone(), of_other_pool.clone()];
        assert_eq!(found(&all).as_deref(), Some("right"), "{status}");
        let others = claimants(&host("", json!({})), Some("right"), &all);
        let others: Vec<&str> = others.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(others, ["newcomer", "stranger"]);
    }
    let silent = json!({"conditions": [
        {"type": "Connected", "status": "False"}, {"type": "Bound", "status": "False", "reason": "Unbound"},
    ]});
    let gone = with("gone", old, tied.clone(), silent);
    assert_eq!(
        found(&[gone.clone(), newcomer.clone()]).as_deref(),
        Some("newcomer")
    );
    assert!(claimants(&host("", json!({})), Some("newcomer"), &[gone, newcomer]).is_empty());
    // The user set another address on the BareMetalHost.
    let of_other_mac = view_with(
        "right",
        "lab",
        old,
        "52:54:00:aa:00:02",
        &json!({"metadata": {"labels": tied}, "status": heard()}),
    );
    assert_eq!(found(&[of_other_mac]), None);
}

#[test]
fn of_two_hosts_with_one_mac_the_elder_has_the_agent() {
    let named = |name: &str, created: &str, more: Value| {
        let mut of = json!({"metadata": {"name": name, "creationTimestamp": created}});
        merge(&mut of, &more);
        host("", of)
    };
    let (old, new) = ("2026-11-24T10:00:00Z", "2026-11-24T11:00:00Z");
    let all = [
        named("b", old, json!({"spec": {"bootMACAddress": "52:54:00:aa:00:01"}})),
        named("a", new, json!({})),
        named(
            "other-mac",
            old,
            json!({"spec": {"bootMACAddress": "52:54:00:aa:00:02"}}),
        ),
        named("elsewhere", old, json!({"metadata": {"namespace": "else"}})),
        named("not-ours", old, json!({"metadata": {"labels": null}})),
    ];
    let all: Vec<_> = all.into_iter().map(std::sync::Arc::new).collect();
    let elder = |host: &BareMetalHost| elder_of(host, &all).map(|elder| elder.name_any());
    assert_eq!(elder(&all[0]), None);
    assert_eq!(elder(&all[1]).as_deref(), Some("b"));
    assert_eq!(
        elder(&named("c", old, json!({}))).as_deref(),
        Some("b"),
        "by name at the same time"
    );
}

fn edits_of(annotations: Value, agent: &Agent) -> (Option<Value>, Vec<String>) {
    let host = host("provisioned", json!({"metadata": {"annotations": annotations}}));
    let (edits, problems) = agent_spec::edits(&host, Some(&infra_env(60)), agent);
    (edits.patch(agent), problems)
}

fn settled(more: Value) -> Agent {
    let mut with = json!({"metadata": {"labels": {"agent-install.openshift.io/bmh": "h"}}});
    merge(&mut with, &more);
    agent(with)
}

#[test]
fn an_agent_is_approved_and_gets_what_the_annotations_say() {
    let annotations = json!({
        "bmac.agent-install.openshift.io/role": "worker",
        "bmac.agent-install.openshift.io/hostname": "node-1",
        "bmac.agent-install.openshift.io/machine-config-pool": "infra",
        "bmac.agent-install.openshift.io/installer-args": "[\"-n\"]",
        "bmac.agent-install.openshift.io/ignition-config-overrides": "{}",
        "bmac.agent-install.openshift.io/cluster-reference": "clusters/one",
        "bmac.agent-install.openshift.io/create-fencing-credentials-secret": "",
        "bmac.agent-install.openshift.io.agent-label.rack": "7",
        "bmac.agent-install.openshift.io.node-label.node-role.kubernetes.io/infra": "",
    });
    let fresh = agent(json!({"spec": {"approved": false, "nodeLabels": {"by-hand": "x"}}}));
    let (patch, problems) = edits_of(annotations.clone(), &fresh);
    assert_eq!(
        patch.unwrap(),
        json!({
            "metadata": {"resourceVersion": "9", "labels": {"agent-install.openshift.io/bmh": "h", "rack": "7"}},
            "spec": {
                "approved": true, "role": "worker", "hostname": "node-1", "machineConfigPool": "infra",
                "installerArgs": "[\"-n\"]", "ignitionConfigOverrides": "{}",
                "clusterDeploymentName": {"name": "one", "namespace": "clusters"},
                "fencingCredentialsSecretRef": "a-fencing-credentials",
                "nodeLabels": {"by-hand": null, "node-role.kubernetes.io/infra": ""},
            },
        })
    );
    assert!(problems.is_empty(), "{problems:?}");
    // Edited by hand: changed back. Not set on the BareMetalHost: not changed.
    let by_hand = settled(json!({"spec": {"role": "master", "hostname": "mine"}}));
    let role = json!({"bmac.agent-install.openshift.io/role": "worker"});
    assert_eq!(
        edits_of(role, &by_hand).0.unwrap()["spec"],
        json!({"role": "worker"})
    );
    assert_eq!(edits_of(json!({}), &by_hand).0, None);
}

#[test]
fn labels_that_come_from_the_infra_env_survive_the_replacement() {
    let agent = settled(json!({
        "metadata": {"annotations": {"agent.agent-install.openshift.io/inherited-node-labels": "site"}},
        "spec": {"nodeLabels": {"site": "s", "by-hand": "x"}},
    }));
    let one = json!({"bmac.agent-install.openshift.io.node-label.a": "b"});
    assert_eq!(
        edits_of(one, &agent).0.unwrap()["spec"]["nodeLabels"],
        json!({"by-hand": null, "site": "s", "a": "b"})
    );
    assert_eq!(edits_of(json!({}), &agent).0, None);
}

#[test]
fn a_cluster_reference_binds_unbinds_or_is_told_to_be_wrong() {
    let key = "bmac.agent-install.openshift.io/cluster-reference";
    let bound = settled(json!({"spec": {"clusterDeploymentName": {"name": "one", "namespace": "clusters"}}}));
    assert_eq!(edits_of(json!({key: "clusters/one"}), &bound).0, None);
    assert_eq!(
        edits_of(json!({key: ""}), &bound).0.unwrap()["spec"],
        json!({"clusterDeploymentName": null})
    );
    let (patch, problems) = edits_of(json!({key: "one"}), &bound);
    assert_eq!(patch, None);
    assert!(problems[0].contains("NAMESPACE/NAME"), "{problems:?}");
    let mut owned = infra_env(60);
    owned.spec.cluster_ref = serde_json::from_value(json!({"name": "one", "namespace": "c"})).unwrap();
    let host = host(
        "provisioned",
        json!({"metadata": {"annotations": {key: "clusters/two"}}}),
    );
    let (edits, problems) = agent_spec::edits(&host, Some(&owned), &bound);
    assert!(
        edits.patch(&bound).is_none() && problems[0].contains("clusterRef"),
        "{problems:?}"
    );
}

#[test]
fn hints_set_the_disk_until_the_installation_begins() {
    let disks = json!({"inventory": {"disks": [{
        "id": "/dev/disk/by-id/x", "path": "/dev/sda", "driveType": "HDD",
        "installationEligibility": {"eligible": true, "notEligibleReasons": []},
    }]}});
    let with_hints = |hints: Value, agent: &Agent| {
        let host = host("provisioned", json!({"spec": {"rootDeviceHints": hints}}));
        agent_spec::edits(&host, None, agent).0.patch(agent)
    };
    let known = settled(json!({"spec": {"installation_disk_path": "/dev/sdb"}, "status": disks}));
    assert_eq!(
        with_hints(json!({"deviceName": "/dev/sda"}), &known).unwrap()["spec"],
        json!({"installation_disk_id": "/dev/disk/by-id/x", "installation_disk_path": null})
    );
    assert_eq!(
        with_hints(json!({"deviceName": "/dev/sdq"}), &known).unwrap()["spec"]["installation_disk_id"],
        "/dev/not-found-by-hints"
    );
    let mut busy = json!({"status": disks});
    merge(
        &mut busy,
        &json!({"status": {"progress": {"currentStage": "Writing image to disk"}}}),
    );
    let busy = settled(busy);
    assert_eq!(Progress::of(Some(&busy)), Progress::Installing);
    assert_eq!(with_hints(json!({"deviceName": "/dev/sda"}), &busy), None);
}

#[test]
fn labels_that_kubernetes_would_refuse_are_told_and_not_sent() {
    let (patch, problems) = edits_of(
        json!({"bmac.agent-install.openshift.io.agent-label.rack": "not a value"}),
        &settled(json!({})),
    );
    assert_eq!(patch, None);
    assert!(problems[0].contains("label rack"), "{problems:?}");
}
