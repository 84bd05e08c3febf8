//! A recorded conversation with another implementation of the protocol, repeated with ours. See
//! docs/wire-differences.md.

use std::process::Command;

use muster_tests::artifacts::{live_image, project_root};

use muster_tests::database::{Database, on_postgres};

on_postgres!(the_recorded_conversation_is_replayed);

/// Required share of equal points.
const LEAST: f64 = 0.97;

pub fn the_recorded_conversation_is_replayed(database: Database) {
    let service = database.serve_with(|settings| settings.live_image(&live_image()));
    let folder = project_root().join("tests/wire");
    let (questions, answers) = (folder.join("walk.json"), folder.join("walk.answers.json"));
    let mut compare = Command::new("python3");
    compare.arg(project_root().join("tests/wire/wire.py"));
    compare.args(["compare", &format!("http://127.0.0.1:{}", service.port())]);
    compare.args([questions, answers]).arg(LEAST.to_string());
    compare.env("no_proxy", "*");
    let output = compare.output().expect("python3 is installed");
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && printed.contains("points equal"),
        "fewer than {LEAST} of the points are equal"
    );
}
