//! The cloud-configs that kubeadm's bootstrap provider rendered. Source: docs/protocol/bootstrap/README.md.

use serde_json::json;

use super::*;

const MINIMAL: [&str; 3] = [
    include_str!("../../../../../docs/protocol/bootstrap/kubeadm-minimal-cloud-config-cp-init.yaml"),
    include_str!("../../../../../docs/protocol/bootstrap/kubeadm-minimal-cloud-config-cp-join.yaml"),
    include_str!("../../../../../docs/protocol/bootstrap/kubeadm-minimal-cloud-config-worker.yaml"),
];

const FULL: [&str; 3] = [
    include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-cloud-config-cp-init.yaml"),
    include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-cloud-config-cp-join.yaml"),
    include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-cloud-config-worker.yaml"),
];

/// Parts of the full ones that have no counterpart, or that no program reads, with the beginning of what they are
/// refused by and what stands in their place: jinja allows no backslashes in a tag, and the checksum of the packed text
/// does not fit since its content was replaced.
const PARTS: [(&str, &str, &str); 5] = [
    (
        "ds.meta_data[\\\"local-hostname\\\"]",
        "line ",
        "ds.meta_data['local-hostname']",
    ),
    (
        "H4sIAAAAAAAAA8tNzE3VLS0GAPNJ4sUIAAAA",
        "write_files.",
        "H4sIAAAAAAACA8tNTEnVLS3gAgCT1TIOCAAAAA==",
    ),
    ("    inactive: true\n", "users.1.inactive", ""),
    (
        "  /dev/vdc:\n    table_type: gpt\n    layout:\n      - [60, 83]\n      - 40\n    overwrite: false\n",
        "disk_setup./dev/vdc.layout",
        "",
    ),
    (
        "  - \"cloud-init-per once modules modprobe br_netfilter\"\n",
        "bootcmd.1",
        "",
    ),
];

fn translatable(full: &str) -> String {
    let mut text = full.to_owned();
    for (part, _, in_its_place) in PARTS {
        assert!(text.contains(part), "{part}");
        text = text.replace(part, in_its_place);
    }
    text
}

#[test]
fn what_the_full_ones_hold_beyond_ignition_is_refused_one_by_one() {
    for full in FULL {
        let mut text = full.to_owned();
        for (part, member, in_its_place) in PARTS {
            let refused = cloud_config(&text).and_then(|config| config.check()).unwrap_err();
            assert!(refused.member.starts_with(member), "{member}: {refused}");
            text = text.replace(part, in_its_place);
        }
        assert_eq!(cloud_config(&text).unwrap().check(), Ok(()));
    }
}

/// All that is written: path, octal mode, bytes.
fn wanted(text: &str) -> Vec<(String, u64, Vec<u8>)> {
    let body = text
        .replace("{{ ds.meta_data.instance_id }}", "i-1")
        .replace("{{ ds.meta_data.local_hostname }}", "cp-1.rack.example");
    let config: Value = serde_saphyr::from_str(&body).unwrap();
    let files = config["write_files"].as_array().unwrap().iter();
    files
        .map(|entry| {
            let mode = entry["permissions"].as_str().unwrap_or("0644");
            let content = entry["content"].as_str().unwrap();
            let bytes = match entry["encoding"].as_str() {
                None => content.as_bytes().to_vec(),
                Some("base64") => STANDARD.decode(content.trim()).unwrap(),
                Some(_) => b"made-up\n".to_vec(),
            };
            (
                entry["path"].as_str().unwrap().to_owned(),
                u64::from_str_radix(mode, 8).unwrap(),
                bytes,
            )
        })
        .collect()
}

#[test]
fn every_file_has_its_content_and_mode() {
    let texts = MINIMAL
        .iter()
        .map(|text| (*text).to_owned())
        .chain(FULL.iter().map(|text| translatable(text)));
    for text in texts {
        let config = translated(&text).unwrap();
        let files = wanted(&text);
        assert!(files.len() >= 2);
        for (path, mode, bytes) in files {
            let place = match path.starts_with("/run/") {
                true => format!("/etc/muster/bootstrap{path}"),
                false => path.clone(),
            };
            let found = file(&config, &place);
            assert_eq!(found["mode"], mode, "{path}");
            let resource = match path == "/etc/hosts" {
                true => &found["append"][0],
                false => &found["contents"],
            };
            assert_eq!(written(resource), bytes, "{path}");
        }
    }
}

#[test]
fn the_first_control_plane_of_everything() {
    let config = translated(&translatable(FULL[0])).unwrap();
    let ca = file(&config, "/etc/kubernetes/pki/ca.crt");
    assert_eq!(ca["mode"], 0o640);
    assert_eq!(
        contents(&ca["contents"]),
        "-----BEGIN CERTIFICATE-----\nEXAMPLE\n-----END CERTIFICATE-----\n"
    );
    let binary = file(&config, "/etc/example/binary");
    assert_eq!(binary["mode"], 0o755);
    assert_eq!(contents(&binary["contents"]), "#!/bin/sh\necho example\n");
    let packed = file(&config, "/etc/example/gz");
    assert_eq!(packed["contents"]["compression"], "gzip");
    assert_eq!(written(&packed["contents"]), b"made-up\n");
    let hosts = file(&config, "/etc/hosts");
    assert_eq!(hosts.get("overwrite"), None);
    assert_eq!(contents(&hosts["append"][0]), "192.0.2.10 registry.example.com\n");
    let kubeadm = contents(&file(&config, "/etc/muster/bootstrap/run/kubeadm/kubeadm.yaml")["contents"]);
    assert!(
        kubeadm.contains("    value: example://i-1\n  name: 'cp-1.rack.example'\n"),
        "{kubeadm}"
    );
    assert_eq!(
        contents(&file(&config, "/etc/tmpfiles.d/muster-bootstrap.conf")["contents"]),
        "d /run/kubeadm - - - -\n\
         C /run/kubeadm/kubeadm.yaml 0640 0 0 - /etc/muster/bootstrap/run/kubeadm/kubeadm.yaml\n\
         d /run/cluster-api - - - -\n\
         C /run/cluster-api/placeholder 0640 0 0 - /etc/muster/bootstrap/run/cluster-api/placeholder\n"
    );
    assert_eq!(
        contents(&file(&config, "/etc/muster/bootstrap/runcmd.sh")["contents"]),
        "#!/bin/sh\nswapoff -a\n\
         echo 'quoted \"text\" with : and # signs' > /run/example\n\
         hostnamectl set-hostname 'cp-1.rack.example'\n\
         echo 'i-1 cp-1 cp-1.rack.example'\n\
         kubeadm init --config /run/kubeadm/kubeadm.yaml --v 2 && echo success > /run/cluster-api/bootstrap-success.complete\n\
         systemctl enable example.timer\n"
    );
    assert_eq!(
        config["passwd"]["users"],
        json!([
            {"name": "core", "gecos": "Example Person", "groups": ["sudo", "adm"], "homeDir": "/home/core", "shell": "/bin/bash",
             "sshAuthorizedKeys": ["ssh-ed25519 AAAAEXAMPLEKEY core@example.com"]},
            {"name": "ops", "passwordHash": "$6$example$madeuphash", "primaryGroup": "users", "shell": "/bin/sh"},
        ])
    );
    assert_eq!(
        config["storage"]["disks"],
        json!([{"device": "/dev/vdb", "wipeTable": true, "partitions": [{"number": 1}]}])
    );
    assert_eq!(
        config["storage"]["filesystems"],
        json!([{"device": "/dev/vdb1", "format": "ext4", "label": "etcd_disk", "path": "/var/lib/etcd", "wipeFilesystem": true,
                "options": ["-E", "lazy_itable_init=1,lazy_journal_init=1"]}])
    );
    assert!(unit(&config, "var-lib-etcd.mount").contains("\nWhat=/dev/disk/by-label/etcd_disk\n"));
}

#[test]
fn a_worker_of_nothing_but_its_join_runs_one_command() {
    let config = translated(MINIMAL[2]).unwrap();
    let script = contents(&file(&config, "/etc/muster/bootstrap/runcmd.sh")["contents"]);
    assert_eq!(
        script,
        "#!/bin/sh\nkubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete\n"
    );
    let join = contents(
        &file(
            &config,
            "/etc/muster/bootstrap/run/kubeadm/kubeadm-join-config.yaml",
        )["contents"],
    );
    assert!(
        join.ends_with("    key: node.cluster.x-k8s.io/uninitialized\n"),
        "{join}"
    );
    assert_eq!(config.get("passwd"), None);
}
