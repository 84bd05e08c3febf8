//! Ignition 2 as 3: what kubeadm's provider writes, each row of the table in docs/bootstrap-data.md, and configs made of
//! its members.

mod generated;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_core::rules::bootstrap_data::translated;
use muster_core::rules::ignition::check_bootstrap;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

/// Rendered by kubeadm's provider, and the translation that Ignition 2.24 was shown (docs/protocol/bootstrap/README.md).
const RENDERED: [(&str, &str); 3] = [
    (
        include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-ignition-cp-init.json"),
        include_str!(
            "../../../../../docs/protocol/bootstrap/kubeadm-full-ignition-cp-init.expected-3.3.json"
        ),
    ),
    (
        include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-ignition-cp-join.json"),
        include_str!(
            "../../../../../docs/protocol/bootstrap/kubeadm-full-ignition-cp-join.expected-3.3.json"
        ),
    ),
    (
        include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-ignition-worker.json"),
        include_str!("../../../../../docs/protocol/bootstrap/kubeadm-full-ignition-worker.expected-3.3.json"),
    ),
];

/// Removes empty objects.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members
                .into_iter()
                .map(|(name, inner)| (name, without_empty(inner)));
            Value::Object(members.filter(|(_, inner)| *inner != json!({})).collect())
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}

/// The one difference to the expected files is that empty objects (`verification`, `config`, `security`, `timeouts`) are
/// left out: they have no effect.
#[test]
fn what_kubeadm_writes_becomes_what_ignition_was_seen_to_take() {
    for (given, expected) in RENDERED {
        let given: Value = serde_json::from_str(given).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(translated(&given), Ok(without_empty(expected)));
        assert_eq!(check_bootstrap(&given.to_string()), Ok(()));
    }
}

/// A config with these sections.
fn config(version: &str, sections: &Value) -> Value {
    let mut config = json!({"ignition": {"version": version}});
    for (section, value) in sections.as_object().unwrap() {
        if section == "ignition" {
            for (name, value) in value.as_object().unwrap() {
                config["ignition"][name] = value.clone();
            }
        } else {
            config[section] = value.clone();
        }
    }
    config
}

fn in_data_url(config: &Value) -> String {
    format!("data:;base64,{}", STANDARD.encode(config.to_string()))
}

fn assert_rows(rows: &[(Value, Value)]) {
    for (given, wanted) in rows {
        assert_eq!(
            translated(&config("2.3.0", given)),
            Ok(config("3.3.0", wanted)),
            "{given}"
        );
    }
}

#[test]
fn files_directories_and_links_are_paths_of_the_installed_system() {
    let source = json!({"source": "data:,a"});
    let file = |path: &str| json!({"filesystem": "root", "path": path, "contents": {"source": "data:,a", "verification": {}}});
    let mut kept = file("/etc/a");
    kept["overwrite"] = false.into();
    let mut of_data = file("/a//b/");
    of_data["filesystem"] = "data".into();
    let mut appended = file("/etc/a");
    appended["append"] = true.into();
    appended["mode"] = 384.into();
    let mut other = file("/etc/a");
    other["contents"]["source"] = "data:,b".into();
    let owner =
        json!({"filesystem": "root", "path": "/d", "mode": 493, "user": {"id": 0}, "group": {"name": "x"}});
    let owned = json!({"path": "/d", "mode": 493, "user": {"id": 0}, "group": {"name": "x"}});
    let files = |files: Value| json!({"storage": {"files": files}});
    assert_rows(&[
        (
            files(json!([file("/etc/a")])),
            files(json!([{"path": "/etc/a", "overwrite": true, "contents": source}])),
        ),
        (
            files(json!([kept])),
            files(json!([{"path": "/etc/a", "overwrite": false, "contents": source}])),
        ),
        // Without contents: an empty file, that replaces what is there.
        (
            files(json!([{"filesystem": "root", "path": "/etc/a", "user": {}}])),
            files(json!([{"path": "/etc/a", "overwrite": true, "contents": {"source": ""}}])),
        ),
        (
            files(json!([appended, appended])),
            files(json!([{"path": "/etc/a", "mode": 384, "append": [source, source]}])),
        ),
        (
            files(json!([file("/etc/a"), appended])),
            files(
                json!([{"path": "/etc/a", "mode": 384, "overwrite": true, "contents": source, "append": [source]}]),
            ),
        ),
        (
            files(json!([appended, other])),
            files(json!([{"path": "/etc/a", "overwrite": true, "contents": {"source": "data:,b"}}])),
        ),
        (
            json!({"storage": {"files": [of_data], "filesystems": [{"name": "data", "path": "/sysroot/var"}]}}),
            files(json!([{"path": "/var/a/b", "overwrite": true, "contents": source}])),
        ),
        (
            json!({"storage": {"directories": [owner]}}),
            json!({"storage": {"directories": [owned]}}),
        ),
        (
            json!({"storage": {"links": [{"filesystem": "root", "path": "/l", "target": "/dev/null", "hard": true, "overwrite": true}]}}),
            json!({"storage": {"links": [{"path": "/l", "target": "/dev/null", "hard": true, "overwrite": true}]}}),
        ),
    ]);
    // Before 2.2 a mode that is absent is 0.
    let old = config("2.1.0", &files(json!([file("/etc/a")])));
    assert_eq!(translated(&old).unwrap()["storage"]["files"][0]["mode"], 0);
}

#[test]
fn disks_arrays_and_filesystems_keep_what_they_are() {
    let disk = |partitions: Value| json!({"storage": {"disks": [{"device": "/dev/vdb", "wipeTable": true, "partitions": partitions}]}});
    let guid = "01234567-89AB-CDEF-EDCB-A98765432101";
    let raid = json!({"storage": {"raid": [
        {"name": "r", "level": "raid1", "devices": ["/dev/vdb", "/dev/vdc"], "spares": 1, "options": ["--a"]},
    ]}});
    let filesystems = |list: Value| json!({"storage": {"filesystems": list}});
    assert_rows(&[
        (disk(json!([{}])), disk(json!([{"number": 1}]))),
        (
            disk(json!([{"number": 2}, {}, {"number": 0}])),
            disk(json!([{"number": 2}, {"number": 1}, {"number": 3}])),
        ),
        (
            disk(
                json!([{"label": "a", "start": 2048, "size": 4096}, {"number": 2, "label": "b", "size": 0}]),
            ),
            disk(
                json!([{"label": "a", "startMiB": 1, "sizeMiB": 2}, {"number": 2, "label": "b", "sizeMiB": 0}]),
            ),
        ),
        (
            disk(
                json!([{"number": 1, "sizeMiB": 5, "startMiB": 7, "typeGuid": guid, "guid": guid, "wipePartitionEntry": true}]),
            ),
            disk(
                json!([{"number": 1, "sizeMiB": 5, "startMiB": 7, "typeGuid": guid, "guid": guid, "wipePartitionEntry": true}]),
            ),
        ),
        (
            disk(json!([{"number": 3, "shouldExist": false}])),
            disk(json!([{"number": 3, "shouldExist": false}])),
        ),
        (raid.clone(), raid),
        (
            filesystems(json!([{"name": "a", "mount": {
                "device": "/dev/vdb1", "format": "ext4", "label": "l", "uuid": "u", "options": ["-E"], "wipeFilesystem": true,
            }}])),
            filesystems(json!([{
                "device": "/dev/vdb1", "format": "ext4", "label": "l", "uuid": "u", "options": ["-E"], "wipeFilesystem": true,
            }])),
        ),
        (
            filesystems(json!([{"path": "/var", "mount": {
                "device": "/dev/vdb1", "format": "xfs", "options": ["-a"], "create": {"force": true, "options": ["-b"]},
            }}])),
            filesystems(json!([{
                "path": "/var", "device": "/dev/vdb1", "format": "xfs", "options": ["-a", "-b"], "wipeFilesystem": true,
            }])),
        ),
        (
            filesystems(json!([{"name": "root", "path": "/sysroot"}])),
            json!({}),
        ),
    ]);
}

#[test]
fn units_of_one_name_are_joined_and_those_of_networkd_are_files() {
    let units = |list: Value| json!({"systemd": {"units": list}});
    let contents = "[Unit]\nDescription=a\n";
    assert_rows(&[
        (
            units(json!([
                {"name": "a.service", "enable": true, "contents": contents, "dropins": [{"name": "1.conf", "contents": "[Unit]\n"}]},
                {"name": "b.service", "enable": false},
                {"name": "a.service", "enabled": false, "contents": "", "mask": true, "dropins": [
                    {"name": "2.conf"}, {"name": "1.conf", "contents": contents},
                ]},
            ])),
            units(json!([
                {"name": "a.service", "enabled": false, "contents": contents, "mask": true, "dropins": [
                    {"name": "1.conf", "contents": contents}, {"name": "2.conf"},
                ]},
                {"name": "b.service"},
            ])),
        ),
        (
            json!({"networkd": {"units": [
                {"name": "1.network", "contents": "[Match]\n", "dropins": [{"name": "a.conf", "contents": "[Network]\n"}]},
                {"name": "2.link"},
            ]}}),
            json!({"storage": {"files": [
                {"path": "/etc/systemd/network/1.network", "mode": 420, "overwrite": true,
                    "contents": {"source": "data:,%5BMatch%5D%0A"}},
                {"path": "/etc/systemd/network/1.network.d/a.conf", "mode": 420, "overwrite": true,
                    "contents": {"source": "data:,%5BNetwork%5D%0A"}},
            ]}}),
        ),
    ]);
}

#[test]
fn users_have_the_members_of_create_and_each_key_once() {
    let created = json!({
        "gecos": "x", "groups": ["a"], "homeDir": "/h", "noCreateHome": true, "noLogInit": true, "noUserGroup": true,
        "primaryGroup": "p", "shell": "/bin/sh", "system": true, "uid": 7,
    });
    let mut whole = created.clone();
    whole["name"] = "core".into();
    let groups = json!([{"name": "g", "gid": 7, "passwordHash": "x", "system": true}]);
    assert_rows(&[
        (
            json!({"passwd": {"users": [{"name": "core", "uid": 7, "create": created}], "groups": groups}}),
            json!({"passwd": {"users": [whole.clone()], "groups": groups}}),
        ),
        (
            json!({"passwd": {"users": [whole.clone()]}}),
            json!({"passwd": {"users": [whole]}}),
        ),
        (
            json!({"passwd": {"users": [{"name": "a", "passwordHash": "", "sshAuthorizedKeys": ["k", "l", "k"], "shell": ""}]}}),
            json!({"passwd": {"users": [{"name": "a", "passwordHash": "", "sshAuthorizedKeys": ["k", "l"]}]}}),
        ),
    ]);
}

#[test]
fn what_ignition_fetches_stays_and_configs_in_it_are_translated() {
    let digest = format!("sha512-{}", "0".repeat(128));
    let authority = json!({"source": "https://a.example/ca", "verification": {"hash": digest},
        "httpHeaders": [{"name": "a", "value": "b"}]});
    let ignition = json!({"ignition": {
        "security": {"tls": {"certificateAuthorities": [authority]}},
        "timeouts": {"httpTotal": 9, "httpResponseHeaders": 8},
        "proxy": {"httpProxy": "http://p.example", "httpsProxy": "http://p.example", "noProxy": ["a"]},
    }});
    let inner = config(
        "2.0.0",
        &json!({"systemd": {"units": [{"name": "a.service", "enable": true}]}}),
    );
    let inner_3 = config(
        "3.3.0",
        &json!({"systemd": {"units": [{"name": "a.service", "enabled": true}]}}),
    );
    let hash = format!("sha512-{:x}", Sha512::digest(inner.to_string()));
    let already = in_data_url(&config("3.1.0", &json!({})));
    assert_rows(&[(ignition.clone(), ignition)]);

    let held = |reference: &Value| -> Value {
        let source = reference["source"].as_str().unwrap();
        let text = STANDARD
            .decode(source.strip_prefix("data:;base64,").unwrap())
            .unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let references = |given: Value| {
        let given = config("2.3.0", &json!({"ignition": {"config": given}}));
        translated(&given).unwrap()["ignition"]["config"].clone()
    };
    let appended = references(json!({"append": [
        {"source": in_data_url(&inner), "verification": {"hash": hash}}, {"source": already},
    ], "replace": {"verification": {}}}));
    let merge = &appended["merge"];
    assert_eq!(held(&merge[0]), inner_3);
    assert_eq!(merge[0].get("verification"), None, "it is of the text before");
    assert_eq!(merge[1], json!({"source": already}));
    assert_eq!(appended.get("replace"), None);
    let replaced = references(json!({"replace": {"source": in_data_url(&inner)}}));
    assert_eq!(held(&replaced["replace"]), inner_3);
}

/// What has no effect is left out, of members that no specification has, too.
#[test]
fn members_without_effect_go() {
    assert_rows(&[(
        json!({"a": null, "storage": {"b": {"c": []}, "files": []}, "passwd": {}, "networkd": {"units": []}, "systemd": null}),
        json!({}),
    )]);
}

/// A refused section, and the path of the member.
fn refused() -> Vec<(Value, &'static str)> {
    let file = |member: &str, value: Value| {
        let mut file =
            json!({"filesystem": "root", "path": "/hunter2", "contents": {"source": "data:,hunter2"}});
        file[member] = value;
        json!({"storage": {"files": [file]}})
    };
    let partition =
        |value: Value| json!({"storage": {"disks": [{"device": "/dev/vdb", "partitions": [value]}]}});
    let filesystem = |value: Value| json!({"storage": {"filesystems": [value]}});
    let mount = |name: &str, value: Value| {
        let mut mount = json!({"device": "/dev/vdb1", "format": "ext4"});
        mount[name] = value;
        json!({"storage": {"filesystems": [{"name": "a", "mount": mount}]}})
    };
    let reference = |value: Value| json!({"ignition": {"config": {"append": [value]}}});
    let inner = config(
        "2.3.0",
        &json!({"storage": {"files": [{"filesystem": "oem", "path": "/hunter2"}]}}),
    );
    let hash = format!("sha512-{}", "0".repeat(128));
    vec![
        (json!({"hunters": {"a": "hunter2"}}), "hunters"),
        (json!({"passwd": []}), "passwd"),
        (json!({"storage": {"files": {}}}), "storage.files"),
        (
            json!({"storage": {"luks": [{"name": "hunter2"}]}}),
            "storage.luks",
        ),
        (file("filesystem", json!("hunter2")), "storage.files.0.filesystem"),
        (file("filesystem", json!("oem")), "storage.files.0.filesystem"),
        (file("path", json!("hunter2")), "storage.files.0.path"),
        (file("mode", json!("0644")), "storage.files.0.mode"),
        (file("mode", json!(9999)), "storage.files.0.mode"),
        (
            file("user", json!({"id": 1, "name": "hunter2"})),
            "storage.files.0.user",
        ),
        (
            file("contents", json!({"compression": "xz"})),
            "storage.files.0.contents.compression",
        ),
        (
            file("contents", json!({"source": "oem:///hunter2"})),
            "storage.files.0.contents.source",
        ),
        (
            file("contents", json!({"inline": "hunter2"})),
            "storage.files.0.contents.inline",
        ),
        (
            json!({"storage": {"files": [{"path": "/hunter2", "append": true, "overwrite": true}]}}),
            "storage.files.0.overwrite",
        ),
        (
            json!({"storage": {"files": [{"path": "/hunter2"}, {"path": "/hunter2", "overwrite": false}]}}),
            "storage.files.1.path",
        ),
        (
            json!({"storage": {"links": [{"filesystem": "root", "path": "/hunter2"}]}}),
            "storage.links.0.target",
        ),
        (
            partition(json!({"size": 2047})),
            "storage.disks.0.partitions.0.size",
        ),
        (
            partition(json!({"start": -2048})),
            "storage.disks.0.partitions.0.start",
        ),
        (
            partition(json!({"size": 2048, "sizeMiB": 1})),
            "storage.disks.0.partitions.0.size",
        ),
        (
            partition(json!({"label": "a:b"})),
            "storage.disks.0.partitions.0.label",
        ),
        (
            partition(json!({"resize": true})),
            "storage.disks.0.partitions.0.resize",
        ),
        (
            filesystem(json!({"name": "oem", "path": "/sysroot"})),
            "storage.filesystems.0.name",
        ),
        (filesystem(json!({"name": "a"})), "storage.filesystems.0.mount"),
        (
            filesystem(json!({"name": "a", "path": "/var"})),
            "storage.filesystems.0.path",
        ),
        (
            filesystem(json!({"name": "root", "mount": {"device": "/dev/vdb"}})),
            "storage.filesystems.0.mount",
        ),
        (mount("device", json!("")), "storage.filesystems.0.mount.device"),
        (mount("format", json!(null)), "storage.filesystems.0.mount.format"),
        (
            mount("create", json!({"options": ["hunter2"]})),
            "storage.filesystems.0.mount.create.force",
        ),
        (
            json!({"storage": {"files": [{"filesystem": "a", "path": "/x"}], "filesystems": [
                {"name": "a", "mount": {"device": "/dev/vdb1", "format": "ext4"}},
            ]}}),
            "storage.files.0.filesystem",
        ),
        (
            json!({"storage": {"raid": [{"name": "a", "level": "raid7", "devices": ["/dev/vdb"]}]}}),
            "storage.raid.0.level",
        ),
        (
            json!({"systemd": {"units": [{"name": "hunter2"}]}}),
            "systemd.units.0.name",
        ),
        (
            json!({"systemd": {"units": [{"name": "a.service", "runtime": true}]}}),
            "systemd.units.0.runtime",
        ),
        (
            json!({"networkd": {"units": [{"name": "../hunter2.network"}]}}),
            "networkd.units.0.name",
        ),
        (
            json!({"networkd": {"units": [{"name": "a.conf"}]}}),
            "networkd.units.0.name",
        ),
        (
            json!({"passwd": {"users": [{"name": "a"}, {"name": "a"}]}}),
            "passwd.users.1",
        ),
        (
            json!({"passwd": {"users": [{"name": "a", "uid": 1, "create": {"uid": 2}}]}}),
            "passwd.users.0.create.uid",
        ),
        (
            json!({"passwd": {"users": [{"name": "a", "groups": [1]}]}}),
            "passwd.users.0.groups",
        ),
        (
            json!({"ignition": {"proxy": {"httpProxy": "ftp://hunter2"}}}),
            "ignition.proxy.httpProxy",
        ),
        (
            reference(json!({"source": "https://hunter2.example"})),
            "ignition.config.append.0.source",
        ),
        (reference(json!({})), "ignition.config.append.0.source"),
        (
            reference(json!({"source": "data:,hunter2"})),
            "ignition.config.append.0.source",
        ),
        (
            reference(json!({"source": in_data_url(&inner), "compression": "gzip"})),
            "ignition.config.append.0.compression",
        ),
        (
            reference(json!({"source": in_data_url(&inner), "verification": {"hash": hash}})),
            "ignition.config.append.0.verification.hash",
        ),
        (
            reference(json!({"source": in_data_url(&inner)})),
            "ignition.config.append.0.source -> storage.files.0.filesystem",
        ),
    ]
}

#[test]
fn what_3_cannot_say_is_refused_by_its_path_and_never_by_its_value() {
    for (sections, path) in refused() {
        let refused = translated(&config("2.3.0", &sections)).unwrap_err();
        assert_eq!(refused.member, path, "{sections}: {refused}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
    for version in ["2.5.0", "2.4.0-experimental", "3.0.0", ""] {
        let refused = translated(&config(version, &json!({}))).unwrap_err();
        assert_eq!(refused.member, "ignition.version", "{version}");
    }
}
