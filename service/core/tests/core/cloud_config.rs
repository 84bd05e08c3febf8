//! Cloud-config as Ignition: kubeadm's own, what is refused, and anything of the closed list of keys.

mod kubeadm;
mod limits;
mod properties;

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use muster_core::record::Secret;
use muster_core::rules::bootstrap_data::{BootstrapData, CloudConfig, Refused, Subject, read};
use muster_core::rules::ignition_spec::parse;
use serde_json::{Value, json};

use crate::ignition::{contents, file, of_node};
use crate::world::World;

fn subject() -> Subject {
    Subject {
        instance_id: "i-1".into(),
        hostname: "cp-1.rack.example".into(),
        name: "cp-1.rack.example".into(),
        uuid: "u-1".into(),
        local_ipv4: Some("192.0.2.7".into()),
        provider_id: "agent://u-1".into(),
    }
}

fn cloud_config(text: &str) -> Result<CloudConfig, Refused> {
    match read(text)? {
        BootstrapData::CloudConfig(config) => Ok(config),
        BootstrapData::Ignition(_) => panic!("no cloud-config"),
    }
}

/// The Ignition of the host above, which Ignition accepts.
fn translated(text: &str) -> Result<Value, Refused> {
    let ignition = cloud_config(text)?.ignition_for(&subject())?;
    let config = parse(&ignition).unwrap();
    assert_eq!(config.minor, 3);
    Ok(serde_json::from_str(&ignition).unwrap())
}

fn of(config: &Value) -> Result<Value, Refused> {
    translated(&format!("#cloud-config\n{config}\n"))
}

/// The bytes that Ignition writes.
fn written(resource: &Value) -> Vec<u8> {
    let source = resource["source"].as_str().unwrap();
    let bytes = STANDARD
        .decode(source.strip_prefix("data:;base64,").unwrap())
        .unwrap();
    if resource.get("compression").is_none() {
        return bytes;
    }
    assert_eq!(resource["compression"], "gzip");
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes.as_slice())
        .read_to_end(&mut unpacked)
        .unwrap();
    unpacked
}

fn unit<'a>(config: &'a Value, name: &str) -> &'a str {
    let units = config["systemd"]["units"].as_array().unwrap();
    let unit = units.iter().find(|unit| unit["name"] == name).unwrap();
    assert_eq!(unit["enabled"], true, "{name}");
    unit["contents"].as_str().unwrap()
}

#[test]
fn nothing_becomes_an_empty_config() {
    for text in [
        "#cloud-config",
        "#cloud-config\n\n# nothing\n",
        "\n#cloud-config\n{}",
    ] {
        assert_eq!(
            translated(text),
            Ok(json!({"ignition": {"version": "3.3.0"}})),
            "{text:?}"
        );
    }
}

#[test]
fn files_are_written_with_owner_mode_and_encoding() {
    let config = of(&json!({"write_files": [
        {"path": "/etc/a", "content": "a\n"},
        {"path": "/etc//b/./c", "content": "ü", "owner": "etcd:etcd", "permissions": "0o600"},
        {"path": "/etc/d", "content": "x", "permissions": 416, "owner": ":adm"},
        {"path": "/etc/e", "content": " aGk=\n", "encoding": "b64", "owner": "1000:0", "defer": true},
        {"path": "/etc/a", "content": "b", "append": true},
        {"path": "/etc/f", "append": true, "content": "1"},
        {"path": "/etc/f", "append": true, "content": "2"},
        {"path": "/etc/g", "content": "old"},
        {"path": "/etc/g", "content": "new", "permissions": "755"},
        {"path": "/etc/h"},
    ]}))
    .unwrap();
    let a = file(&config, "/etc/a");
    assert_eq!(
        (&a["mode"], &a["overwrite"], &a["user"], &a["group"]),
        (&json!(0o644), &json!(true), &json!({"id": 0}), &json!({"id": 0}))
    );
    assert_eq!(contents(&a["contents"]) + &contents(&a["append"][0]), "a\nb");
    let c = file(&config, "/etc/b/c");
    assert_eq!(contents(&c["contents"]), "ü");
    assert_eq!(
        (&c["mode"], &c["user"], &c["group"]),
        (&json!(0o600), &json!({"name": "etcd"}), &json!({"name": "etcd"}))
    );
    assert_eq!(file(&config, "/etc/d")["mode"], 0o640);
    assert_eq!(file(&config, "/etc/d")["group"], json!({"name": "adm"}));
    assert_eq!(contents(&file(&config, "/etc/e")["contents"]), "hi");
    assert_eq!(file(&config, "/etc/e")["user"], json!({"id": 1000}));
    let f = file(&config, "/etc/f");
    assert_eq!((f.get("contents"), f.get("overwrite")), (None, None));
    assert_eq!(contents(&f["append"][0]) + &contents(&f["append"][1]), "12");
    let g = file(&config, "/etc/g");
    assert_eq!(
        (contents(&g["contents"]).as_str(), &g["mode"]),
        ("new", &json!(0o755))
    );
    assert_eq!(contents(&file(&config, "/etc/h")["contents"]), "");
}

#[test]
fn numbers_and_words_are_those_of_yaml_1_1() {
    let config = translated(
        "#cloud-config\nwrite_files:\n- path: /etc/a\n  permissions: 0640\n  append: yes\n  content: x\n",
    )
    .unwrap();
    assert_eq!(file(&config, "/etc/a")["mode"], 0o640);
    assert!(file(&config, "/etc/a").get("append").is_some());
}

#[test]
fn of_two_equal_keys_the_later_counts() {
    let config =
        translated("#cloud-config\nruncmd:\n- first\nwrite_files: []\n#cloud-config\nruncmd:\n- second\n")
            .unwrap();
    let script = file(&config, "/etc/muster/bootstrap/runcmd.sh");
    assert_eq!(contents(&script["contents"]), "#!/bin/sh\nsecond\n");
}

#[test]
fn what_is_empty_at_each_boot_is_copied_at_each_boot() {
    let config = of(&json!({"write_files": [
        {"path": "/run/a/b/c", "content": "1", "permissions": "0600", "owner": "etcd"},
        {"path": "/var/run/a/d", "content": "2"},
        {"path": "/tmp/e", "content": "3"},
    ]}))
    .unwrap();
    let copies = file(&config, "/etc/tmpfiles.d/muster-bootstrap.conf");
    assert_eq!(copies["mode"], 0o644);
    assert_eq!(
        contents(&copies["contents"]),
        "d /run/a - - - -\nd /run/a/b - - - -\n\
         C /run/a/b/c 0600 etcd 0 - /etc/muster/bootstrap/run/a/b/c\n\
         C /run/a/d 0644 0 0 - /etc/muster/bootstrap/run/a/d\n\
         C /tmp/e 0644 0 0 - /etc/muster/bootstrap/tmp/e\n"
    );
    let kept = file(&config, "/etc/muster/bootstrap/run/a/b/c");
    assert_eq!(
        (&kept["mode"], &kept["user"]),
        (&json!(0o600), &json!({"name": "etcd"}))
    );
    let paths = config["storage"]["files"].as_array().unwrap();
    assert!(
        paths
            .iter()
            .all(|file| file["path"].as_str().unwrap().starts_with("/etc/"))
    );
}

#[test]
fn users_sudo_and_passwords() {
    let config = of(&json!({
        "groups": ["one", "two", "one"],
        "users": [
            "default",
            {"name": "a", "groups": "sudo, adm,sudo", "sudo": ["ALL=(ALL) NOPASSWD:ALL", "x"], "passwd": "$6$x", "uid": 1500,
             "ssh_authorized_keys": ["ssh-ed25519 A", "ssh-ed25519 A"], "homedir": "/var/home/a", "shell": "/bin/bash", "gecos": "An A"},
            {"name": "b", "passwd": "$6$y", "lock_passwd": false, "primary_group": "users", "sudo": false, "inactive": false, "system": true},
            "c",
        ],
    }))
    .unwrap();
    assert_eq!(
        config["passwd"],
        json!({
            "groups": [{"name": "one"}, {"name": "two"}],
            "users": [
                {"name": "a", "groups": ["sudo", "adm"], "uid": 1500, "sshAuthorizedKeys": ["ssh-ed25519 A"],
                 "homeDir": "/var/home/a", "shell": "/bin/bash", "gecos": "An A"},
                {"name": "b", "passwordHash": "$6$y", "primaryGroup": "users", "system": true},
                {"name": "c"},
            ],
        })
    );
    let sudoers = file(&config, "/etc/sudoers.d/90-cloud-init-users");
    assert_eq!(sudoers["mode"], 0o440);
    assert_eq!(contents(&sudoers["contents"]), "a ALL=(ALL) NOPASSWD:ALL\na x\n");
    let sshd = file(&config, "/etc/ssh/sshd_config.d/10-cloud-init-users.conf");
    assert_eq!(
        contents(&sshd["contents"]),
        "Match User b\n    PasswordAuthentication yes\n"
    );
}

#[test]
fn commands_and_time_servers() {
    let config = of(&json!({
        "bootcmd": [["echo", "it's"]],
        "runcmd": ["false", ["echo", "$HOME", 1]],
        "ntp": {"servers": ["ntp1.example.com"], "pools": ["pool.example.com"]},
    }))
    .unwrap();
    let script = file(&config, "/etc/muster/bootstrap/runcmd.sh");
    assert_eq!(script["mode"], 0o700);
    assert_eq!(
        contents(&script["contents"]),
        "#!/bin/sh\nfalse\n'echo' '$HOME' '1'\n"
    );
    let once = unit(&config, "muster-bootstrap.service");
    for line in [
        "After=network-online.target containerd.service crio.service\n",
        "ConditionPathExists=!/var/lib/muster-bootstrap/runcmd-begun\n",
        "ExecStart=/bin/sh /etc/muster/bootstrap/runcmd.sh\n",
        "Type=oneshot\n",
    ] {
        assert!(once.contains(line), "{line}{once}");
    }
    let boot = file(&config, "/etc/muster/bootstrap/bootcmd.sh");
    assert_eq!(
        contents(&boot["contents"]),
        "#!/bin/sh\nINSTANCE_ID='i-1'\nexport INSTANCE_ID\n'echo' 'it'\\''s'\n"
    );
    let each = unit(&config, "muster-bootstrap-boot.service");
    assert!(
        each.contains("DefaultDependencies=no\n") && !each.contains("ConditionPathExists"),
        "{each}"
    );
    let chrony = contents(&file(&config, "/etc/chrony.conf")["contents"]);
    assert!(
        chrony.contains("pool pool.example.com iburst\nserver ntp1.example.com iburst\n"),
        "{chrony}"
    );
    let off = of(&json!({"ntp": {"enabled": false, "servers": ["x"]}})).unwrap();
    assert_eq!(off, json!({"ignition": {"version": "3.3.0"}}));
}

#[test]
fn a_name_may_be_repeated_and_is_never_changed() {
    for good in [
        json!({"hostname": "cp-1.rack.example", "fqdn": "cp-1.rack.example", "preserve_hostname": true}),
        json!({"hostname": "cp-1"}),
    ] {
        assert_eq!(of(&good), Ok(json!({"ignition": {"version": "3.3.0"}})), "{good}");
    }
    for (bad, member) in [
        (json!({"hostname": "other"}), "hostname"),
        (json!({"fqdn": "cp-1"}), "fqdn"),
    ] {
        assert_eq!(of(&bad).unwrap_err().member, member);
    }
    let repeated = "## template: jinja\n#cloud-config\nhostname: '{{ ds.meta_data.local_hostname }}'\n";
    assert_eq!(cloud_config(repeated).unwrap().check(), Ok(()));
    assert_eq!(
        cloud_config("#cloud-config\nhostname: one-for-all\n")
            .unwrap()
            .check()
            .unwrap_err()
            .member,
        "hostname"
    );
}

#[test]
fn what_has_no_counterpart_is_refused_by_its_path() {
    let files = |entry: Value| json!({"write_files": [entry]});
    let users = |entry: Value| json!({"users": [entry]});
    for (config, member) in [
        (json!({"packages": ["hunter2"]}), "packages"),
        (json!({"power_state": {"mode": "reboot"}}), "power_state"),
        (json!({"write_files": {}}), "write_files"),
        (files(json!({"content": "x"})), "write_files.0.path"),
        (files(json!({"path": "etc/x"})), "write_files.0.path"),
        (files(json!({"path": "/etc/../x"})), "write_files.0.path"),
        (files(json!({"path": "/etc/"})), "write_files.0.path"),
        (files(json!({"path": "/usr/bin/x"})), "write_files.0.path"),
        (files(json!({"path": "/bin/x"})), "write_files.0.path"),
        (files(json!({"path": "/sys/x"})), "write_files.0.path"),
        (files(json!({"path": "/run/a b"})), "write_files.0.path"),
        (files(json!({"path": "/run/a\nx"})), "write_files.0.path"),
        (
            files(json!({"path": "/etc/x", "source": {"uri": "https://hunter2"}})),
            "write_files.0.source",
        ),
        (
            files(json!({"path": "/etc/x", "content": 7})),
            "write_files.0.content",
        ),
        (
            files(json!({"path": "/etc/x", "content": "hunter2!", "encoding": "b64"})),
            "write_files.0.content",
        ),
        (
            files(json!({"path": "/etc/x", "content": "aGk=", "encoding": "gz+b64"})),
            "write_files.0.content",
        ),
        (
            files(json!({"path": "/etc/x", "encoding": "rot13"})),
            "write_files.0.encoding",
        ),
        (
            files(json!({"path": "/etc/x", "permissions": "0888"})),
            "write_files.0.permissions",
        ),
        (
            files(json!({"path": "/etc/x", "permissions": "4755"})),
            "write_files.0.permissions",
        ),
        (
            files(json!({"path": "/etc/x", "permissions": "rw"})),
            "write_files.0.permissions",
        ),
        (
            files(json!({"path": "/etc/x", "owner": "a b"})),
            "write_files.0.owner",
        ),
        (
            files(json!({"path": "/etc/x", "append": "maybe"})),
            "write_files.0.append",
        ),
        (users(json!({"name": "a", "inactive": true})), "users.0.inactive"),
        (
            users(json!({"name": "a", "plain_text_passwd": "hunter2"})),
            "users.0.plain_text_passwd",
        ),
        (
            users(json!({"name": "a", "expiredate": "2032-09-01"})),
            "users.0.expiredate",
        ),
        (users(json!({"name": "a\nb"})), "users.0.name"),
        (users(json!({"name": "a", "sudo": "ALL\nroot"})), "users.0.sudo"),
        (users(json!({"gecos": "x"})), "users.0.name"),
        (json!({"users": [{"name": "a"}, "a"]}), "users.1"),
        (json!({"users": {"name": "a"}}), "users"),
        (json!({"groups": [{"a": ["root"]}]}), "groups.0"),
        (json!({"runcmd": "hunter2"}), "runcmd"),
        (
            json!({"bootcmd": ["x", "cloud-init-per once a hunter2"]}),
            "bootcmd.1",
        ),
        (json!({"ntp": {"servers": ["a b"]}}), "ntp.servers.0"),
        (json!({"ntp": {"config": {}}}), "ntp.config"),
        (json!({"ntp": {"ntp_client": "ntpd"}}), "ntp.ntp_client"),
        (
            json!({"fs_setup": [{"device": "/dev/vdb", "partition": 1, "filesystem": "xfs", "label": "longer than twelve"}]}),
            "storage.filesystems.0.label",
        ),
        (
            json!({"mounts": [["vdb", "/var/x"], ["vdc", "/var/x"]]}),
            "systemd.units.1",
        ),
        (json!({"mounts": [["vdb", "/home/x"]]}), "mounts.0.1"),
        (json!(["hunter2"]), "value"),
    ] {
        let refused = of(&config).unwrap_err();
        assert_eq!(refused.member, member, "{config}: {refused}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
    for (text, member) in [
        ("#cloud-config\nruncmd: [\n", "line "),
        ("#cloud-config\na: 1\n---\nb: 2\n", "line "),
    ] {
        let refused = translated(text).unwrap_err();
        assert!(refused.member.starts_with(member), "{text}: {refused}");
    }
}

#[test]
fn a_host_gets_its_cloud_config_as_ignition_with_its_own_values() {
    let mut world = World::new();
    let mut host = world.known_host_of_cluster();
    let text = "## template: jinja\n#cloud-config\nruncmd:\n\
        - echo {{ ds.meta_data.local_hostname }} {{ ds.meta_data.uuid }} {{ ds.meta_data['provider-id'] }}\n";
    host.bootstrap_ignition = Secret::new(text);
    let config = of_node(&world, &host);
    assert_eq!(config["ignition"]["version"], "3.3.0");
    let id = host.id;
    assert_eq!(
        contents(&file(&config, "/etc/muster/bootstrap/runcmd.sh")["contents"]),
        format!("#!/bin/sh\necho host-1 {id} agent://{id}\n")
    );
    assert_eq!(
        file(&config, "/etc/hostname")["contents"]["source"],
        "data:,host-1"
    );

    host.data.requested_hostname = Some("renamed".into());
    let config = of_node(&world, &host);
    let script = contents(&file(&config, "/etc/muster/bootstrap/runcmd.sh")["contents"]);
    assert!(script.starts_with("#!/bin/sh\necho renamed "), "{script}");

    let one = Subject::of(&host, text);
    let other = Subject::of(&host, "#cloud-config");
    assert!(one.instance_id.starts_with(&host.id.to_string()));
    assert_ne!(
        one.instance_id, other.instance_id,
        "another claim, another instance"
    );
}
