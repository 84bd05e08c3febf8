//! Limits that keep small bootstrap data from becoming large, or slow to read.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use muster_core::rules::bootstrap_data::{Refused, read};
use serde_json::{Value, json};

use super::{cloud_config, of};

fn refused(config: &Value) -> Refused {
    of(config).unwrap_err()
}

#[test]
fn packed_files_have_one_limit_together() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![0; 40 << 20]).unwrap();
    let packed = STANDARD.encode(packed.finish().unwrap());
    let packed = |path: &str| json!({"path": path, "encoding": "gz+b64", "content": packed});
    assert!(of(&json!({"write_files": [packed("/etc/a")]})).is_ok());
    let refused = refused(&json!({"write_files": [packed("/etc/a"), packed("/etc/b")]}));
    assert_eq!(refused.member, "write_files.1.content", "{refused}");
    assert!(refused.why.contains("more than 67108864 bytes"), "{refused}");
}

#[test]
fn what_anchors_repeat_counts() {
    let repeated = |times: usize| {
        let aliases = "- *a\n".repeat(times);
        let text = format!("#cloud-config\nruncmd:\n- &a {}\n{aliases}", "x".repeat(500_000));
        cloud_config(&text).and_then(|config| config.check())
    };
    assert_eq!(repeated(2), Ok(()));
    assert_eq!(repeated(9).unwrap_err().why, "is not YAML of one document");
}

#[test]
fn paths_have_a_length_and_a_depth() {
    let path = |path: String| json!({"write_files": [{"path": path}]});
    assert!(of(&path(format!("/run/{}b", "a/".repeat(14)))).is_ok());
    for (bad, why) in [
        (format!("/run/{}b", "a/".repeat(15)), "in more than 16 folders"),
        (
            format!("/etc/{}", "a/".repeat(3000) + "b"),
            "longer than 4096 bytes",
        ),
    ] {
        let refused = refused(&path(bad));
        assert_eq!(refused.member, "write_files.0.path");
        assert!(refused.why.contains(why), "{refused}");
    }
    let mounts = json!({"mounts": [["vdb", format!("/var/{}", "a".repeat(5000))]]});
    assert_eq!(refused(&mounts).member, "mounts.0.1");
}

#[test]
fn lists_have_one_limit_together() {
    let ignition = |files: usize| {
        let files: Vec<Value> = (0..files)
            .map(|index| json!({"path": format!("/etc/{index}")}))
            .collect();
        json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}})
    };
    let holding = |inner: &Value| {
        let source = format!("data:;base64,{}", STANDARD.encode(inner.to_string()));
        json!({"ignition": {"version": "3.4.0", "config": {"merge": [{"source": source}]}}})
    };
    let cloud = |commands: usize| format!("#cloud-config\n{}", json!({"runcmd": vec!["true"; commands]}));
    let check = |text: &str| cloud_config(text).and_then(|config| config.check());
    assert_eq!(check(&cloud(4096)), Ok(()));
    assert!(read(&ignition(4096).to_string()).is_ok() && read(&holding(&ignition(4096)).to_string()).is_ok());
    for (refused, member) in [
        (check(&cloud(4097)).unwrap_err(), "value"),
        (read(&ignition(4097).to_string()).unwrap_err(), "value"),
        (
            read(&holding(&ignition(4097)).to_string()).unwrap_err(),
            "ignition.config.merge.0.source",
        ),
    ] {
        assert_eq!(refused.member, member);
        assert!(refused.why.contains("more than 4096 items"), "{refused}");
    }
}

#[test]
fn what_stands_before_the_paths_of_files_has_a_length() {
    let long = "a".repeat(5000);
    let filesystem = json!({"name": "a", "path": format!("/sysroot/{long}")});
    let unit = json!({"name": format!("{long}.network"), "contents": "[Match]\n"});
    for (sections, member) in [
        (
            json!({"storage": {"filesystems": [filesystem]}}),
            "storage.filesystems.0.path",
        ),
        (json!({"networkd": {"units": [unit]}}), "networkd.units.0.name"),
    ] {
        let mut config = json!({"ignition": {"version": "2.3.0"}});
        config
            .as_object_mut()
            .unwrap()
            .extend(sections.as_object().unwrap().clone());
        assert_eq!(read(&config.to_string()).unwrap_err().member, member);
    }
}
