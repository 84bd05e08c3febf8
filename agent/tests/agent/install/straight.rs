//! Installations that succeed.

use std::fs::File;
use std::io::{IoSliceMut, Write};
use std::os::unix::fs::FileExt;

use muster_agent::gpt;
use muster_agent::install::boot::mounted::Mounted;
use muster_agent::install::boot::partition;
use muster_api::steps::ImageFormat;
use rustix::io::ReadWriteFlags;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::disk::{self, BOOT, BOOT_AT, Disk, IMAGE, MIB};
use super::service::{Delivery, IGNITION, Service};
use super::{Agent, World, request, succeeded};

pub fn compressed(format: ImageFormat, image: &[u8]) -> Vec<u8> {
    match format {
        ImageFormat::Raw => image.to_vec(),
        ImageFormat::Gz => {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            to.write_all(image).unwrap();
            to.finish().unwrap()
        }
        ImageFormat::Xz => {
            let mut to = liblzma::write::XzEncoder::new(Vec::new(), 0);
            to.write_all(image).unwrap();
            to.finish().unwrap()
        }
        ImageFormat::Zst => zstd::bulk::compress(image, 1).unwrap(),
    }
}

#[tokio::test]
async fn every_format_ends_on_the_disk_as_it_is_and_only_the_boot_partition_has_more() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    for format in [
        ImageFormat::Zst,
        ImageFormat::Raw,
        ImageFormat::Gz,
        ImageFormat::Xz,
    ] {
        let file = compressed(format, &image);
        let service = Service::start(file.clone(), Delivery::Whole).await;
        let agent = Agent::of(&service);
        let disk = Disk::new(IMAGE + 8 * MIB + 512);
        let output = agent.run(&request(&disk.node(), &file, format)).await;
        assert_eq!((output.exit_code, output.error.as_str()), (0, ""), "{format}");
        let bytes = disk.bytes();
        assert!(
            bytes[..BOOT_AT] == image[..BOOT_AT],
            "{format}: before the boot partition"
        );
        assert!(
            bytes[BOOT_AT + BOOT..IMAGE] == image[BOOT_AT + BOOT..],
            "{format}: behind it"
        );
        assert_eq!(disk.boot_file("/ignition/config.ign"), same_json(IGNITION));
        assert_eq!(
            service.stages(),
            [
                "Starting installation",
                "Installing",
                "Writing image to disk",
                "Waiting for control plane",
                "Rebooting"
            ]
        );
        let reports = service.reports();
        assert!(
            reports.contains(&("Writing image to disk".into(), "100%".into())),
            "{reports:?}"
        );
        assert!(
            reports.contains(&("Installing".into(), "worker".into())),
            "{reports:?}"
        );
        let (_, headers) = &service.requests("os-image")[0];
        assert_eq!(headers["x-secret-key"], "the-token");
        assert_eq!(
            service.requests("/logs").len(),
            4,
            "requested, collecting, upload, completed"
        );
        agent.until_restarted().await;
    }
}

fn same_json(text: &str) -> String {
    serde_json::from_str::<Value>(text).unwrap().to_string()
}

#[tokio::test]
async fn kernel_arguments_network_and_the_agents_program_are_put_on_the_boot_partition() {
    let Some(world) = World::new(Delivery::Whole).await else {
        return;
    };
    let connections = tempfile::tempdir().unwrap();
    std::fs::write(connections.path().join("eth0.nmconnection"), "[ipv4]").unwrap();
    let mut request = world.request();
    request.installer_args = serde_json::to_string(&[
        "--append-karg",
        "rd.md=1",
        "--delete-karg",
        "quiet",
        "--copy-network",
        "--network-dir",
        connections.path().to_str().unwrap(),
    ])
    .unwrap();
    world.install(&request).await;
    let entry = world.disk.boot_file("/loader/entries/os.conf");
    assert!(entry.contains("options root=LABEL=root rd.md=1\n"), "{entry}");
    assert_eq!(
        world
            .disk
            .boot_file("/coreos-firstboot-network/eth0.nmconnection"),
        "[ipv4]"
    );
}

#[tokio::test]
async fn a_connection_that_ends_at_the_half_is_taken_up_where_it_ended() {
    for delivery in [
        Delivery::DropsOnce,
        Delivery::DropsOnceWithoutRanges,
        Delivery::DropsAfter(5 * MIB),
    ] {
        let Some(world) = World::new(delivery).await else {
            return;
        };
        let World {
            image, service, disk, ..
        } = &world;
        let mut request = world.request();
        let named = request.os_image.as_mut().unwrap();
        named.uncompressed_sha256 = Some(hex::encode(Sha256::digest(image)));
        world.install(&request).await;
        let requests = service.requests("os-image");
        assert!(requests.len() >= 2, "{delivery:?}");
        let (_, headers) = &requests[1];
        assert_eq!(headers["if-range"], "\"a\"", "{delivery:?}");
        assert!(
            headers["range"].to_str().unwrap().starts_with("bytes="),
            "{delivery:?}"
        );
        let bytes = disk.bytes();
        assert!(
            bytes[BOOT_AT + BOOT..IMAGE] == image[BOOT_AT + BOOT..],
            "{delivery:?}"
        );
    }
}

#[tokio::test]
async fn a_file_that_nothing_identifies_is_taken_from_the_start_when_its_connection_ended() {
    for has_digest in [true, false] {
        let Some(world) = World::new(Delivery::DropsOnceWithoutTag).await else {
            return;
        };
        let mut request = world.request();
        let named = request.os_image.as_mut().unwrap();
        named.sha256 = named.sha256.take().filter(|_| has_digest);
        named.uncompressed_sha256 = None;
        world.install(&request).await;
        let requests = world.service.requests("os-image");
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1].1.contains_key("range"), has_digest);
        assert!(world.disk.boots());
    }
}

#[tokio::test]
async fn a_service_that_is_away_for_a_moment_gets_its_reports_later() {
    let Some(world) = World::new(Delivery::Whole).await else {
        return;
    };
    world.service.sick_reports(8);
    world.service.ignition(503, "");
    world.service.ignition(200, IGNITION);
    world.install(&world.request()).await;
    assert_eq!(world.service.stages().last().unwrap(), "Rebooting");
}

/// The request of upstream's service for a worker of a running cluster, with an image of the user's.
#[tokio::test]
async fn the_step_of_another_service_installs_the_same() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    let service = Service::start(compressed(ImageFormat::Gz, &image), Delivery::Whole).await;
    let agent = Agent::of(&service);
    let disk = Disk::roomy();
    let arguments = serde_json::json!([
        "--append-karg",
        "ip=52-54-00-12-34-56:dhcp",
        "--image-url",
        format!("{}mirror/os-image", service.url()),
    ]);
    let text = serde_json::json!({
        "boot_device": disk.node(),
        "check_cvo": true,
        "cluster_id": super::CLUSTER,
        "controller_image": "quay.io/edge-infrastructure/assisted-installer-controller:latest",
        "disks_to_format": null,
        "enable_skip_mco_reboot": true,
        "host_id": crate::HOST,
        "infra_env_id": crate::INFRA_ENV,
        "installer_args": arguments.to_string(),
        "installer_image": "quay.io/edge-infrastructure/assisted-installer:latest",
        "notify_num_reboots": true,
        "role": "worker",
        "service_ips": null,
    });
    succeeded(&agent.run_text(text.to_string()).await);
    assert!(disk.boots());
    assert!(
        disk.boot_file("/loader/entries/os.conf")
            .contains("ip=52-54-00-12-34-56:dhcp")
    );
    assert_eq!(disk.boot_file("/ignition/config.ign"), same_json(IGNITION));
    // The token is for the service only, and this is another place of the same machine.
    let (_, headers) = &service.requests("/mirror/os-image")[0];
    assert!(!headers.contains_key("x-secret-key"));
}

/// True when the kernel has the beginning of the boot partition in memory.
fn is_cached(disk: &Disk) -> bool {
    let file = File::open(disk.node()).unwrap();
    let mut bytes = [0; 4096];
    let mut places = [IoSliceMut::new(&mut bytes)];
    let read = rustix::io::preadv2(&file, &mut places, BOOT_AT as u64, ReadWriteFlags::NOWAIT);
    match read {
        Ok(count) => count == 4096,
        Err(error) => {
            assert_eq!(error, rustix::io::Errno::AGAIN);
            false
        }
    }
}

#[test]
fn the_second_mount_reads_the_disk_and_not_the_kernels_memory() {
    if !disk::available() {
        return;
    }
    let image = disk::image();
    let disk = Disk::new(IMAGE + 8 * MIB);
    // The device stays open, as in the installer: the kernel drops its cache of a device that is not open.
    let file = File::options().read(true).write(true).open(disk.node()).unwrap();
    file.write_all_at(&image, 0).unwrap();
    let table = gpt::at_beginning(&image).unwrap();
    let (boot, kind) = partition::find(&file, &table).unwrap();
    let mounted = Mounted::new(&disk.node(), &boot, kind, false).unwrap();
    std::fs::write(mounted.place().join("some"), "content").unwrap();
    assert!(is_cached(&disk));
    mounted.end().unwrap();
    assert!(!is_cached(&disk));
    drop(file);
}
