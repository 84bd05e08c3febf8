//! Steps against servers made for the tests, over real HTTP and TLS.

mod boot_artifacts;
mod images;
mod logs;
mod registry;
mod server;
mod tang;

use std::sync::Arc;

use muster_agent::client::Client;
use muster_agent::config::Settings;
use muster_agent::drivers::devices::Devices;
use muster_agent::net::names::Names;
use muster_agent::session::steps::Registry;
use muster_agent::step::{Dependencies, Running, StepOutput};
use muster_agent::time::sources::TimeSources;
use url::Url;

pub const TOKEN: &str = "a-token-that-nobody-may-read";

/// The settings of an agent of that service; `certificates` are PEM.
pub fn settings(service: &str, certificates: &str) -> Settings {
    Settings {
        ca_certificates: certificates.to_owned(),
        ..crate::settings(Url::parse(service).unwrap(), TOKEN)
    }
}

pub fn dependencies(settings: Settings) -> Dependencies {
    let names = Names::configured_by("/nonexistent");
    Dependencies {
        time: TimeSources::new(names.clone()),
        devices: Devices::of_running_system(),
        client: Client::new(&settings, &names).unwrap(),
        settings: Arc::new(settings),
        names,
        handover: None,
        erasure: tokio::sync::watch::Sender::default(),
    }
}

/// Runs a step as the executor does.
pub async fn run(dependencies: &Dependencies, step: &str, args: &[&str]) -> StepOutput {
    let (_, handler) = Registry::standard(dependencies)
        .get(step)
        .expect("the step is there");
    let args = args.iter().map(|text| (*text).to_owned()).collect();
    handler.run(args, Arc::new(Running)).await
}

#[test]
fn every_step_of_the_protocol_that_touches_this_machine_is_there() {
    let registry = Registry::standard(&dependencies(settings("http://127.0.0.1:1", "")));
    for step in [
        "inventory",
        "ntp-synchronizer",
        "installation-disk-speed-check",
        "container-image-availability",
        "tang-connectivity-check",
        "logs-gather",
        "upgrade-agent",
        "install",
        "stop-installation",
        "download-boot-artifacts",
        "reboot-for-reclaim",
        "erase-disks",
        "health",
    ] {
        assert!(registry.get(step).is_some(), "{step}");
    }
    assert!(registry.get("execute").is_none());
    let node = Registry::of_node(&dependencies(settings("http://127.0.0.1:1", "")));
    for step in ["erase-disks", "install"] {
        assert!(
            node.get(step).is_none(),
            "an installed node keeps its disks: {step}"
        );
    }
}

#[tokio::test]
async fn a_container_image_is_declined_with_what_to_do() {
    let dependencies = dependencies(settings("http://127.0.0.1:1", ""));
    for program in ["", r#","program":{"sha256":"00","size":1,"packed_size":1}"#] {
        let argument = format!(r#"{{"agent_image":"quay.io/a:2"{program}}}"#);
        let reply = run(&dependencies, "upgrade-agent", &[&argument]).await;
        let answer: serde_json::Value = serde_json::from_str(&reply.output).unwrap();
        assert_eq!((reply.exit_code, &answer["result"]), (0, &"failure".into()));
        assert_eq!(answer["agent_image"], "quay.io/a:2");
        assert!(reply.error.contains("newer image"), "{}", reply.error);
    }
}
