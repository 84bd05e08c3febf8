//! Installations that fail, and their result: a disk that is as it was, or one that does not boot.

use std::sync::Arc;
use std::time::Duration;

use muster_agent::install::disk::{device, teardown, wipe};
use muster_agent::root::Root;
use muster_agent::session::steps::install::StopInstallation;
use muster_agent::step::{Running, StepHandler, StepOutput};
use muster_api::steps::{ImageFormat, InstallRequest};
use tokio::task::JoinHandle;

use super::disk::{self, Disk, IMAGE, MIB};
use super::service::{Delivery, Service};
use super::straight::compressed;
use super::{Agent, World, request, succeeded};

/// Runs an installation that fails; returns the reason, which the service has, too.
async fn failure(service: &Service, request: &InstallRequest) -> String {
    let agent = Agent::of(service);
    let output = agent.run(request).await;
    assert_eq!(output.exit_code, 1, "{}", output.error);
    assert_eq!(agent.restarts(), 0);
    let reports = service.reports();
    assert_eq!(
        reports.last().unwrap(),
        &("Failed".to_owned(), output.error.clone())
    );
    output.error
}

fn is_untouched(disk: &Disk) -> bool {
    disk.bytes().iter().all(|byte| *byte == 0xdd)
}

#[tokio::test]
async fn a_wrong_digest_leaves_a_disk_that_does_not_boot() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    let file = compressed(ImageFormat::Zst, &image);
    let service = Service::start(file.clone(), Delivery::Whole).await;
    for (of, spoil) in [
        (
            "the file",
            (|image| image.sha256 = Some("ab".repeat(32))) as fn(&mut muster_api::steps::OsImage),
        ),
        ("its content", |image| {
            image.uncompressed_sha256 = Some("ab".repeat(32))
        }),
    ] {
        let disk = Disk::roomy();
        let mut request = request(&disk.node(), &file, ImageFormat::Zst);
        spoil(request.os_image.as_mut().unwrap());
        let reason = failure(&service, &request).await;
        assert!(reason.contains(&format!("SHA-256 ({of})")), "{reason}");
        assert!(
            reason.contains("2 attempts") && reason.contains("does not boot"),
            "{reason}"
        );
        assert!(!disk.boots());
        assert!(disk.bytes()[..MIB].iter().all(|byte| *byte == 0));
    }
}

#[tokio::test]
async fn a_disk_that_is_too_small_is_refused_early_where_the_image_tells_its_size_and_else_at_its_end() {
    if !disk::available() {
        return;
    }
    let mut image = disk::image();
    let small = 8 * MIB + 4 * MIB;
    for format in [ImageFormat::Zst, ImageFormat::Gz] {
        let file = compressed(format, &image);
        let service = Service::start(file.clone(), Delivery::Whole).await;
        let disk = Disk::new(small);
        let reason = failure(&service, &request(&disk.node(), &file, format)).await;
        assert!(reason.contains("too small"), "{reason}");
        // The size follows from its partitions, whatever the format.
        assert!(is_untouched(&disk), "{format}");
    }
    // An image with more behind its last partition, in a format that does not contain the size.
    image.extend(vec![7; 4 * MIB]);
    let file = compressed(ImageFormat::Gz, &image);
    let service = Service::start(file.clone(), Delivery::Whole).await;
    let disk = Disk::new(IMAGE + MIB);
    let reason = failure(&service, &request(&disk.node(), &file, ImageFormat::Gz)).await;
    assert!(
        reason.contains("too small") && reason.contains("at least"),
        "{reason}"
    );
    assert!(!disk.boots());
}

#[tokio::test]
async fn without_an_ignition_nothing_is_written() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    for (status, body, word, attempts) in [
        (401, "", "401", 1),
        (403, "", "403", 1),
        (409, r#"{"reason":"not now"}"#, "not now", 1),
        (404, "", "404", 3),
        (500, "", "500", 5),
        (200, "<html>secret</html>", "no JSON", 3),
        (200, "{}", "ignition.version", 3),
    ] {
        let service = Service::start(image.clone(), Delivery::Whole).await;
        service.ignition(status, body);
        let disk = Disk::roomy();
        let reason = failure(&service, &request(&disk.node(), &image, ImageFormat::Raw)).await;
        assert!(
            reason.contains(word) && reason.contains("No disk was written to"),
            "{reason}"
        );
        assert!(!reason.contains("secret"), "{reason}");
        assert_eq!(service.requests("downloads/ignition").len(), attempts, "{status}");
        assert!(service.requests("os-image").is_empty());
        assert!(is_untouched(&disk));
    }
}

#[tokio::test]
async fn what_is_no_image_of_a_disk_is_not_written() {
    if !disk::available() {
        return;
    }
    for (content, format, word) in [
        (
            b"<html>not found</html>".to_vec(),
            ImageFormat::Raw,
            "has 22 bytes",
        ),
        (vec![0; 4 * MIB], ImageFormat::Raw, "no boot sector"),
        (
            compressed(ImageFormat::Gz, b"x"),
            ImageFormat::Zst,
            "declared as zst and is gz",
        ),
    ] {
        let service = Service::start(content.clone(), Delivery::Whole).await;
        let disk = Disk::roomy();
        let reason = failure(&service, &request(&disk.node(), &content, format)).await;
        assert!(reason.contains(word), "{reason}");
        assert!(is_untouched(&disk));
    }
}

#[tokio::test]
async fn a_file_that_changes_during_its_download_is_taken_from_the_start() {
    let Some(world) = World::new(Delivery::Changes).await else {
        return;
    };
    world.install(&world.request()).await;
    assert!(world.disk.boots());
}

#[tokio::test]
async fn a_request_without_an_image_or_for_a_used_disk_is_refused() {
    let Some(world) = World::new(Delivery::Whole).await else {
        return;
    };
    let (service, disk, good) = (&world.service, &world.disk, world.request());
    let reason = failure(
        service,
        &InstallRequest {
            os_image: None,
            ..good.clone()
        },
    )
    .await;
    assert!(reason.contains("--os-images"), "{reason}");
    let skipped = InstallRequest {
        skip_formatting_disks: vec![disk.node()],
        ..good.clone()
    };
    assert!(failure(service, &skipped).await.contains("not to be formatted"));
    let gone = InstallRequest {
        boot_device: "/dev/disk/by-id/wwn-0xgone".into(),
        ..good.clone()
    };
    assert!(failure(service, &gone).await.contains("not there"));
    let used = Mounted::new(disk);
    assert!(failure(service, &good).await.contains("mounted at"));
    drop(used);
}

#[track_caller]
fn run(program: &str, args: &[&str]) {
    let status = std::process::Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}: {status}");
}

/// An ext2 on the whole disk, mounted, and read-only, so that the kernel does not write to it by itself.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(disk: &Disk) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run("mke2fs", &["-q", "-F", &disk.node()]);
        run(
            "mount",
            &["-o", "ro", &disk.node(), folder.path().to_str().unwrap()],
        );
        Self(folder)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

impl World {
    /// Starts an installation with an image that does not come whole, and waits until a part of it is written.
    async fn begin_writing(&self) -> JoinHandle<StepOutput> {
        let (agent, request) = (Arc::clone(&self.agent), self.request());
        let installing = tokio::spawn(async move { agent.run(&request).await });
        self.service
            .until("progress", |service| {
                service.reports().iter().any(|(_, info)| info.ends_with('%'))
            })
            .await;
        installing
    }
}

#[tokio::test]
async fn while_it_is_written_the_disk_does_not_boot_and_stopping_leaves_it_so() {
    let Some(world) = World::new(Delivery::Hangs).await else {
        return;
    };
    let stop = StopInstallation::new(Arc::clone(&world.agent.control));
    let installing = world.begin_writing().await;
    // The state after a power loss or the agent's death now.
    assert!(!world.disk.boots());
    let stopped = stop.run(Vec::new(), Arc::new(Running)).await;
    assert_eq!(stopped.exit_code, 0, "{}", stopped.error);
    let output = tokio::time::timeout(Duration::from_secs(60), installing)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.exit_code, 143);
    assert!(!world.disk.boots());
    assert!(!world.service.stages().contains(&"Failed".to_owned()));
    let nothing = stop.run(Vec::new(), Arc::new(Running)).await;
    assert_eq!(nothing.exit_code, 0);
}

#[tokio::test]
async fn an_agent_that_dies_while_writing_leaves_a_disk_that_does_not_boot() {
    let Some(world) = World::new(Delivery::Hangs).await else {
        return;
    };
    world.begin_writing().await.abort();
    assert!(!world.disk.boots());
    // The threads end, too, and another installation finds the disk free.
    let service = Service::start(world.image.clone(), Delivery::Whole).await;
    succeeded(&Agent::of(&service).run(&world.request()).await);
    assert!(world.disk.boots());
}

#[tokio::test]
async fn a_disk_that_took_the_place_of_the_chosen_one_is_not_written() {
    if !disk::available() {
        return;
    }
    let (chosen, other) = (0..50)
        .find_map(|_| {
            let first = Disk::roomy();
            let chosen = device::Disk::find(&Root::live(), &first.node()).unwrap();
            drop(chosen.claim().expect("it is the chosen one"));
            Some((chosen, first.exchanged()?))
        })
        .expect("a loop device gets the number that is free");
    let error = chosen.claim().unwrap_err().to_string();
    assert!(error.contains("another one has taken its name"), "{error}");
    let refused = wipe::format(&chosen).unwrap_err().to_string();
    assert_eq!(refused, error);
    let refused = teardown::claim(&Root::live(), &chosen, &[])
        .unwrap_err()
        .to_string();
    assert!(refused.contains("was not touched"), "{refused}");
    assert!(is_untouched(&other));
}

#[tokio::test]
async fn an_image_that_ends_early_is_noticed_without_length_and_digest() {
    let Some(world) = World::new(Delivery::EndsAfter(20 * MIB)).await else {
        return;
    };
    let mut request = world.request();
    let image = request.os_image.as_mut().unwrap();
    (image.sha256, image.size) = (None, None);
    let reason = failure(&world.service, &request).await;
    assert!(
        reason.contains("ends after 20971520 bytes") && reason.contains("3 attempts"),
        "{reason}"
    );
    assert!(!world.disk.boots());
    // With the size given, the rest is requested.
    let mut request = world.request();
    request.os_image.as_mut().unwrap().sha256 = None;
    world.install(&request).await;
    assert!(world.disk.boots());
}

#[tokio::test]
async fn a_disk_that_is_used_before_the_second_attempt_is_said_to_have_been_written_to() {
    let Some(world) = World::new(Delivery::HoldsSecond).await else {
        return;
    };
    let mut request = world.request();
    request.os_image.as_mut().unwrap().uncompressed_sha256 = Some("ab".repeat(32));
    let agent = Arc::clone(&world.agent);
    let installing = tokio::spawn(async move { agent.run(&request).await });
    let is_second = |service: &Service| service.requests("os-image").len() == 2;
    world.service.until("the second attempt", is_second).await;
    let used = Mounted::new(&world.disk);
    world.service.release();
    let output = tokio::time::timeout(Duration::from_secs(60), installing).await;
    let reason = output.unwrap().unwrap().error;
    assert!(
        reason.contains("was written to, does not boot") && reason.contains("mounted at"),
        "{reason}"
    );
    drop(used);
}

#[tokio::test]
async fn a_disk_that_fails_while_it_is_written_does_not_boot() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    let service = Service::start(image.clone(), Delivery::Whole).await;
    // A disk with a far half that accepts no writes: its file is on a file system without room for it.
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=16m", "none", place]);
    let file = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
    file.as_file().set_len((IMAGE + 8 * MIB) as u64).unwrap();
    let disk = Disk::over(file);
    let reason = failure(&service, &request(&disk.node(), &image, ImageFormat::Raw)).await;
    assert!(
        reason.contains("cannot be written at byte") && reason.contains("3 attempts"),
        "{reason}"
    );
    assert!(!disk.boots());
    drop(disk);
    run("umount", &["-l", place]);
}

#[tokio::test]
async fn a_machine_that_cannot_be_restarted_says_so() {
    let Some(world) = World::new(Delivery::Whole).await else {
        return;
    };
    let agent = Agent::stuck(&world.service, "process 1 is `tini`");
    succeeded(&agent.run(&world.request()).await);
    world
        .service
        .until("the reason", |service| {
            let reports = service.reports();
            let (stage, info) = reports.last().unwrap();
            stage == "Rebooting" && info.contains("restart this machine") && info.contains("`tini`")
        })
        .await;
    assert!(world.disk.boots());
}

/// `/dev/loopN` and `/dev/loopN0`: the one's name begins with the other's.
#[tokio::test]
async fn a_disk_whose_name_begins_with_the_chosen_ones_is_not_touched() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    let service = Service::start(image.clone(), Delivery::Whole).await;
    let disks: Vec<Disk> = (0..24).map(|_| Disk::roomy()).collect();
    let pair = disks.iter().enumerate().find_map(|(at, one)| {
        let (node, boundary) = (one.node(), |rest: &str| {
            rest.bytes().all(|byte| byte.is_ascii_digit())
        });
        let longer = disks.iter().position(|other| {
            let other = other.node();
            other
                .strip_prefix(node.as_str())
                .is_some_and(|rest| !rest.is_empty() && boundary(rest))
        })?;
        Some((at, longer))
    });
    let (chosen, neighbour) = pair.expect("of 24 loop devices one has a longer name");
    let used = Mounted::new(&disks[neighbour]);
    let before = disks[neighbour].bytes();
    let request = request(&disks[chosen].node(), &image, ImageFormat::Raw);
    succeeded(&Agent::of(&service).run(&request).await);
    assert!(disks[chosen].boots());
    assert!(before == disks[neighbour].bytes());
    for (at, disk) in disks.iter().enumerate() {
        assert!(
            at == chosen || at == neighbour || is_untouched(disk),
            "{}",
            disk.node()
        );
    }
    drop(used);
}
