//! Installations by the coreos-installer of a live system, played by scripts.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_agent::session::steps::install::StopInstallation;
use muster_agent::step::{Running, StepHandler};
use muster_api::steps::InstallRequest;

use super::service::Delivery;
use super::{Agent, World, succeeded};

/// A world with an agent on a live system: its coreos-installer does this with the disk `$disk`.
struct Live {
    world: World,
    folder: tempfile::TempDir,
}

impl Live {
    async fn new(script: &str) -> Option<Self> {
        let mut world = World::new(Delivery::Whole).await?;
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        std::fs::write(&image, &world.image).unwrap();
        let program = folder.path().join("coreos-installer");
        let text = format!(
            "#!/bin/sh\nimage={}\nfor disk; do :; done\n{script}\n",
            image.display()
        );
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        world.agent = Arc::new(Agent::with(&world.service, Some(program)));
        Some(Self { world, folder })
    }

    fn request(&self) -> InstallRequest {
        InstallRequest {
            os_image: None,
            ..self.world.request()
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

const WRITES: &str = "dd if=$image of=$disk bs=1M conv=fsync 2>/dev/null";

#[tokio::test]
async fn the_program_is_given_ignition_and_disk_and_the_disk_boots() {
    let Some(live) = Live::new(&format!("echo \"$@\" > $(dirname $image)/log; {WRITES}")).await else {
        return;
    };
    live.world.install(&live.request()).await;
    assert!(live.world.disk.boots());
    let log = std::fs::read_to_string(live.log()).unwrap();
    assert!(
        log.starts_with("install --insecure -i /run/muster-install-"),
        "{log}"
    );
    assert!(log.trim().ends_with(&live.world.disk.node()), "{log}");
    live.world.agent.until_restarted().await;
}

#[tokio::test]
async fn an_installation_that_is_stopped_after_the_program_ended_leaves_a_disk_that_does_not_boot() {
    let Some(live) = Live::new(WRITES).await else {
        return;
    };
    let Live { world, .. } = &live;
    world.service.form_cluster();
    let (agent, request) = (Arc::clone(&world.agent), live.request());
    let installing = tokio::spawn(async move { agent.run(&request).await });
    let waits = |service: &super::Service| {
        service
            .stages()
            .last()
            .is_some_and(|stage| stage.contains("control plane"))
    };
    world.service.until("the wait for the control plane", waits).await;
    assert!(world.disk.boots());
    let stop = StopInstallation::new(Arc::clone(&world.agent.control));
    succeeded(&stop.run(Vec::new(), Arc::new(Running)).await);
    let output = tokio::time::timeout(Duration::from_secs(60), installing).await;
    assert_eq!(output.unwrap().unwrap().exit_code, 143);
    assert!(!world.disk.boots());
    assert_eq!(world.agent.restarts(), 0);
}

#[tokio::test]
async fn a_program_that_fails_costs_no_partition_that_is_to_be_kept() {
    for (arguments, kept) in [(r#"["--save-partlabel","data"]"#, true), ("", false)] {
        let Some(live) = Live::new("echo no such partition >&2; exit 1").await else {
            return;
        };
        let request = InstallRequest {
            installer_args: arguments.into(),
            ..live.request()
        };
        let output = live.world.agent.run(&request).await;
        assert_eq!(output.exit_code, 1);
        assert!(
            output
                .error
                .contains("3 times: exit status: 1: no such partition"),
            "{}",
            output.error
        );
        let untouched = live.world.disk.bytes().iter().all(|byte| *byte == 0xdd);
        assert_eq!(untouched, kept);
    }
}
