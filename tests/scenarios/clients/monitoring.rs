//! Prometheus' own tool on the alert rules of `deploy/monitoring`: they are rules, and each fires when it should and not before.

use std::fs;
use std::process::Command;

use muster_tests::artifacts::project_root;
use muster_tests::process::run;

#[test]
fn promtool_accepts_the_rules_and_their_tests() {
    let folder = project_root().join("deploy/monitoring");
    let rules = folder.join("alerts.yaml");
    println!(
        "{}",
        run(Command::new("promtool").args(["check", "rules"]).arg(&rules))
    );
    let mut tests = Vec::new();
    for entry in fs::read_dir(folder.join("tests")).unwrap() {
        tests.push(entry.unwrap().path());
    }
    tests.sort();
    assert!(!tests.is_empty(), "no tests in {}", folder.display());
    println!(
        "{}",
        run(Command::new("promtool").args(["test", "rules"]).args(&tests))
    );
}
