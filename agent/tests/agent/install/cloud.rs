//! Installations of an image that cloud-init configures.

use std::io::{Cursor, Read};

use fatfs::{FileSystem, FsOptions};
use flate2::Crc;
use muster_agent::gpt::{self, BIOS_BOOT};
use muster_api::steps::{ImageConfiguration, ImageFormat, InstallRequest};

use super::disk::{self, Disk, MIB};
use super::service::{Delivery, IGNITION, Service};
use super::{Agent, request, succeeded};

/// Size of the image, bytes: its partitions end with it.
const CLOUD: usize = 16 * MIB;
const SEED: &str = r##"{"cloud_init":{"user_data":"#cloud-config\nruncmd: [reboot]\n","meta_data":"{\"instance-id\": \"a-1\"}\n","network_config":"{\"version\": 2}\n"}}"##;

/// An image like a cloud's: room for GRUB, and a root with content that is not zero. `free`: entries that are not used.
fn image(has_bios_boot: bool, free: bool) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..CLOUD).map(|at| (at / 7 % 251) as u8).collect();
    bytes[..MIB].fill(0);
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    let kind = if has_bios_boot { BIOS_BOOT } else { [8; 16] };
    let partitions = [("root", [7; 16], 4096_u64, 32767_u64), ("bios", kind, 2048, 4095)];
    let entries = if free { partitions.len() } else { 128 };
    for number in 0..entries {
        let (name, kind, first, last) = partitions[number.min(1)];
        let entry = &mut bytes[1024 + number * 128..1024 + (number + 1) * 128];
        entry[..16].copy_from_slice(&kind);
        entry[16..32].fill(number as u8 + 1);
        entry[32..40].copy_from_slice(&first.to_le_bytes());
        entry[40..48].copy_from_slice(&last.to_le_bytes());
        for (j, unit) in name.encode_utf16().enumerate() {
            entry[56 + 2 * j..58 + 2 * j].copy_from_slice(&unit.to_le_bytes());
        }
    }
    let crc = |bytes: &[u8]| {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    };
    let entries = crc(&bytes[1024..1024 + 128 * 128]);
    let header = &mut bytes[512..512 + 92];
    header[..8].copy_from_slice(b"EFI PART");
    header[12..16].copy_from_slice(&92_u32.to_le_bytes());
    header[24..32].copy_from_slice(&1_u64.to_le_bytes());
    header[40..48].copy_from_slice(&34_u64.to_le_bytes());
    header[72..80].copy_from_slice(&2_u64.to_le_bytes());
    header[80..84].copy_from_slice(&128_u32.to_le_bytes());
    header[84..88].copy_from_slice(&128_u32.to_le_bytes());
    header[88..92].copy_from_slice(&entries);
    let sum = crc(&header[..]);
    header[16..20].copy_from_slice(&sum);
    bytes
}

fn cloud_request(disk: &Disk, image: &[u8]) -> InstallRequest {
    let mut request = request(&disk.node(), image, ImageFormat::Raw);
    request.os_image.as_mut().unwrap().configuration = ImageConfiguration::CloudInit;
    request
}

#[tokio::test]
async fn the_disk_has_the_image_and_the_seed_in_a_partition_at_its_end() {
    if !disk::available() {
        return;
    }
    let image = image(true, true);
    let service = Service::start(image.clone(), Delivery::Whole).await;
    service.ignition(200, SEED);
    let disk = Disk::new(CLOUD + 8 * MIB + 512);
    let agent = Agent::of(&service);
    succeeded(&agent.run(&cloud_request(&disk, &image)).await);
    let bytes = disk.bytes();
    assert!(bytes[MIB..CLOUD] == image[MIB..], "the partitions of the image");
    let table = gpt::at_beginning(&bytes[..MIB]).unwrap();
    assert_eq!(
        table.partitions[..2],
        gpt::at_beginning(&image).unwrap().partitions
    );
    let seed = &table.partitions[2];
    assert_eq!((seed.name.as_str(), seed.number), ("CIDATA", 3));
    assert_eq!((seed.start, seed.size), ((CLOUD + 3 * MIB) as u64, 4 << 20));
    assert_eq!(bytes[bytes.len() - 512..][..8], *b"EFI PART");
    let start = usize::try_from(seed.start).unwrap();
    let files = FileSystem::new(
        Cursor::new(bytes[start..start + 4 * MIB].to_vec()),
        FsOptions::new(),
    )
    .unwrap();
    for (name, expected) in [
        ("user-data", "#cloud-config\nruncmd: [reboot]\n"),
        ("meta-data", "{\"instance-id\": \"a-1\"}\n"),
        ("network-config", "{\"version\": 2}\n"),
    ] {
        let mut content = String::new();
        let mut file = files.root_dir().open_file(name).unwrap();
        file.read_to_string(&mut content).unwrap();
        assert_eq!(content, expected, "{name}");
    }
    assert_eq!(service.stages().last().unwrap(), "Rebooting");
    agent.until_restarted().await;
}

#[tokio::test]
async fn what_cannot_be_started_or_has_no_room_is_refused_before_the_disk_is_touched() {
    if !disk::available() {
        return;
    }
    let good = image(true, true);
    for (image, room, seed, reason) in [
        (image(false, true), 8, SEED, "nor a BIOS boot partition"),
        (image(true, false), 8, SEED, "all 128 entries"),
        (good.clone(), 4, SEED, "no room for 4194304 more"),
        (good.clone(), 8, IGNITION, "no seed for cloud-init"),
    ] {
        let service = Service::start(image.clone(), Delivery::Whole).await;
        service.ignition(200, seed);
        let disk = Disk::new(CLOUD + room * MIB);
        let output = Agent::of(&service).run(&cloud_request(&disk, &image)).await;
        assert_eq!(output.exit_code, 1);
        assert!(output.error.contains(reason), "{reason}: {}", output.error);
        assert!(!output.error.contains("runcmd"), "{}", output.error);
        assert!(disk.bytes().iter().all(|byte| *byte == 0xdd), "{reason}");
    }
}

#[tokio::test]
async fn the_reason_of_the_service_for_giving_no_seed_is_passed_on() {
    if !disk::available() {
        return;
    }
    let image = image(true, true);
    let service = Service::start(image.clone(), Delivery::Whole).await;
    service.ignition(
        409,
        r#"{"code":409,"message":"the bootstrap data of the host is Ignition"}"#,
    );
    let disk = Disk::new(CLOUD + 8 * MIB);
    let output = Agent::of(&service).run(&cloud_request(&disk, &image)).await;
    assert!(
        output.error.contains("data of the host is Ignition"),
        "{}",
        output.error
    );
    assert!(disk.bytes().iter().all(|byte| *byte == 0xdd));
}
