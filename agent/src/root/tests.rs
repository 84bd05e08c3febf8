use std::os::unix::fs::symlink;

use super::*;
use crate::testing::Machine;

#[test]
fn links_lead_inside_of_the_tree_only() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/a")).unwrap();
    std::fs::write(dir.path().join("sys/a/file"), "inside").unwrap();
    symlink("/sys/a/file", dir.path().join("sys/absolute")).unwrap();
    symlink("../../../../../sys/a/file", dir.path().join("sys/a/relative")).unwrap();
    symlink(outside.path().join("secret"), dir.path().join("sys/escape")).unwrap();
    symlink(outside.path(), dir.path().join("sys/folder")).unwrap();
    symlink("loop", dir.path().join("sys/loop")).unwrap();
    let root = Root::tree(dir.path()).unwrap();
    assert_eq!(root.text("/sys/absolute").unwrap(), "inside");
    assert_eq!(root.text("/sys/a/relative").unwrap(), "inside");
    assert_eq!(root.resolve("/sys/a/relative").unwrap(), "/sys/a/file");
    assert_eq!(root.text("/../../sys/a/file").unwrap(), "inside");
    for path in ["/sys/escape", "/sys/folder/secret", "/sys/loop"] {
        assert!(root.read(path).is_err(), "{path}");
        assert!(!root.exists(path), "{path}");
    }
}

#[test]
fn text_is_trimmed_and_odd_bytes_do_not_matter() {
    let machine = Machine::new().file("/sys/x", b"  a\xff b\0\0 \n");
    assert_eq!(machine.root().text("/sys/x").unwrap(), "a\u{fffd} b");
}

#[test]
fn a_file_that_is_too_long_is_an_error() {
    let machine = Machine::new().file("/sys/x", vec![b'x'; (MAX_FILE_BYTES + 1) as usize]);
    assert_eq!(
        machine.root().read("/sys/x").unwrap_err().kind(),
        io::ErrorKind::FileTooLarge
    );
}

#[test]
fn a_capture_of_another_version_or_a_broken_one_is_refused_by_name() {
    for (text, part) in [
        ("{\"version\":2,\"probes\":{}}", "version 2"),
        ("{", "cannot be understood"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(CAPTURE_FILE), text).unwrap();
        let error = Root::tree(dir.path()).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains(CAPTURE_FILE), "{error}");
    }
    assert!(
        Root::tree(Path::new("/nowhere/at/all"))
            .unwrap_err()
            .to_string()
            .contains("/nowhere/at/all")
    );
}

#[test]
fn what_was_recorded_of_this_machine_reads_the_same_from_the_capture() {
    let live = Root::recording();
    let text = live.text("/proc/meminfo").unwrap();
    let names = live.list("/sys/class/net").unwrap();
    let resolved: Vec<String> = names
        .iter()
        .filter_map(|name| live.resolve(&format!("/sys/class/net/{name}")).ok())
        .collect();
    let answer: Result<u32, ProbeError> = live.probe("seven", || Ok(7));
    let refusal: Result<u32, ProbeError> = live.probe("none", || Err(ProbeError::value("not today")));
    let dir = tempfile::tempdir().unwrap();
    live.into_recording()
        .unwrap()
        .write(&dir.path().join("tree"))
        .unwrap();
    let again = Root::tree(&dir.path().join("tree")).unwrap();
    assert_eq!(again.text("/proc/meminfo").unwrap(), text);
    assert_eq!(again.list("/sys/class/net").unwrap(), names);
    let resolved_again: Vec<String> = names
        .iter()
        .filter_map(|name| again.resolve(&format!("/sys/class/net/{name}")).ok())
        .collect();
    assert_eq!(resolved_again, resolved);
    assert_eq!(again.probe("seven", || Err(ProbeError::value("asked"))), answer);
    assert_eq!(again.probe("none", || Ok(1)), refusal);
}
