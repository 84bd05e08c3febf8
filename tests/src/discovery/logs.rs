//! `muster host logs` of a machine that runs the live image.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::discovery::Discovery;

/// The machine is in no cluster: the command requests its logs, and they hold the output of kernel and agent, and no
/// token.
#[track_caller]
pub fn assert_sends_its_logs(discovery: &Discovery, name: &str) {
    let service = &discovery.service;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logs.tar.gz");
    let url = format!("http://127.0.0.1:{}", service.port());
    let token = discovery.client().token().expect("the service asks for tokens");
    let path = file.to_str().unwrap();
    let printed = service.muster(&["host", "logs", name, "--url", &url, "--token", token, "-f", path]);
    assert!(printed.ends_with(" bytes\n"), "{printed}");

    let mut archive = tar::Archive::new(GzDecoder::new(std::fs::File::open(&file).unwrap()));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let (_, file) = path.split_once('/').unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        files.insert(file.to_owned(), text);
    }
    for (file, words) in [
        ("dmesg.logs", "Linux version"),
        ("agent.logs", "step starts"),
        ("network.logs", "routes:"),
        ("inventory.json", "ACME-0001"),
        ("report.logs", "everything was collected"),
    ] {
        let text = files
            .get(file)
            .unwrap_or_else(|| panic!("no {file}: {:?}", files.keys()));
        assert!(text.contains(words), "{file} lacks {words:?}: {text}");
    }
    for (file, text) in &files {
        // All tokens are signed and begin so.
        assert!(!text.contains("eyJ"), "{file} holds a token");
    }
}
