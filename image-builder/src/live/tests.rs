use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::customise::{Customisation, CustomiseError, test_config};
use crate::iso9660::IsoError;
use crate::overlay::{Piece, Plan};
use crate::testing::{CONFIG_LENGTH, LiveTree, pattern};

const INITRD_LENGTH: usize = 5_001;

fn iso_of(tree: &LiveTree) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("live.iso");
    tree.write_iso(&path);
    fs::read(path).unwrap()
}

fn read(base: &[u8], plan: &Plan) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in plan.range(0..plan.length()) {
        match piece {
            Piece::Base(extent) => bytes.extend(&base[extent.offset as usize..extent.end() as usize]),
            Piece::Bytes(computed) => bytes.extend(&computed),
            Piece::Zeros(length) => bytes.resize(bytes.len() + length as usize, 0),
        }
    }
    bytes
}

fn wanted(name: &str) -> Customisation {
    Customisation {
        config: test_config(name),
        kernel_arguments: vec!["isolcpus=2,3".into()],
    }
}

fn error_of(tree: &LiveTree) -> String {
    LiveImage::open(iso_of(tree).as_slice()).unwrap_err().to_string()
}

#[test]
fn the_agent_is_found_apart_and_only_within_the_initramfs() {
    let mut tree = LiveTree::new(INITRD_LENGTH);
    let sha256 = "0F".repeat(32);
    let length = INITRD_LENGTH as u64 - 100;
    tree.description["agent"] = json!({"offset": 100, "length": length, "size": 7, "sha256": sha256});
    let image = LiveImage::open(iso_of(&tree).as_slice()).unwrap();
    let agent = image.agent.unwrap();
    assert_eq!(
        (agent.packed.offset, agent.packed.end()),
        (image.initrd.offset + 100, image.initrd.end())
    );
    assert_eq!((agent.size, agent.sha256), (7, sha256.to_ascii_lowercase()));
    for (field, wrong) in [
        ("offset", json!(101)),
        ("length", json!(0)),
        ("length", json!(u64::MAX)),
        ("sha256", json!("x")),
    ] {
        let right = tree.description["agent"][field].clone();
        tree.description["agent"][field] = wrong;
        assert!(error_of(&tree).contains("agent's"), "{field}");
        tree.description["agent"][field] = right;
    }
}

#[test]
fn a_live_image_opens_from_its_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("live.iso");
    LiveTree::new(INITRD_LENGTH).write_iso(&path);
    let image = LiveImage::open(&fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(image.length, fs::metadata(&path).unwrap().len());
    assert_eq!(
        (image.kernel.length, image.initrd.length),
        (10_000, INITRD_LENGTH as u64)
    );
    assert_eq!(
        (image.agent_version.as_str(), image.architecture.as_str()),
        ("0.1.0", "x86_64")
    );
}

#[test]
fn the_iso_of_an_infra_env_differs_from_the_base_in_the_areas_only() {
    let base = iso_of(&LiveTree::new(INITRD_LENGTH));
    let image = LiveImage::open(base.as_slice()).unwrap();
    let iso = read(&base, &image.iso(&wanted("pool")).unwrap().plan);
    assert_eq!(iso.len(), base.len());
    let config = image.config.offset as usize..image.config.end() as usize;
    let area = image.kargs.extents().next().unwrap();
    let kargs = area.offset as usize..area.end() as usize;
    let changed: Vec<usize> = (0..base.len()).filter(|&at| base[at] != iso[at]).collect();
    assert!(changed.iter().all(|at| config.contains(at) || kargs.contains(at)));
    assert!(String::from_utf8_lossy(&iso[config]).contains("\"infra_env_name\":\"pool\""));
    assert!(iso[kargs].starts_with(b"quiet console=ttyS0,115200n8 isolcpus=2,3\n###"));
}

#[test]
fn the_initrd_is_the_base_then_the_archive_each_padded() {
    let base = iso_of(&LiveTree::new(INITRD_LENGTH));
    let image = LiveImage::open(base.as_slice()).unwrap();
    let bytes = read(&base, &image.initrd(&test_config("pool")).unwrap().plan);
    assert_eq!(bytes[..INITRD_LENGTH], pattern(INITRD_LENGTH, 2));
    assert!(bytes[INITRD_LENGTH..5_120].iter().all(|&byte| byte == 0));
    assert!(bytes[5_120..].starts_with(b"070701"));
    assert_eq!(bytes.len() % 512, 0);
    assert_eq!(read(&base, &image.kernel().plan), pattern(10_000, 1));
}

#[test]
fn tags_differ_by_artifact_and_infra_env_and_follow_the_base() {
    let base = iso_of(&LiveTree::new(INITRD_LENGTH));
    let image = LiveImage::open(base.as_slice()).unwrap();
    let other_base = LiveImage {
        digest: [0; 32],
        ..image.clone()
    };
    let tags = [
        image.iso(&wanted("one")).unwrap().etag,
        image.iso(&wanted("two")).unwrap().etag,
        other_base.iso(&wanted("one")).unwrap().etag,
        image.initrd(&test_config("one")).unwrap().etag,
        image.kernel().etag,
    ];
    let distinct: std::collections::BTreeSet<_> = tags.iter().collect();
    assert_eq!(distinct.len(), tags.len());
    assert_eq!(image.iso(&wanted("one")).unwrap().etag, tags[0]);
}

#[test]
fn a_configuration_too_big_for_its_area_names_size_and_limit() {
    let image = LiveImage::open(iso_of(&LiveTree::new(INITRD_LENGTH)).as_slice()).unwrap();
    let mut wanted = wanted("pool");
    wanted.config.ca_certificates = "x".repeat(CONFIG_LENGTH);
    let error = image.iso(&wanted).unwrap_err();
    assert!(
        matches!(error, CustomiseError::ConfigTooBig { needed, limit: 32_768 } if needed > 32_768),
        "{error}"
    );
}

#[test]
fn an_iso_of_something_else_is_refused() {
    let mut tree = LiveTree::new(10);
    tree.description = json!({ "format": "other", "version": 1 });
    assert!(error_of(&tree).contains("not a Muster live image"));
}

#[test]
fn a_newer_format_says_so() {
    let mut tree = LiveTree::new(10);
    tree.description = json!({ "format": "muster-live", "version": 2 });
    assert!(error_of(&tree).contains("format version is 2, this program understands up to 1"));
}

#[test]
fn a_missing_file_is_named() {
    let tree = LiveTree::new(10);
    tree.remove("images/pxeboot/vmlinuz");
    assert!(error_of(&tree).contains("/images/pxeboot/vmlinuz"));
}

#[test]
fn a_wrong_kernel_argument_offset_is_found_before_anything_is_written() {
    let mut tree = LiveTree::new(10);
    tree.description["kargs"]["files"][0]["offset"] = json!(3);
    assert!(error_of(&tree).contains("does not hold the default kernel arguments at byte"));
    tree.description["kargs"]["files"][0]["offset"] = json!(u64::MAX);
    assert!(error_of(&tree).contains("is not within /boot/grub/grub.cfg"));
}

#[test]
fn areas_of_impossible_size_are_refused() {
    let mut tree = LiveTree::new(10);
    tree.description["config"]["length"] = json!(CONFIG_LENGTH + 1);
    assert!(error_of(&tree).contains("configuration area"));
    let mut tree = LiveTree::new(10);
    tree.description["kargs"]["size"] = json!(1_000_000);
    assert!(error_of(&tree).contains("1 to 2048 are sensible"));
    let mut tree = LiveTree::new(10);
    tree.description["kargs"]["size"] = json!(5);
    assert!(error_of(&tree).contains("the image reserves 5"));
}

#[test]
fn a_truncated_image_is_refused() {
    let image = iso_of(&LiveTree::new(INITRD_LENGTH));
    let error = LiveImage::open(&image[..image.len() / 2]).unwrap_err();
    assert!(
        matches!(error, LiveImageError::Iso(IsoError::Truncated { .. })),
        "{error}"
    );
}
