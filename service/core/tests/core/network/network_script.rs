//! Runs the script that CoreOS images carry on an emulated machine, with its own connections and its own names of
//! cards.

use std::path::Path;
use std::process::Command;

use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use muster_core::record::Settings;
use muster_core::rules::ignition::network_files;

const MACHINE: [(&str, &str); 2] = [("enp5s0", "02:00:00:aa:20:02"), ("enp6s0", "02:00:00:aa:20:03")];

fn host(mac: &str, name: &str, document: &str, other: &[(&str, &str)]) -> HostStaticNetworkConfig {
    let cards = [(mac, name)].into_iter().chain(other.iter().copied());
    HostStaticNetworkConfig {
        network_yaml: Some(document.to_owned()),
        mac_interface_map: cards
            .map(|(mac, name)| MacInterface {
                mac_address: Some(mac.to_owned()),
                logical_nic_name: Some(name.to_owned()),
            })
            .collect(),
    }
}

/// Writes the text to the path below the folder.
fn put(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[test]
fn a_bonds_primary_port_is_named_as_the_machine_names_the_card() {
    let bond = r#"{"interfaces": [{"name": "bond1", "type": "bond", "ipv4": {"enabled": true, "dhcp": true},
        "link-aggregation": {"mode": "active-backup", "options": {"primary": "eth3.a"}, "port": ["eth2", "eth3.a"]}}]}"#;
    let plain = r#"{"interfaces": [{"name": "nic", "type": "ethernet"}]}"#;
    let settings = Settings {
        static_network_config: vec![
            host("02:00:00:00:00:01", "nic", plain, &[]),
            host(
                "02:00:00:AA:20:02",
                "eth2",
                bond,
                &[("02:00:00:AA:20:03", "eth3.a")],
            ),
        ],
        ..Settings::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (name, mac) in MACHINE {
        put(
            root,
            &format!("sys/class/net/{name}/address"),
            &format!("{mac}\n"),
        );
    }
    let mut script = None;
    for file in network_files(&settings) {
        put(root, &file.path, &file.text);
        if file.text.starts_with("#!") {
            // The cards of this machine are already present.
            let text = file.text.replace("sleep 1", ":");
            script = Some(text.replace("/etc/", &format!("{}/etc/", root.display())));
        }
    }
    let script = script
        .unwrap()
        .replace("/sys/", &format!("{}/sys/", root.display()));
    let done = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    let connections = root.join("etc/NetworkManager/system-connections");
    let text = std::fs::read_to_string(connections.join("bond1.nmconnection")).unwrap();
    assert!(text.contains("\nprimary=enp6s0\n"), "{text}");
    let files = std::fs::read_dir(&connections).unwrap().count();
    assert_eq!(files, 3, "the bond and its ports");
}
