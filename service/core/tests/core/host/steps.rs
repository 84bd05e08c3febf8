//! Arguments of steps that the scenarios do not show.

use std::sync::Arc;

use muster_api::host::HostStatus;
use muster_api::inventory::Iscsi;
use muster_api::steps::{AgentProgram, ConnectivityCheckNic, StepType, UpgradeAgentRequest};
use muster_core::lifecycle::host::HostEvent;
use muster_core::lifecycle::host::instructions::{Offer, handover};
use muster_core::record::{Host, HostState, Peer, Secret, Sees};
use muster_core::rules::agent_version::answered_agent_version;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{AGENT, World, disk};

/// The first argument of a step as JSON; `None`: the host gets no such step.
fn asked(world: &World, host: &Host, step: StepType) -> Option<Value> {
    let steps = world.steps(host).instructions.into_iter().flatten();
    let mut found = steps.filter(|asked| asked.step_type == step.name());
    let args = found.next()?.args;
    Some(serde_json::from_str(args.first()?).unwrap())
}

fn peer(number: u128, status: HostStatus, nics: usize) -> Peer {
    Peer {
        id: muster_api::ids::HostId(Uuid::from_u128(number)),
        status,
        role: muster_api::host::HostRole::Worker,
        hostname: format!("peer-{number}"),
        nics: vec![ConnectivityCheckNic::default(); nics],
        clock_offset_secs: None,
        sees: Sees::default(),
    }
}

fn installing(world: &World, host: &Host) -> Host {
    world.after(host, &HostEvent::InstallRequested)
}

#[test]
fn the_ignition_is_asked_for_where_the_cluster_serves_it() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let url = |world: &World, host: &Host| {
        let asked = asked(world, host, StepType::ApiVipConnectivityCheck).unwrap();
        asked["url"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        url(&world, &host),
        "http://api.day2.example.test:22624/config/worker"
    );
    world.cluster.data.api_vip_dnsname = "2001:db8::5".into();
    assert_eq!(url(&world, &host), "http://[2001:db8::5]:22624/config/worker");
    world.cluster.data.api_vip_dnsname = "api.day2.example.test".into();
    world.cluster.data.ignition_endpoint_ca = "PEM one".into();
    assert_eq!(
        url(&world, &host),
        "https://api-int.day2.example.test:22623/config/worker"
    );
    let mut own = host.clone();
    // "PEM one" again, and another.
    let authority = |text: &str| json!({"source": format!("data:text/plain;base64,{text}")});
    let overrides = json!({"ignition": {"version": "3.1.0", "security": {"tls": {"certificateAuthorities": [
        authority("UEVNIG9uZQ=="), authority("UEVNIHR3bw=="),
    ]}}}});
    own.data.ignition_config_overrides = Secret::new(overrides.to_string());
    own.data.machine_config_pool_name = "infra".into();
    own.data.ignition_endpoint_token = Secret::new("t0ken");
    own.data.ignition_endpoint_http_headers = vec![("X-A".into(), "b".into())];
    world.cluster.data.ignition_endpoint_url = "https://ignition.example.test/config/".into();
    assert_eq!(
        asked(&world, &own, StepType::ApiVipConnectivityCheck),
        Some(json!({
            "url": "https://ignition.example.test/config/infra",
            // "PEM one\nPEM two\n"
            "ca_certificate": "UEVNIG9uZQpQRU0gdHdvCg==",
            "ignition_endpoint_token": "t0ken",
            "request_headers": [
                {"key": "Authorization", "value": "Bearer t0ken"},
                {"key": "X-A", "value": "b"},
            ],
        }))
    );
    world.cluster.data.ignition_endpoint_url.clear();
    world.cluster.data.api_vip_dnsname.clear();
    assert_eq!(asked(&world, &host, StepType::ApiVipConnectivityCheck), None);
}

#[test]
fn whom_a_host_reaches_is_asked_once_all_others_have_told_their_cards() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let count = |world: &World| {
        let asked = asked(world, &host, StepType::ConnectivityCheck);
        asked.map(|list| list.as_array().unwrap().len())
    };
    assert_eq!(count(&world), None);
    world.peers = vec![
        peer(1, HostStatus::Discovering, 0),
        peer(2, HostStatus::Disconnected, 1),
    ]
    .into();
    assert_eq!(count(&world), None, "nobody is there");
    world.peers.push(peer(3, HostStatus::Known, 2));
    assert_eq!(count(&world), Some(1));
    world.peers.push(peer(4, HostStatus::Known, 0));
    assert_eq!(count(&world), None, "one has not told its cards");
}

#[test]
fn in_a_large_cluster_hosts_take_turns() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let mut all: Vec<Peer> = (1..400).map(|n| peer(n, HostStatus::Known, 1)).collect();
    all.push(Peer {
        id: host.id,
        ..peer(400, HostStatus::Known, 1)
    });
    all.sort_by_key(|peer| peer.id);
    world.peers = all.into();
    let mut asked_in = 0;
    for _ in 0..30 {
        world.wait(chrono::Duration::minutes(1));
        world.poll();
        if let Some(list) = asked(&world, &host, StepType::ConnectivityCheck) {
            assert_eq!(list.as_array().unwrap().len(), 150, "of 399 others");
            asked_in += 1;
        }
    }
    assert_eq!(asked_in, 10, "400 hosts are three turns of at most 150");
}

#[test]
fn time_sources_are_those_of_the_cluster_first() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let source =
        |world: &World| asked(world, &host, StepType::NtpSynchronizer).unwrap()["ntp_source"].clone();
    world.infra_env.settings.ntp_sources = "never".into();
    world.infra_env.settings.additional_ntp_sources = "infra-env".into();
    assert_eq!(source(&world), "infra-env");
    world.cluster.data.additional_ntp_source = "additional".into();
    assert_eq!(source(&world), "additional");
    world.cluster.data.ntp_sources = "cluster".into();
    assert_eq!(source(&world), "cluster");
}

#[test]
fn an_installation_is_asked_with_what_disk_network_and_users_need() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let mut ready = installing(&world, &host);
    let words = |world: &World, host: &Host| -> Vec<String> {
        let asked = asked(world, host, StepType::Install).unwrap();
        let text = asked["installer_args"].as_str().unwrap_or("[]").to_owned();
        serde_json::from_str(&text).unwrap()
    };
    assert!(words(&world, &ready).is_empty());
    world.cluster.data.machine_networks = vec!["198.51.100.0/24".into()];
    Arc::make_mut(ready.inventory.as_mut().unwrap()).interfaces[0].mac_address = "02:00:00:00:01:01".into();
    assert_eq!(
        words(&world, &ready),
        ["--append-karg", "ip=02-00-00-00-01-01:dhcp"]
    );
    ready.data.installer_args = vec!["--append-karg".into(), "ip=ens3:none".into()];
    assert_eq!(words(&world, &ready), ["--append-karg", "ip=ens3:none"]);
    ready.data.installer_args.clear();
    world.cluster.data.machine_networks.clear();
    let mut of_type = |drive_type: &str| {
        let inventory = Arc::make_mut(ready.inventory.as_mut().unwrap());
        let mut path = disk("sdc", 480);
        path.drive_type = "iSCSI".into();
        path.holders = "sda".into();
        path.iscsi = Some(Iscsi {
            host_ip_address: "198.51.100.11".into(),
        });
        inventory.disks[0].drive_type = drive_type.into();
        inventory.disks[0].iscsi = path.iscsi.clone();
        inventory.disks.truncate(2);
        inventory.disks.push(path);
        words(&world, &ready).join(" ")
    };
    assert_eq!(of_type("RAID"), "--append-karg rd.md=1 --append-karg rd.auto=1");
    let iscsi = "--append-karg rd.iscsi.firmware=1 --append-karg ip=02-00-00-00-01-01:dhcp";
    assert_eq!(of_type("iSCSI"), iscsi);
    assert_eq!(
        of_type("Multipath"),
        format!("--append-karg rw --append-karg rd.multipath=default {iscsi}")
    );
}

#[test]
fn kept_partitions_left_disks_and_proxies_are_told() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let mut ready = installing(&world, &host);
    ready.data.disks_to_be_formatted = vec![ready.data.installation_disk_id.clone(), "b".into(), "c".into()];
    ready.data.skip_formatting_disks = vec!["b".into()];
    ready.data.installer_args = vec!["--save-partlabel".into(), "data".into()];
    world.cluster.data.proxy.https_proxy = Some("http://proxy.example.test:3128".into());
    world.cluster.data.proxy.no_proxy = Some("example.test,.svc".into());
    world.kube = true;
    let asked = asked(&world, &ready, StepType::Install).unwrap();
    assert_eq!(asked["disks_to_format"], json!(["c"]));
    assert_eq!(asked["skip_installation_disk_cleanup"], true);
    assert_eq!(asked["enable_skip_mco_reboot"], true);
    assert_eq!(asked.get("notify_num_reboots"), None);
    assert_eq!(asked.get("control_plane_count"), None);
    assert_eq!(
        asked["proxy"],
        json!({
            "https_proxy": "http://proxy.example.test:3128",
            "no_proxy": "example.test,.svc,127.0.0.1,localhost,.cluster.local,api-int.day2.example.test",
        })
    );
}

#[test]
fn agents_of_another_make_are_upgraded_only_to_an_image_that_was_set() {
    let foreign = "quay.io/other/agent:1";
    assert_eq!(answered_agent_version(foreign, AGENT, None), foreign);
    assert_eq!(
        answered_agent_version(foreign, AGENT, Some("quay.io/other/agent:2")),
        "quay.io/other/agent:2"
    );
    assert_eq!(
        answered_agent_version("muster-agent/0", AGENT, Some("x")),
        "muster-agent/0"
    );
    assert_eq!(answered_agent_version("", AGENT, Some("x")), AGENT);
    let mut world = World::new();
    let mut host = world.known_host();
    let first = |world: &World, host: &Host| world.steps(host).instructions.unwrap()[0].clone();
    host.data.discovery_agent_version = foreign.into();
    assert_eq!(first(&world, &host).step_type, "inventory");
    world.agent_image = Some("quay.io/other/agent:2".into());
    let step = first(&world, &host);
    assert_eq!(
        (step.step_type.as_str(), step.step_id.as_str()),
        ("upgrade-agent", "")
    );
    assert_eq!(step.args, [r#"{"agent_image":"quay.io/other/agent:2"}"#]);
    assert_eq!(world.steps(&host).instructions.unwrap().len(), 1);
    host.data.discovery_agent_version = AGENT.into();
    assert_eq!(
        first(&world, &host).step_type,
        "inventory",
        "ours is never told to"
    );
}

#[test]
fn our_agents_become_the_program_of_the_service_while_their_hosts_are_in_discovery() {
    let mut world = World::new();
    let mut host = world.known_host();
    let program = AgentProgram {
        sha256: "ab".repeat(32),
        size: 9,
        packed_size: 5,
    };
    let offer = Offer {
        version: "muster-agent/0.2.0".into(),
        program: program.clone(),
    };
    let other = "cd".repeat(32);
    let step = handover(&host, &other, &offer).unwrap();
    assert_eq!(
        (step.step_type.as_str(), step.step_id.as_str()),
        ("upgrade-agent", "")
    );
    let request: UpgradeAgentRequest = serde_json::from_str(&step.args[0]).unwrap();
    assert_eq!(request.program, Some(program));
    assert_eq!(request.agent_image, "muster-agent/0.2.0 (sha256:abababababab)");
    assert_eq!(handover(&host, &"AB".repeat(32), &offer), None, "it is that one");
    host.data.discovery_agent_version = "muster-agent/0.3.0".into();
    assert_eq!(handover(&host, &other, &offer), None, "it is newer");
    host.data.discovery_agent_version = "quay.io/other/agent:1".into();
    assert_eq!(handover(&host, &other, &offer), None, "of another make");
    host.data.discovery_agent_version = AGENT.into();
    for state in HostState::one_of_each() {
        let told = matches!(
            state,
            HostState::DiscoveringUnbound
                | HostState::KnownUnbound
                | HostState::InsufficientUnbound { .. }
                | HostState::Discovering
                | HostState::Known
                | HostState::Insufficient { .. }
                | HostState::PendingForInput { .. }
        );
        host.state = state;
        assert_eq!(
            handover(&host, &other, &offer).is_some(),
            told,
            "{:?}",
            host.state
        );
    }
}
