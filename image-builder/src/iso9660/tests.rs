use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::testing::make_iso;

const LONG_NAME: &str = "a-name-so-long-that-rock-ridge-must-continue-it-elsewhere-";

/// An ISO with a deep path, a directory of several sectors, a long name and an empty file.
fn iso(options: &[&str]) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let tree = folder.path().join("tree");
    let put = |path: &str, text: &str| {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("muster/live.json", "the description");
    put("images/pxeboot/vmlinuz", "the kernel");
    put("empty", "");
    put(&long_name(), "long");
    for number in 0..150 {
        put(&format!("many/file-number-{number:03}.txt"), &number.to_string());
    }
    let target = folder.path().join("test.iso");
    make_iso(&tree, &target, options);
    fs::read(&target).unwrap()
}

fn long_name() -> String {
    LONG_NAME.repeat(4)
}

fn text(image: &[u8], path: &str) -> Option<String> {
    let iso = Iso::open(image).unwrap();
    let extent = iso.find(path).unwrap()?;
    Some(String::from_utf8(iso.read(path, extent, 1000).unwrap()).unwrap())
}

#[test]
fn files_are_found_by_their_rock_ridge_names() {
    let image = iso(&["-r"]);
    assert_eq!(
        text(&image, "muster/live.json").as_deref(),
        Some("the description")
    );
    assert_eq!(
        text(&image, "/images/pxeboot/vmlinuz").as_deref(),
        Some("the kernel")
    );
    assert_eq!(text(&image, "many/file-number-149.txt").as_deref(), Some("149"));
    assert_eq!(text(&image, &long_name()).as_deref(), Some("long"));
    assert_eq!(text(&image, "empty").as_deref(), Some(""));
}

#[test]
fn rock_ridge_names_count_with_their_case() {
    assert_eq!(text(&iso(&["-r"]), "MUSTER/LIVE.JSON"), None);
}

#[test]
fn files_are_found_by_plain_names_without_rock_ridge() {
    let image = iso(&["--norock", "-iso-level", "1"]);
    assert_eq!(
        text(&image, "muster/live.json").as_deref(),
        Some("the description")
    );
    assert_eq!(
        text(&image, "images/pxeboot/vmlinuz").as_deref(),
        Some("the kernel")
    );
    assert_eq!(text(&image, "images/pxeboot/other"), None);
}

#[test]
fn the_offsets_are_those_that_xorriso_reports() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.iso");
    fs::write(&path, iso(&["-r"])).unwrap();
    let image = fs::File::open(&path).unwrap();
    let extent = Iso::open(&image)
        .unwrap()
        .find("images/pxeboot/vmlinuz")
        .unwrap()
        .unwrap();
    let reported = reported_lba(&path, "/images/pxeboot/vmlinuz");
    assert_eq!(
        extent,
        Extent {
            offset: reported * SECTOR,
            length: 10
        }
    );
}

/// The block address in xorriso's `File data lba: extent, block, blocks, size, path`.
fn reported_lba(iso: &Path, path: &str) -> u64 {
    let output = std::process::Command::new("xorriso")
        .args([
            "-indev",
            iso.to_str().unwrap(),
            "-find",
            path,
            "-exec",
            "report_lba",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("File data lba:"))
        .unwrap();
    line.split([':', ',']).nth(2).unwrap().trim().parse().unwrap()
}

#[test]
fn directories_and_paths_through_files_are_not_files() {
    let image = iso(&["-r"]);
    for path in ["muster", "", "/", "muster/live.json/x", "nothing/here", ".", ".."] {
        assert_eq!(text(&image, path), None, "{path}");
    }
}

#[test]
fn other_files_are_not_isos() {
    for bytes in [&b""[..], b"short", &[0; 100_000]] {
        assert!(matches!(Iso::open(bytes), Err(IsoError::NotAnIso)));
    }
}

#[test]
fn a_truncated_file_says_how_much_is_there() {
    let image = iso(&["-r"]);
    let error = Iso::open(&image[..60_000]).err().unwrap();
    assert!(
        matches!(error, IsoError::Truncated { actual: 60_000, .. }),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Nothing in the image can make the reader panic or point outside of it.
    #[test]
    fn damaged_images_are_refused_or_give_extents_within(
        damage in prop::collection::vec((0usize..0x18000, any::<u8>()), 1..30),
        cut in prop::option::of(0usize..400_000),
    ) {
        thread_local! { static IMAGE: Vec<u8> = iso(&["-r"]); }
        let mut image = IMAGE.with(Clone::clone);
        for (at, byte) in damage {
            // Descriptors and directories lie at the front.
            let at = 0x8000 + at % (image.len() - 0x8000);
            image[at] = byte;
        }
        image.truncate(cut.unwrap_or(usize::MAX));
        if let Ok(iso) = Iso::open(image.as_slice()) {
            for path in ["muster/live.json", "images/pxeboot/vmlinuz", "many/file-number-149.txt", &long_name()] {
                if let Ok(Some(extent)) = iso.find(path) {
                    prop_assert!(extent.end() <= image.len() as u64);
                }
            }
        }
    }
}
