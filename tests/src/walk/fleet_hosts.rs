//! Hosts of `muster-fleet` that are installed.

use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::hub::Hub;
use crate::artifacts::fleet_program;
use crate::install::disk_image::OPENSHIFT_VERSION;
use crate::process::{Program, Signal, command};

/// Most polls of all hosts together: a thousand hosts poll six times as often as those of
/// docs/protocol/instructions.md.
const POLLS_PER_SECOND: usize = 150;

/// Duration of an installation.
const QUICK: &str = "5s";
/// That of one which is not over before the lifecycle of Nodes counts the former kubelet as silent, in less than a minute.
const SLOW: &str = "90s";

/// A running fleet. Dropping it ends it.
pub struct FleetHosts {
    program: Mutex<Program>,
}

impl FleetHosts {
    /// Name of the image that is not the default.
    pub const OTHER_IMAGE: &str = "fleet-next";

    /// Starts hosts in the hub's InfraEnv of which so many are fit: others have flaws on purpose, or another
    /// architecture. They install within seconds, and poll every second, or at a total rate of
    /// [this](POLLS_PER_SECOND).
    #[track_caller]
    pub fn start(hub: &Hub, hosts: usize, folder: &Path) -> Self {
        Self::start_with(hub, hosts, folder, QUICK, &[])
    }

    /// The same with machines that go on as nodes after their installation, with our agent on them, and come back when they are taken out of
    /// their cluster.
    #[track_caller]
    pub fn start_lasting(hub: &Hub, hosts: usize, folder: &Path) -> Self {
        Self::start_with(hub, hosts, folder, QUICK, &["--nodes"])
    }

    /// The same with installations that take longer than a former Node of the host is kept, as those of machines do.
    #[track_caller]
    pub fn start_slow(hub: &Hub, hosts: usize, folder: &Path) -> Self {
        Self::start_with(hub, hosts, folder, SLOW, &["--nodes"])
    }

    /// Lasting machines whose second installation fails while the image is written, and no other.
    #[track_caller]
    pub fn start_failing_again(hub: &Hub, hosts: usize, folder: &Path) -> Self {
        Self::start_with(
            hub,
            hosts,
            folder,
            QUICK,
            &["--nodes", "--fault", "failed-again=100%"],
        )
    }

    #[track_caller]
    fn start_with(hub: &Hub, hosts: usize, folder: &Path, install_time: &str, more: &[&str]) -> Self {
        let id = hub.infra_env_id();
        let mut fleet = command(fleet_program());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MUSTER_"))
        {
            fleet.env_remove(name);
        }
        fleet.args(["--url", hub.service.client().base(), "--infra-env-id", &id]);
        let hosts = hosts * 3 / 2 + 10;
        let poll_interval = format!("{}s", hosts.div_ceil(POLLS_PER_SECOND));
        fleet.args(["--hosts", &hosts.to_string(), "--register-rate", "0"]);
        fleet.args([
            "--poll-interval",
            &poll_interval,
            "--install-time",
            install_time,
            "--skip-states",
        ]);
        fleet.args(more);
        Self {
            program: Mutex::new(Program::start(
                "muster-fleet",
                &mut fleet,
                &folder.join("fleet.log"),
            )),
        }
    }

    /// A list of OS images that no host reads: the default, and one that Machines name as [`OTHER_IMAGE`](Self::OTHER_IMAGE).
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn os_images(folder: &Path) -> Value {
        let image = folder.join("image.raw");
        let content = vec![7; 1 << 20];
        std::fs::write(&image, &content).expect("a file can be written");
        let entry = json!({
            "openshift_version": OPENSHIFT_VERSION, "cpu_architecture": "x86_64", "version": "fleet",
            "metal_url": image, "metal_sha256": hex::encode(Sha256::digest(&content)), "default": true,
        });
        let mut other = entry.clone();
        other["name"] = json!(Self::OTHER_IMAGE);
        other["version"] = json!(Self::OTHER_IMAGE);
        other["default"] = json!(false);
        json!([entry, other])
    }

    /// No host does anything until [`go_on`](Self::go_on).
    pub fn stand_still(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Ends [`stand_still`](Self::stand_still).
    pub fn go_on(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let program = self.program.lock().expect("nothing panics with the lock");
        program.signal(signal);
    }

    /// Fails when it has ended.
    ///
    /// # Panics
    /// If it has.
    #[track_caller]
    pub fn assert_running(&self) {
        let mut program = self.program.lock().expect("nothing panics with the lock");
        assert!(program.is_running(), "muster-fleet ended");
    }
}
