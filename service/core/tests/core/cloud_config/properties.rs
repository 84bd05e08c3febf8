//! Any cloud-config of the closed list is either refused by a path, or becomes what Ignition accepts.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::*;

/// Any text, or one that some member takes.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[ -~äü\n\t]{0,12}",
        1 => select(vec![
            "/etc/a", "/run/b/c", "/tmp/x", "/usr/local/bin/x", "/var/lib/my-data", "/dev/vdb", "vdb1", "LABEL=a b", "0644", "root:root",
            "base64", "gzip+base64", "aGk=", "ext4", "gpt", "none", "auto", "core", "a,b", "defaults,noatime", "ALL=(ALL) ALL",
            "echo $x", "cloud-init-per once x", "ntp.example.com", "host", "default",
        ])
        .prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => word().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => (0_u32..1000).prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn member() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => scalar(),
        1 => vec(scalar(), 0..3).prop_map(Value::from),
    ]
}

fn object(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    btree_map(select(keys), member(), 0..keys.len()).prop_map(|members| {
        let members: Map<String, Value> = members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        Value::Object(members)
    })
}

fn any_of_the_list() -> impl Strategy<Value = Value> {
    let files = object(&[
        "path",
        "content",
        "encoding",
        "owner",
        "permissions",
        "append",
        "defer",
    ]);
    let users = object(&[
        "name",
        "groups",
        "passwd",
        "lock_passwd",
        "sudo",
        "ssh_authorized_keys",
        "shell",
        "gecos",
        "uid",
    ]);
    let filesystems = object(&[
        "device",
        "filesystem",
        "label",
        "partition",
        "overwrite",
        "extra_opts",
    ]);
    let disks = btree_map(word(), object(&["table_type", "layout", "overwrite"]), 0..2);
    (
        option::of(vec(files, 0..4)),
        option::of(vec(users, 0..3)),
        option::of(vec(filesystems, 0..2)),
        option::of(disks),
        option::of(vec(vec(scalar(), 0..5), 0..3)),
        option::of(vec(member(), 0..4)),
        option::of(vec(member(), 0..4)),
        option::of(object(&["enabled", "servers", "pools"])),
    )
        .prop_map(|(files, users, filesystems, disks, mounts, run, boot, ntp)| {
            json!({
                "write_files": files, "users": users, "fs_setup": filesystems, "disk_setup": disks,
                "mounts": mounts, "runcmd": run, "bootcmd": boot, "ntp": ntp,
            })
        })
}

/// Files and commands that are all taken.
fn taken() -> impl Strategy<Value = (Vec<(String, String, u32)>, Vec<String>)> {
    let text = "[ -~äü\n\t]{0,40}";
    let file = (
        "/(etc|run|var/lib)/[a-z]{1,8}(-[a-z0-9._]{1,6})?",
        text,
        0_u32..=0o777,
    );
    (vec(file, 0..5), vec("[ -~]{0,30}", 0..4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_accepted_is_what_ignition_takes(config in any_of_the_list()) {
        // `translated` parses what it gets by the rules of Ignition.
        if let Err(refused) = of(&config) {
            prop_assert!(!refused.member.is_empty() && !refused.why.is_empty(), "{}: {}", config, refused);
        }
    }

    #[test]
    fn files_and_commands_arrive_as_they_are((files, commands) in taken()) {
        prop_assume!(commands.iter().all(|line| !line.contains("cloud-init-per")));
        let entries: Vec<Value> = files
            .iter()
            .map(|(path, text, mode)| json!({"path": path, "content": text, "permissions": format!("{mode:04o}")}))
            .collect();
        let config = of(&json!({"write_files": entries, "runcmd": commands})).unwrap();
        for (path, _, _) in &files {
            // Of two of one path the later stays.
            let (_, text, mode) = files.iter().rfind(|(other, ..)| other == path).unwrap();
            let place = if path.starts_with("/run/") { format!("/etc/muster/bootstrap{path}") } else { path.clone() };
            let found = file(&config, &place);
            prop_assert_eq!(&contents(&found["contents"]), text);
            prop_assert_eq!(&found["mode"], &json!(mode));
        }
        if !commands.is_empty() {
            let script = contents(&file(&config, "/etc/muster/bootstrap/runcmd.sh")["contents"]);
            prop_assert_eq!(script, format!("#!/bin/sh\n{}\n", commands.join("\n")));
        }
    }
}
