//! Clusters, node pools, and why a Machine has its host and no other: the page shows what the AgentMachine's status has.

use std::collections::BTreeMap;

use muster_tests::artifacts::target_folder;
use muster_tests::browser::{Browser, Tab, Theme};
use muster_tests::condition::await_condition;
use muster_tests::database::{host_id, known_host};
use muster_tests::kube::world::{SOON, World};
use muster_tests::kube::{Api, Kubectl};
use muster_tests::qemu::Architecture;
use muster_tests::walk::objects;
use serde_json::{Value, json};

use crate::cluster_api::quotas::{approve, await_agent, await_reason, machine, open_pool, tenant};
use crate::web::walk::base;

/// The namespace of a HostedCluster `east`.
const MACHINES: &str = "clusters-east";

/// Applies a NodePool, whose Machines are made by hand: its controller waits for the HostedCluster.
fn node_pool(world: &World) {
    world.kubectl.apply(&[objects::namespace("clusters")]);
    let kubectl = world.kubectl.namespace("clusters");
    kubectl.apply(&[objects::node_pool(
        "clusters",
        "workers",
        "east",
        Architecture::X86_64,
    )]);
}

/// Makes a Machine and its AgentMachine those of the pool.
fn join_pool(kubectl: &Kubectl, name: &str) {
    for kind in ["machines.cluster.x-k8s.io", "agentmachine"] {
        kubectl.run(&["label", kind, name, "cluster.x-k8s.io/deployment-name=workers"]);
        kubectl.run(&[
            "annotate",
            kind,
            name,
            "hypershift.openshift.io/nodePool=clusters/workers",
        ]);
    }
}

/// The reasons in an AgentMachine's status with the number of Agents of each.
fn reasons(kubectl: &Kubectl, name: &str) -> Vec<(String, u64)> {
    let object = kubectl.get(&["agentmachine", name]);
    let mut counts = BTreeMap::<String, u64>::new();
    for one in object["status"]["candidates"].as_array().into_iter().flatten() {
        *counts
            .entry(one["reason"].as_str().unwrap_or_default().to_owned())
            .or_default() += 1;
    }
    counts.into_iter().collect()
}

/// The steps of the funnel that the tab shows: reason and number, by reason.
fn shown(tab: &Tab<'_>) -> Vec<(String, u64)> {
    let rows = tab.value(
        "[...document.querySelectorAll('#funnel tbody tr')].map((row) => [row.querySelector('code').textContent, row.cells[1].textContent])",
    );
    let mut steps: Vec<(String, u64)> = rows
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            let text = |at: usize| row[at].as_str().unwrap_or_default();
            (text(0).to_owned(), text(1).parse().unwrap_or_default())
        })
        .collect();
    steps.sort();
    steps
}

#[test]
fn the_funnel_of_a_machine_is_what_its_status_has_and_each_step_lists_its_hosts() {
    let served = Api::BuiltIn.serve_with(|settings| settings.argument("--capi-provider"));
    let world = World::of(served);
    let pool = open_pool(&world, MACHINES);
    for number in 1..=4 {
        known_host(&world.client(), &pool, number);
        world.await_state(&host_id(number), "known-unbound");
    }
    approve(&world, 1);
    node_pool(&world);
    let kubectl = tenant(&world, MACHINES);
    machine(&kubectl, "w1");
    join_pool(&kubectl, "w1");
    await_agent(&kubectl, "w1");
    machine(&kubectl, "w2");
    join_pool(&kubectl, "w2");
    await_reason(&kubectl, "w2", "NotApproved", "not approved");
    let expected = [("NotApproved".to_owned(), 3), ("TakenBy".to_owned(), 1)];
    await_condition("the reasons against all hosts", SOON, || {
        let found = reasons(&kubectl, "w2");
        match found == expected {
            true => Ok(()),
            false => Err(format!("{found:?}")),
        }
    });

    let browser = Browser::start();
    let tab = browser.tab();
    tab.resize(1440, Theme::Light);
    tab.open(&format!("{}/ui/clusters", base(&world.service)));
    tab.click("clusters/workers");
    tab.await_text("Why not the others: w2");
    await_condition("the funnel of the status", SOON, || {
        let found = shown(&tab);
        match found == expected {
            true => Ok(()),
            false => Err(tab.text()),
        }
    });
    let text = tab.text();
    for part in ["w1", "host-1", "4 hosts were considered."] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    for (scheme, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        for width in [360, 768, 1440] {
            tab.resize(width, theme);
            let wide = tab.wider_than_window();
            assert!(wide.is_empty(), "{width}: {wide}");
            tab.picture(&target_folder().join(format!("web/node-pool-{scheme}-{width}.png")));
        }
    }
    tab.resize(1440, Theme::Light);
    let violations = tab.violations();
    assert!(violations.is_empty(), "{}", violations.join("\n"));

    // A step leads to the hosts that it costs, and back.
    tab.click("not approved");
    tab.await_text("3 hosts of 4");
    tab.open(&format!(
        "{}/ui/node-pools/clusters/workers?machine=w1",
        base(&world.service)
    ));
    tab.await_text("Why not the others: w1");
    tab.await_text("was taken.");

    // An approval shows without a reload: the Machine takes that host.
    tab.open(&format!(
        "{}/ui/node-pools/clusters/workers",
        base(&world.service)
    ));
    tab.await_text("Why not the others: w2");
    // The Machine takes it at once.
    world.patch_agent(&host_id(2), &json!({"approved": true, "hostname": "host-2"}));
    await_agent(&kubectl, "w2");
    tab.await_text("host-2");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn a_cluster_is_imported_by_the_page_and_shows_its_hosts() {
    let world = World::of(Api::BuiltIn.serve());
    let client = world.client();
    let pool = muster_tests::hosts::plain::infra_env(&client);
    let host = known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{}/ui/clusters", base(&world.service)));
    tab.await_text("There is no cluster yet");
    tab.await_text("There is no node pool");
    tab.fill("#name", "day2");
    tab.fill("#api_vip_dnsname", "api.day2.example.test");
    tab.fill("#openshift_cluster_id", "no id");
    tab.click("Import the cluster");
    tab.await_text("openshift_cluster_id");
    assert_eq!(tab.value("document.querySelector('#name').value"), "day2");
    tab.fill("#openshift_cluster_id", "00000000-0000-0000-0000-000000000009");
    tab.click("Import the cluster");
    tab.await_text("No host is in this cluster yet");
    let cluster = tab.path().replace("/ui/clusters/", "");
    let bind: Value = json!({"cluster_id": cluster});
    client.post(&format!("{host}/actions/bind"), &bind).expect(200);
    // Without a reload.
    tab.await_text("1 host");
    tab.await_text("By role");
    let violations = tab.violations();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    // A refusal is a status that the console names.
    let complaints: Vec<String> = browser
        .complaints()
        .into_iter()
        .filter(|complaint| !complaint.contains("the server responded with a status of 400"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
