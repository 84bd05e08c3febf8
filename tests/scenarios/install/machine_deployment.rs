//! A MachineDeployment of Cluster API's own controllers, on a real API server, makes a node of a blank machine and a
//! machine of the node. One machine loses power while its disk is written, and is installed nevertheless. (Several
//! nodes at once, without machines: `cluster_api::fleet`.)

use std::time::Duration;

use muster_tests::kube::{ClusterApi, ControlPlane, Workload};
use muster_tests::qemu::{Firmware, Slots};
use muster_tests::walk::{Host, Hub, MachineDeploymentWalk, Story, apply_our_crds};

/// From the scale to Ready nodes, and back.
const INSTALLATION: Duration = Duration::from_secs(1500);
const RETURN: Duration = Duration::from_secs(900);

#[test]
fn a_machine_deployment_makes_nodes_of_hosts_and_hosts_of_nodes() {
    let slots = Slots::one();
    let plane = ControlPlane::start();
    let cluster_api = ClusterApi::start(&plane);
    apply_our_crds(&plane);
    let hub = Hub::real(Hub::settings(), &plane);
    let story = hub.story();
    let iso = hub.iso();
    // `node_pool` installs with UEFI.
    let mut hosts = ["left", "right"]
        .map(|name| Host::switch_on(name, Firmware::SeaBios, &iso, Vec::new(), slots.with()));
    let workload = Workload::start();
    let walk = MachineDeploymentWalk::begin(&hub, &workload);
    hub.approve(&mut hosts);
    walk.scale(1);
    cut_power_while_it_writes(&hub, &walk, &mut hosts, &story);
    walk.await_nodes(1, INSTALLATION, || hosts.iter_mut().for_each(Host::assert_on));
    story.tell("one node");
    walk.scale(0);
    walk.await_nodes(0, RETURN, || hosts.iter_mut().for_each(Host::assert_on));
    story.tell("no node");
    assert!(
        !cluster_api.log().contains("panic"),
        "Cluster API's controllers panicked"
    );
}

/// The host returns with the ISO, since its disk does not boot, and reports the failure. A cluster's administrator
/// deletes the Machine, and its replacement finds a host.
fn cut_power_while_it_writes(hub: &Hub, walk: &MachineDeploymentWalk<'_>, hosts: &mut [Host], story: &Story) {
    let writer = hub.await_writing(hosts, INSTALLATION);
    let host = &mut hosts[writer];
    story.tell(&format!("the power of {} fails", host.name));
    host.machine.cut_power();
    host.machine.power_on();
    let name = host.name.clone();
    let what = format!("the Agent of {name} to say what happened");
    hub.api.await_in(&what, &Hub::agents_path(), RETURN, |agents| {
        hosts.iter_mut().for_each(Host::assert_on);
        let agent = agents
            .iter()
            .find(|agent| agent["spec"]["hostname"] == name.as_str());
        let agent = agent.ok_or("it is gone")?;
        let info = agent["status"]["debugInfo"]["stateInfo"]
            .as_str()
            .unwrap_or_default();
        let said =
            agent["status"]["debugInfo"]["state"] == "error" && info.contains("restarted unexpectedly");
        if said { Ok(()) } else { Err(info.to_owned()) }
    });
    story.tell("it was discovered again, and is no node; its Machine is deleted");
    walk.delete_machines();
}
