//! Three hosts of a cluster that exists already: findings among them, from the facts that one of them has.

use std::sync::Arc;

use chrono::Duration;
use muster_api::host::HostFinding;
use muster_api::host::{HostRole, HostStatus};
use muster_api::ids::HostId;
use muster_api::inventory::{InventoryProblem, SwitchPort};
use muster_api::steps::{
    AddressConflict, ConnectivityRemoteHost, ConnectivityReport, L2Connectivity, L3Connectivity, MtuReport,
};
use muster_core::record::{DeafTime, Peer, Sees};
use muster_core::rules::cluster_peers::Peers;
use muster_core::rules::findings::{
    self, VLAN_NOT_ON_SWITCH_PORT, changed, matters_to_others, peers_matter, sees,
};

use crate::registry::scene::{Place, Scene, peer};

/// The evaluated host has 198.51.100.11; `worker-2` and `worker-3` have .12 and .13, and there is no finding.
fn three_hosts() -> Scene {
    let mut scene = Scene::new(Place::Cluster);
    scene.inventory().interfaces[0].mac_address = "02:00:00:00:00:01".into();
    scene.inventory().interfaces[0].mtu = 1500;
    for index in 0..2 {
        let peer = scene.peers[index].clone();
        *scene.report(index) = answers(&peer);
    }
    scene
}

#[test]
fn an_image_by_plain_http_that_was_set_before_is_found_and_stops_nothing() {
    let mut scene = Scene::new(Place::Cluster);
    let mut found = |url: &str| {
        scene.host.data.installer_args = vec!["--image-url".into(), url.into()];
        let found = findings::evaluate(&scene.host, &scene.facts());
        found
            .into_iter()
            .find(|one| one.kind == findings::IMAGE_UNVERIFIED)
    };
    let told = found("http://mirror.example.test/metal.raw").unwrap();
    assert!(told.message.contains("#sha256="), "{}", told.message);
    assert_eq!(found("https://mirror.example.test/metal.raw"), None);
}

/// A report about a peer that responds in every way.
fn answers(peer: &Peer) -> ConnectivityRemoteHost {
    let address = &peer.nics[0].ip_addresses[0];
    ConnectivityRemoteHost {
        host_id: peer.id.to_string(),
        l2_connectivity: vec![answer(address, &peer.nics[0].mac, true)],
        l3_connectivity: vec![L3Connectivity {
            remote_ip_address: address.clone(),
            successful: true,
            average_rtt_ms: 0.4,
            ..L3Connectivity::default()
        }],
        mtu_report: vec![MtuReport {
            outgoing_nic: "eth0".into(),
            remote_ip_address: address.clone(),
            mtu_successful: true,
        }],
    }
}

fn answer(address: &str, mac: &str, successful: bool) -> L2Connectivity {
    L2Connectivity {
        outgoing_ip_address: "198.51.100.11".into(),
        outgoing_nic: "eth0".into(),
        remote_ip_address: address.into(),
        remote_mac: mac.into(),
        successful,
    }
}

/// Without responses to pings agents report the address and nothing else.
fn no_ping(remote: &mut ConnectivityRemoteHost) {
    for link in &mut remote.l3_connectivity {
        *link = L3Connectivity {
            remote_ip_address: link.remote_ip_address.clone(),
            ..L3Connectivity::default()
        };
    }
}

fn dead(remote: &mut ConnectivityRemoteHost) {
    no_ping(remote);
    remote.l2_connectivity.clear();
    remote.mtu_report.clear();
}

fn found(scene: &Scene) -> Vec<HostFinding> {
    findings::evaluate(&scene.host, &scene.facts())
}

/// The findings, as `kind about: names`.
fn kinds(scene: &Scene) -> Vec<String> {
    let name = |id: &HostId| {
        scene
            .peers
            .iter()
            .find(|peer| peer.id == *id)
            .unwrap()
            .hostname
            .clone()
    };
    let line = |finding: HostFinding| {
        let others: Vec<String> = finding.others.iter().map(name).collect();
        assert!(!finding.message.is_empty());
        for other in &others {
            assert!(finding.message.contains(other), "{}", finding.message);
        }
        format!("{} {}: {}", finding.kind, finding.about, others.join(" "))
    };
    found(scene).into_iter().map(line).collect()
}

/// The host as the others see it, with the report that `scene` holds.
fn connectivity(scene: &mut Scene) -> &mut ConnectivityReport {
    let reports = Arc::make_mut(&mut scene.host.reports);
    reports.connectivity.as_mut().unwrap()
}

fn as_peer(scene: &Scene) -> Peer {
    Peer {
        id: scene.host.id,
        sees: scene
            .host
            .reports
            .connectivity
            .as_ref()
            .map(|report| sees(report, Peers::of(&scene.peers)))
            .unwrap_or_default(),
        ..peer(1)
    }
}

#[test]
fn hosts_that_reach_each_other_have_no_findings() {
    assert_eq!(found(&three_hosts()), []);
}

#[test]
fn a_peer_that_does_not_answer_is_unreachable() {
    let mut scene = three_hosts();
    dead(scene.report(1));
    assert_eq!(kinds(&scene), ["peer-unreachable : worker-3"]);
    dead(scene.report(0));
    assert_eq!(kinds(&scene), ["peer-unreachable : worker-2 worker-3"]);
}

#[test]
fn a_peer_that_is_off_or_was_not_asked_about_is_no_finding() {
    let mut scene = three_hosts();
    dead(scene.report(1));
    scene.peers[1].status = HostStatus::Disconnected;
    *scene.report(0) = ConnectivityRemoteHost {
        host_id: scene.peers[0].id.to_string(),
        ..ConnectivityRemoteHost::default()
    };
    assert_eq!(found(&scene), []);
}

#[test]
fn a_peer_that_is_reached_and_does_not_reach_back_is_a_one_way_link() {
    let mut scene = three_hosts();
    scene.peers[1].sees.unreached = vec![scene.host.id];
    assert_eq!(kinds(&scene), ["one-way-link : worker-3"]);
    // The peer's report goes through the same code.
    let mut other = three_hosts();
    dead(other.report(0));
    assert_eq!(as_peer(&other).sees.unreached, [other.peers[0].id]);
}

#[test]
fn answers_to_arp_alone_and_to_pings_alone_are_told_apart() {
    let mut scene = three_hosts();
    no_ping(scene.report(0));
    scene.report(1).l2_connectivity.clear();
    assert_eq!(
        kinds(&scene),
        ["not-on-segment eth0: worker-3", "ping-unanswered eth0: worker-2"]
    );
}

#[test]
fn a_silent_address_of_a_peer_that_answers_on_another_is_named_by_its_network() {
    let mut scene = three_hosts();
    scene.inventory().interfaces[0]
        .ipv4_addresses
        .push("203.0.113.1/24".into());
    scene.peers[0].nics[0].ip_addresses.push("203.0.113.2".into());
    scene.report(0).l3_connectivity.push(L3Connectivity {
        remote_ip_address: "203.0.113.2".into(),
        ..L3Connectivity::default()
    });
    assert_eq!(kinds(&scene), ["address-unreachable eth0: worker-2"]);
    // In a network that the host is not in, no response is expected.
    scene.inventory().interfaces[0].ipv4_addresses.pop();
    assert_eq!(found(&scene), []);
}

#[test]
fn an_address_that_two_hosts_have_is_found_by_each_of_them() {
    let mut scene = three_hosts();
    scene.peers[0].nics[0].ip_addresses = vec!["198.51.100.11".into()];
    *scene.report(0) = ConnectivityRemoteHost {
        host_id: scene.peers[0].id.to_string(),
        ..ConnectivityRemoteHost::default()
    };
    assert_eq!(kinds(&scene), ["duplicate-address 198.51.100.11: worker-2"]);
}

#[test]
fn an_address_that_two_hosts_have_is_found_by_the_third_which_both_answer() {
    let mut scene = three_hosts();
    scene.peers[1].nics[0].ip_addresses = vec!["198.51.100.12".into()];
    let mac = scene.peers[1].nics[0].mac.clone();
    scene
        .report(0)
        .l2_connectivity
        .push(answer("198.51.100.12", &mac, false));
    *scene.report(1) = answers(&scene.peers[1].clone());
    assert_eq!(
        kinds(&scene),
        ["duplicate-address 198.51.100.12: worker-2 worker-3"]
    );
    // The owners read it from that report, even those that received no such response themselves.
    assert_eq!(as_peer(&scene).sees.answered_twice, ["198.51.100.12"]);
}

#[test]
fn a_machine_outside_of_the_cluster_that_answers_for_an_address_is_named_by_its_mac() {
    let mut scene = three_hosts();
    scene
        .report(0)
        .l2_connectivity
        .push(answer("198.51.100.12", "0A:00:00:00:00:99", false));
    assert_eq!(kinds(&scene), ["duplicate-address 198.51.100.12: worker-2"]);
    assert!(found(&scene)[0].message.contains("0A:00:00:00:00:99"));
    let mut victim = three_hosts();
    victim.peers[1].sees.answered_twice = vec!["198.51.100.11".into()];
    assert_eq!(kinds(&victim), ["duplicate-address 198.51.100.11: worker-3"]);
}

/// Another machine responds for an address of the reporting host.
fn conflict(address: &str, mac: &str) -> AddressConflict {
    AddressConflict {
        outgoing_nic: "eth0".into(),
        ip_address: address.into(),
        remote_mac: mac.into(),
    }
}

#[test]
fn who_answers_for_an_address_of_the_host_itself_is_named_as_host_or_by_its_mac() {
    let mut scene = three_hosts();
    let mac = scene.peers[1].nics[0].mac.clone();
    let report = connectivity(&mut scene);
    report.address_conflicts = vec![conflict("198.51.100.11", "0a:00:00:00:00:99")];
    assert_eq!(kinds(&scene), ["duplicate-address 198.51.100.11: "]);
    assert!(found(&scene)[0].message.contains("0a:00:00:00:00:99"));
    let report = connectivity(&mut scene);
    report.address_conflicts = vec![conflict("198.51.100.11", &mac)];
    assert_eq!(kinds(&scene), ["duplicate-address 198.51.100.11: worker-3"]);
}

#[test]
fn the_other_card_of_the_host_that_answers_for_its_address_is_no_conflict() {
    let mut scene = three_hosts();
    let mut second = scene.inventory().interfaces[0].clone();
    second.name = "eth1".into();
    second.mac_address = "0a:00:00:00:00:99".into();
    second.ipv4_addresses = vec!["198.51.100.21/24".into()];
    scene.inventory().interfaces.push(second);
    let report = connectivity(&mut scene);
    report.address_conflicts = vec![conflict("198.51.100.11", "0A:00:00:00:00:99")];
    scene
        .report(0)
        .l2_connectivity
        .push(answer("198.51.100.12", "0a:00:00:00:00:99", false));
    assert_eq!(found(&scene), []);
}

#[test]
fn two_cards_of_one_peer_that_both_answer_are_no_conflict() {
    let mut scene = three_hosts();
    scene
        .report(0)
        .l2_connectivity
        .push(answer("198.51.100.12", "02:00:00:00:01:02", true));
    assert_eq!(found(&scene), []);
}

#[test]
fn a_path_of_1400_bytes_is_found_by_both_ends_though_their_cards_have_1500() {
    let mut scene = three_hosts();
    scene.report(0).mtu_report[0].mtu_successful = false;
    assert_eq!(kinds(&scene), ["mtu-too-large-for-path eth0: worker-2"]);
    assert!(found(&scene)[0].message.contains("1500"));
    scene.report(1).mtu_report[0].mtu_successful = false;
    assert_eq!(kinds(&scene), ["mtu-too-large-for-path eth0: worker-2 worker-3"]);
}

#[test]
fn a_clock_that_differs_from_the_service_is_found_in_the_pool_too() {
    for place in [Place::Pool, Place::Cluster] {
        let mut scene = Scene::new(place);
        scene.host.reports = Default::default();
        scene.peers.clear();
        scene.world.clock_ahead = Some(-30);
        assert_eq!(found(&scene), []);
        scene.world.clock_ahead = Some(-301);
        assert_eq!(kinds(&scene), ["clock-offset service: "]);
        let text = found(&scene)[0].message.clone();
        assert!(text.contains("more than 5 minutes behind"), "{text}");
        scene.world.clock_ahead = Some(-500);
        assert_eq!(found(&scene)[0].message, text);
    }
}

#[test]
fn of_two_clocks_the_worse_one_is_told_so() {
    let mut scene = three_hosts();
    scene.world.clock_ahead = Some(25);
    scene.peers[0].clock_offset_secs = Some(-25);
    assert_eq!(kinds(&scene), ["clock-offset hosts: worker-2"]);
    scene.peers[0].clock_offset_secs = Some(-600);
    assert_eq!(found(&scene), []);
    scene.world.clock_ahead = Some(600);
    scene.peers[0].clock_offset_secs = Some(0);
    assert_eq!(
        kinds(&scene),
        ["clock-offset hosts: worker-2 worker-3", "clock-offset service: "]
    );
}

#[test]
fn a_service_whose_clock_was_set_blames_no_host_and_still_finds_those_that_are_wrong() {
    for set_by in [3600, -3600] {
        let mut scene = three_hosts();
        scene.world.clock_set_by = set_by;
        // Polls from before and after the change: after it from this host, before it from one of the others.
        scene.world.clock_ahead = Some(-set_by);
        scene.peers[0].clock_offset_secs = Some(0);
        scene.peers[1].clock_offset_secs = Some(2 - set_by);
        assert_eq!(found(&scene), []);
        scene.world.clock_ahead = Some(0);
        assert_eq!(
            found(&scene),
            [],
            "it was the service's clock that was wrong before"
        );
        scene.world.clock_ahead = Some(-3 * set_by);
        let wrong = ["clock-offset hosts: worker-2 worker-3", "clock-offset service: "];
        assert_eq!(kinds(&scene), wrong);
    }
}

#[test]
fn a_service_whose_clock_was_set_and_set_back_blames_no_host_that_polled_between() {
    for set_by in [3600, -3600] {
        let mut scene = three_hosts();
        scene.world.clock_was_set_by = set_by;
        scene.world.clock_ahead = Some(-set_by);
        scene.peers[0].clock_offset_secs = Some(0);
        assert_eq!(found(&scene), []);
        scene.world.clock_ahead = Some(-3 * set_by);
        let wrong = ["clock-offset hosts: worker-2 worker-3", "clock-offset service: "];
        assert_eq!(kinds(&scene), wrong);
    }
}

#[test]
fn a_poll_that_was_under_way_while_nobody_answered_makes_no_clock_late() {
    let mut scene = three_hosts();
    let now = scene.world.last_seen.unwrap();
    let ago = |seconds| now - Duration::seconds(seconds);
    scene.world.clock_ahead = Some(-290);
    assert_eq!(kinds(&scene).len(), 2);
    let outage = |from, to| DeafTime {
        from: ago(from),
        to: ago(to),
    };
    scene.world.deaf = vec![outage(300, 5)];
    assert_eq!(found(&scene), [], "it was sent when the outage began");
    scene.world.clock_ahead = Some(290);
    assert_eq!(kinds(&scene).len(), 2, "no poll comes before it was sent");
    scene.world.clock_ahead = Some(-290);
    scene.world.deaf = vec![outage(1000, 130)];
    assert_eq!(kinds(&scene).len(), 2, "nobody tries for so long");
}

#[test]
fn latency_and_loss_are_measured_by_the_wider_limit_of_both_roles() {
    let mut scene = three_hosts();
    scene.report(0).l3_connectivity[0].average_rtt_ms = 500.0;
    scene.report(1).l3_connectivity[0].packet_loss_percentage = 10.0;
    assert_eq!(found(&scene), []);
    scene.report(1).l3_connectivity[0].packet_loss_percentage = 20.0;
    assert_eq!(kinds(&scene), ["packet-loss-above-limit : worker-3"]);
    scene.host.data.role = HostRole::Master;
    assert_eq!(kinds(&scene), ["packet-loss-above-limit : worker-3"]);
    scene.peers[0].role = HostRole::Master;
    assert_eq!(
        kinds(&scene),
        [
            "latency-above-limit : worker-2",
            "packet-loss-above-limit : worker-3"
        ]
    );
}

#[test]
fn a_report_that_makes_no_sense_finds_nothing() {
    let mut scene = three_hosts();
    Arc::make_mut(&mut scene.host.reports).connectivity = Some(ConnectivityReport {
        remote_hosts: vec![
            ConnectivityRemoteHost {
                host_id: "nobody".into(),
                l2_connectivity: vec![answer("x", "y", false)],
                ..ConnectivityRemoteHost::default()
            },
            ConnectivityRemoteHost {
                host_id: scene.host.id.to_string(),
                l2_connectivity: vec![answer("198.51.100.12", "y", false)],
                ..ConnectivityRemoteHost::default()
            },
        ],
        address_conflicts: vec![conflict("192.0.2.9", "y"), conflict("x", "y")],
    });
    assert_eq!(found(&scene), []);
}

fn finding(kind: &str, others: &[u8]) -> HostFinding {
    HostFinding {
        kind: kind.into(),
        about: String::new(),
        others: others.iter().map(|n| peer(*n).id).collect(),
        message: "words".into(),
    }
}

#[test]
fn a_finding_that_names_other_hosts_than_before_is_new_and_not_gone() {
    let old = [finding("a", &[2]), finding("b", &[2])];
    let new = [finding("a", &[2, 3]), finding("c", &[])];
    let (appeared, gone) = changed(&old, &new);
    assert_eq!(appeared, [&new[0], &new[1]]);
    assert_eq!(gone, [&old[1]]);
}

#[test]
fn others_are_judged_anew_only_when_something_that_they_look_at_changed() {
    let old = peer(2);
    let matters = |change: fn(&mut Peer)| {
        let mut new = old.clone();
        change(&mut new);
        matters_to_others(Some(&old), Some(&new))
    };
    assert!(!matters(|_| ()));
    assert!(!matters(|peer| peer.clock_offset_secs = Some(2)));
    assert!(!matters(|peer| peer.status = HostStatus::Insufficient));
    assert!(matters(|peer| peer.clock_offset_secs = Some(60)));
    assert!(matters(|peer| peer.status = HostStatus::Disconnected));
    assert!(matters(|peer| peer.hostname = "other".into()));
    assert!(matters(|peer| peer.role = HostRole::Master));
    assert!(matters(|peer| peer.nics.clear()));
    assert!(matters(|peer| {
        peer.sees = Sees {
            unreached: vec![peer.id],
            ..Sees::default()
        }
    }));
    assert!(matters_to_others(None, Some(&old)) && matters_to_others(Some(&old), None));
    assert!(!matters_to_others(None, None));
    assert!(!peers_matter(&[peer(2), peer(3)], &[peer(2), peer(3)]));
    assert!(peers_matter(&[peer(2)], &[peer(2), peer(3)]));
}

#[test]
fn a_network_that_is_not_as_it_was_asked_for_is_found_by_interface_and_by_kernel_argument() {
    let mut scene = Scene::new(Place::Pool);
    let mut found = |problems: &[(&str, &str)]| {
        let problem = |(subject, reason): &(&str, &str)| InventoryProblem {
            subject: (*subject).into(),
            reason: (*reason).into(),
        };
        scene.inventory().problems = problems.iter().map(problem).collect();
        let found = findings::evaluate(&scene.host, &scene.facts()).into_iter();
        let mut found: Vec<HostFinding> = found
            .filter(|one| {
                [
                    findings::NETWORK_NOT_AS_CONFIGURED,
                    findings::KERNEL_ARGUMENT,
                    findings::SWITCH_PORT_UNHEARD,
                ]
                .contains(&one.kind.as_str())
            })
            .collect();
        found.sort_by(|a, b| a.about.cmp(&b.about));
        found
    };
    let told = found(&[
        (
            "network.bond0",
            "its mode is balance-rr, and 802.3ad is configured",
        ),
        ("kernel-argument.vlan=five:ens3", "is not understood"),
        ("network.bond0", "its miimon is 0, and 140 is configured"),
        ("switch-port.ens1f0", "no LLDP packets of its switch are received"),
        ("disks.sda.serial", "the disk does not answer"),
    ]);
    let [bond, silent, argument] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(
        (bond.kind.as_str(), bond.about.as_str()),
        ("network-not-as-configured", "bond0")
    );
    assert_eq!(
        bond.message,
        "bond0 is not as the static network of this host has it: its mode is balance-rr, and 802.3ad is configured; \
         its miimon is 0, and 140 is configured"
    );
    assert_eq!(
        (silent.kind.as_str(), silent.message.as_str()),
        (
            "switch-port-unheard",
            "ens1f0: no LLDP packets of its switch are received"
        )
    );
    assert_eq!(argument.about, "vlan=five:ens3");
    assert_eq!(
        argument.message,
        "The kernel argument vlan=five:ens3 is not understood"
    );

    let many: Vec<String> = (0..500).map(|number| format!("network.eth{number}")).collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|subject| (subject.as_str(), "its MTU is 1500"))
        .collect();
    assert!(found(&many).len() <= 16, "a host cannot bury other findings");
    assert_eq!(found(&[]), []);
}

#[test]
fn a_switch_port_without_the_vlan_of_the_static_network_is_found() {
    let mut scene = three_hosts();
    let port = SwitchPort {
        switch: "sw1".into(),
        port: "Gi1/0/12".into(),
        native_vlan: 1,
        tagged_vlans: vec![100, 200],
        missing_vlans: Vec::new(),
    };
    let mut plugged_into = |port: SwitchPort| {
        scene.inventory().interfaces[0].switch_port = Some(port);
        found(&scene)
    };
    assert_eq!(plugged_into(port.clone()), []);
    let lacking = SwitchPort {
        missing_vlans: vec![300],
        ..port
    };
    let told = plugged_into(lacking).remove(0);
    assert_eq!(told.kind, VLAN_NOT_ON_SWITCH_PORT);
    assert!(told.message.starts_with("VLAN 300, which"), "{}", told.message);
    assert!(
        told.message
            .contains("switch sw1 reports for its port Gi1/0/12 (tagged: 100, 200)")
    );
}
