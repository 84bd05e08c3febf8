//! A recorded conversation with another implementation of the protocol, held again with ours. See docs/wire-differences.md.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use muster_tests::artifacts::{live_image, project_root};
use serde_json::Value;

use crate::database::{Database, on_each_database};

on_each_database!(the_recorded_conversation_up_to_clusters_is_had_again);

/// The part of the conversation that begins here is about clusters, which this service does not have yet.
const FIRST_CLUSTER_QUESTION: &str = "import cluster";

/// Share of equal points that is asked for.
const LEAST: f64 = 0.97;

/// The entries of a recorded file before the first about clusters.
fn before_clusters(file: &str) -> Vec<Value> {
    let path = project_root().join("tests/wire").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let end = all
        .iter()
        .position(|entry| entry["name"] == FIRST_CLUSTER_QUESTION);
    all.into_iter()
        .take(end.expect("the recording has the question"))
        .collect()
}

fn the_recorded_conversation_up_to_clusters_is_had_again(database: Database) {
    let service = database.serve_with(|settings| settings.live_image(&live_image()));
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, serde_json::to_vec(&before_clusters(name)).unwrap()).unwrap();
        path
    };
    let (questions, answers) = (written("walk.json"), written("walk.answers.json"));
    let mut compare = Command::new("python3");
    compare.arg(project_root().join("tests/wire/wire.py"));
    compare.args(["compare", &format!("http://127.0.0.1:{}", service.port())]);
    compare.args([questions, answers]).arg(LEAST.to_string());
    compare.env("no_proxy", "*");
    let output = compare.output().expect("python3 is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && said.contains("points equal"),
        "fewer than {LEAST} of the points are equal"
    );
}
