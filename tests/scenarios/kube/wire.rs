//! Custom resources as recorded from another implementation, repeated with ours. See docs/wire-differences.md.

use std::process::Command;
use std::time::Duration;

use muster_tests::artifacts::{live_image, project_root};
use muster_tests::kube::program;
use muster_tests::process::output_within;

use muster_tests::kube::{Api, on_each_api};

on_each_api!(the_recorded_custom_resources_are_reproduced);

/// Required share of equal points.
const LEAST: f64 = 0.95;
/// The step at which the walk ends; later ones need nodes that join.
const UNTIL: &str = "Agent, binding";

fn the_recorded_custom_resources_are_reproduced(api: Api) {
    let service = api.serve_with(|settings| settings.live_image(&live_image()));
    let folder = project_root().join("tests/wire");
    let kubectl = program("kubectl");
    let mut path = kubectl.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut compare = Command::new("python3");
    compare.arg(folder.join("kube_wire.py"));
    compare.args(["compare", &format!("http://127.0.0.1:{}", service.port())]);
    compare
        .arg(service.kubectl().kubeconfig())
        .arg(folder.join("kube.answers.json"));
    compare.arg(LEAST.to_string());
    compare.env("UNTIL", UNTIL).env("no_proxy", "*").env("PATH", path);
    let output = output_within(&mut compare, b"", Duration::from_secs(300));
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains(UNTIL), "the walk ended before {UNTIL:?}");
    assert!(
        output.status.success() && printed.contains("points equal"),
        "fewer than {LEAST} of the points are equal"
    );
}
