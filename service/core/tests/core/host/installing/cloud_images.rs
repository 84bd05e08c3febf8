//! Hosts whose image is configured by cloud-init.

use std::sync::Arc;

use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use muster_api::steps::{HostSeed, Seed};
use muster_core::lifecycle::host::{HostEvent, obstacle};
use muster_core::record::{Host, NodeAgent, Secret};
use muster_core::rules::os_image::{cloud_init, parse};
use serde_json::Value;

use super::asked;
use crate::world::World;

const CLOUD_CONFIG: &str =
    "## template: jinja\n#cloud-config\nhostname: '{{ ds.meta_data.hostname }}'\n# hunter2\n";
const MAC: &str = "52:54:00:aa:00:01";

fn world() -> World {
    let mut world = World::new();
    world.os_images = parse(&format!(
        r#"[{{"openshift_version":"4.16","cpu_architecture":"x86_64","version":"trixie","metal_url":"https://images.example.test/debian.raw","metal_sha256":"{}","configuration":"cloud-init"}}]"#,
        "ab".repeat(32)
    ))
    .unwrap();
    world
}

fn with_data(mut host: Host, text: &str) -> Host {
    host.data.has_bootstrap_ignition = true;
    host.bootstrap_ignition = Secret::new(text);
    host
}

fn seed(world: &World, host: &Host) -> Result<Seed, String> {
    let made = cloud_init::seed_of(host, &world.cluster_facts()).expect("cloud-init configures the image");
    made.map(|text| {
        let read: HostSeed = serde_json::from_str(&text).unwrap();
        read.cloud_init.unwrap()
    })
}

#[test]
fn a_host_with_a_cloud_config_is_installed_with_a_seed() {
    let mut world = world();
    let host = with_data(world.known_host_of_cluster(), CLOUD_CONFIG);
    assert_eq!(obstacle(&host, &world.cluster_facts()), None);
    let made = seed(&world, &host).unwrap();
    assert_eq!(made.user_data, CLOUD_CONFIG);
    assert_eq!(made.network_config, None);
    let meta: Value = serde_json::from_str(&made.meta_data).unwrap();
    let id = host.id.to_string();
    assert_eq!(meta["provider-id"], format!("agent://{id}"));
    assert_eq!(
        (&meta["uuid"], &meta["local-hostname"]),
        (&id.into(), &"host-1".into())
    );
    assert_eq!(meta["local_ipv4"], "198.51.100.11");

    let installing = world.after(&host, &HostEvent::InstallRequested);
    assert_eq!(
        installing.data.node_agent,
        NodeAgent::Absent,
        "only Ignition puts it there"
    );
    let step = asked(&world, &installing).unwrap();
    assert_eq!(step["os_image"]["configuration"], "cloud-init");
    // CoreOS would have the card's `ip=`.
    assert_eq!(step.get("installer_args"), None);
    assert_eq!(step.get("node_agent"), None);
}

#[test]
fn what_is_for_coreos_alone_is_refused_before_the_installation() {
    let mut world = world();
    let known = with_data(world.known_host_of_cluster(), CLOUD_CONFIG);
    let ignition = r#"{"ignition":{"version":"3.4.0"}}"#;
    type Spoil = fn(&mut Host);
    let cases: [(Spoil, &str); 4] = [
        (
            |host| host.data.has_bootstrap_ignition = false,
            "no bootstrap data",
        ),
        (
            |host| host.bootstrap_ignition = Secret::new(r#"{"ignition":{"version":"3.4.0"}}"#),
            "format: cloud-config",
        ),
        (
            |host| host.data.ignition_config_overrides = Secret::new(r#"{"ignition":{"version":"3.1.0"}}"#),
            "ignition_config_overrides",
        ),
        (
            |host| host.data.installer_args = vec!["--append-karg".into(), "quiet".into()],
            "--append-karg",
        ),
    ];
    for (spoil, words) in cases {
        let mut host = known.clone();
        spoil(&mut host);
        let why = obstacle(&host, &world.cluster_facts()).unwrap();
        assert!(why.contains(words) && why.contains("cloud-init"), "{why}");
        assert_eq!(seed(&world, &host).unwrap_err(), why);
        let refused = world.step(&host, &HostEvent::InstallRequested).unwrap_err();
        assert!(refused.reason.contains(words), "{}", refused.reason);
        assert!(!why.contains("hunter2"), "{why}");
    }
    world.os_images = World::new().os_images;
    let coreos = with_data(known, ignition);
    assert_eq!(obstacle(&coreos, &world.cluster_facts()), None);
    assert_eq!(cloud_init::seed_of(&coreos, &world.cluster_facts()), None);
}

#[test]
fn the_static_network_of_the_host_goes_along_or_is_refused_by_name() {
    let mut world = world();
    let mut host = with_data(world.known_host_of_cluster(), CLOUD_CONFIG);
    Arc::make_mut(host.inventory.as_mut().unwrap()).interfaces[0].mac_address = MAC.into();
    let network = |yaml: &str, mac: &str| HostStaticNetworkConfig {
        network_yaml: Some(yaml.into()),
        mac_interface_map: vec![MacInterface {
            mac_address: Some(mac.into()),
            logical_nic_name: Some("one".into()),
        }],
    };
    let good = "interfaces: [{name: one, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.11, prefix-length: 24}]}}]";
    let other = network(good, "52:54:00:aa:00:09");
    world.infra_env.settings.static_network_config = vec![other.clone()];
    assert_eq!(
        seed(&world, &host).unwrap().network_config,
        None,
        "of another machine"
    );

    let own = network(good, &MAC.to_uppercase());
    world.infra_env.settings.static_network_config = vec![other, own];
    let text = seed(&world, &host).unwrap().network_config.unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["ethernets"]["one"]["match"]["macaddress"], MAC);
    assert_eq!(read["ethernets"]["one"]["addresses"][0], "198.51.100.11/24");

    let bad = good.replace(
        "ipv4",
        "ipv6: {enabled: true, autoconf: true, auto-dns: false}, ipv4",
    );
    world.infra_env.settings.static_network_config = vec![network(&bad, MAC)];
    let why = obstacle(&host, &world.cluster_facts()).unwrap();
    assert!(why.contains("interface one: ipv6.auto-dns: false"), "{why}");
    assert_eq!(seed(&world, &host).unwrap_err(), why);
}

#[test]
fn what_ignition_cannot_express_is_installed_by_cloud_init_alone() {
    let mut world = world();
    let known = world.known_host_of_cluster();
    let given = |text: &str| HostEvent::BootstrapIgnitionSet(Secret::new(text));
    let packages = given("#cloud-config\npackages: [hunter2]\n");
    let host = world.after(&known, &packages);
    assert_eq!(obstacle(&host, &world.cluster_facts()), None);
    let refused = world
        .step(&known, &given("#cloud-config\n- [hunter2\n"))
        .unwrap_err();
    assert!(refused.reason.contains("is not YAML"), "{}", refused.reason);

    world.os_images = World::new().os_images;
    let why = obstacle(&host, &world.cluster_facts()).unwrap();
    assert!(
        why.contains("configured by Ignition") && why.contains("`packages`: ") && !why.contains("hunter2"),
        "{why}"
    );
    let refused = world.step(&host, &HostEvent::InstallRequested).unwrap_err();
    assert!(refused.reason.contains("`packages`: "), "{}", refused.reason);
    let refused = world.step(&known, &packages).unwrap_err();
    assert!(refused.reason.contains("`packages`: "), "{}", refused.reason);

    // The name of the sample host is not that of this one.
    let named = world.after(&known, &given("#cloud-config\nhostname: host\n"));
    let why = obstacle(&named, &world.cluster_facts()).unwrap();
    assert!(why.contains("`hostname`: "), "{why}");
}
