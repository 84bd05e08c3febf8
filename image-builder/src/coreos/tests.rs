use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::*;
use crate::customise::ImageBytes;
use crate::iso9660::Iso;
use crate::kargs::KargsError;
use crate::read_at::{Planned, ReadAt};
use crate::testing::coreos::{CoreOsTree, Generation, IGNITION_LENGTH, KARGS_LENGTH};

const ARGUMENTS: &str = "ignition.firstboot ignition.platform.id=metal";
const ROOTFS_URL: &str = "http://muster.example/boot/x/rootfs.img";

fn iso_of(tree: &CoreOsTree) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("live.iso");
    tree.write_iso(&path);
    fs::read(path).unwrap()
}

fn bytes_of(base: &[u8], image: &ImageBytes) -> Vec<u8> {
    let view = Planned {
        base,
        plan: &image.plan,
    };
    let mut bytes = vec![0; view.length().unwrap() as usize];
    view.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn file_of(iso: &[u8], path: &str) -> Vec<u8> {
    let image = Iso::open(iso).unwrap();
    let extent = image.find(path).unwrap().unwrap_or_else(|| panic!("no {path}"));
    image.read(path, extent, u64::MAX).unwrap()
}

fn wanted(arguments: &[&str]) -> CoreOsCustomisation {
    CoreOsCustomisation {
        ignition: r#"{"ignition":{"version":"3.1.0"}}"#.into(),
        initrd_files: vec![InitrdFile {
            path: "etc/lab/one".into(),
            content: InitrdContent::File {
                permissions: 0o600,
                text: "one\n".into(),
            },
        }],
        kernel_arguments: arguments.iter().map(|text| text.to_string()).collect(),
    }
}

/// Text that compresses badly, so that its length decides about that of the archive.
fn incompressible(length: usize) -> String {
    crate::testing::pattern(length, 7)
        .iter()
        .map(|byte| char::from(b' ' + byte % 95))
        .collect()
}

fn archive_in(area: &[u8]) -> String {
    let mut unpacked = Vec::new();
    GzDecoder::new(area).read_to_end(&mut unpacked).unwrap();
    String::from_utf8_lossy(&unpacked).into_owned()
}

fn refusal(tree: &CoreOsTree) -> String {
    CoreOsImage::open(iso_of(tree).as_slice())
        .unwrap_err()
        .to_string()
}

#[test]
fn each_generation_is_opened_and_written_where_it_says() {
    for generation in [
        Generation::IgnitionHeader,
        Generation::KargsHeader,
        Generation::Described,
    ] {
        let base = iso_of(&CoreOsTree::new(generation, ARGUMENTS));
        let image = CoreOsImage::open(base.as_slice()).unwrap();
        assert_eq!(image.volume_id, "fedora-coreos-muster-lab");
        let has_kargs = generation != Generation::IgnitionHeader;
        let arguments: &[&str] = if has_kargs { &["a=b&c"] } else { &[] };
        let made = bytes_of(&base, &image.full_iso(&wanted(arguments)).unwrap());
        assert_eq!(made.len(), base.len());
        let area = file_of(&made, "images/ignition.img");
        let text = archive_in(&area);
        assert!(text.contains("config.ign") && text.contains("3.1.0") && text.contains("etc/lab"));
        let lines = |path: &str| String::from_utf8(file_of(&made, path)).unwrap();
        if has_kargs {
            let with = format!("coreos.liveiso=fedora-coreos-muster-lab {ARGUMENTS} a=b");
            assert!(
                lines("EFI/fedora/grub.cfg").contains(&format!("{with}\\&c\n#")),
                "escaped for GRUB"
            );
            assert!(
                lines("isolinux/isolinux.cfg").contains(&format!("{with}&c\n#")),
                "as it is"
            );
        }
        let differing: Vec<&str> = [
            "images/pxeboot/vmlinuz",
            "images/pxeboot/initrd.img",
            "images/pxeboot/rootfs.img",
        ]
        .into_iter()
        .filter(|path| file_of(&made, path) != file_of(&base, path))
        .collect();
        assert!(differing.is_empty(), "{differing:?}");
    }
}

#[test]
fn the_minimal_iso_is_the_vendors_with_the_address_of_the_root() {
    let base = iso_of(&CoreOsTree::new(Generation::Described, ARGUMENTS));
    let image = CoreOsImage::open(base.as_slice()).unwrap();
    image.check_minimal().unwrap();
    let made = bytes_of(&base, &image.minimal_iso(&wanted(&["x"]), ROOTFS_URL).unwrap());
    assert!(
        made.len() < base.len() - 290_000,
        "{} of {}",
        made.len(),
        base.len()
    );
    let menu = String::from_utf8(file_of(&made, "isolinux/isolinux.cfg")).unwrap();
    assert!(menu.contains(&format!(
        "ignition.img {ARGUMENTS} coreos.live.rootfs_url={ROOTFS_URL} x\n#"
    )));
    assert!(archive_in(&file_of(&made, "images/ignition.img")).contains("etc/lab/one"));
    assert_eq!(
        file_of(&made, "images/pxeboot/vmlinuz"),
        file_of(&base, "images/pxeboot/vmlinuz")
    );
    let iso = Iso::open(made.as_slice()).unwrap();
    assert!(iso.find("images/pxeboot/rootfs.img").unwrap().is_none());
}

#[test]
fn an_image_without_a_usable_recipe_has_no_minimal_form_and_says_so() {
    let base = iso_of(&CoreOsTree::new(Generation::KargsHeader, ARGUMENTS));
    let image = CoreOsImage::open(base.as_slice()).unwrap();
    assert_eq!(image.check_minimal(), Err(NoMinimal::NoRecipe));
    let mut base = iso_of(&CoreOsTree::new(Generation::Described, ARGUMENTS));
    let place = {
        let iso = Iso::open(base.as_slice()).unwrap();
        iso.find("coreos/miniso.dat").unwrap().unwrap().offset as usize
    };
    let recipe = base[place..place + 2048].to_vec();
    for length in [0, 7, 8, 9, 20, 30, 60, 100] {
        base[place + length..place + 2048].fill(0);
        let error = CoreOsImage::open(base.as_slice())
            .unwrap()
            .check_minimal()
            .unwrap_err()
            .to_string();
        assert!(error.contains("recipe") && error.contains("full-iso"), "{error}");
        base[place..place + 2048].copy_from_slice(&recipe);
    }
    CoreOsImage::open(base.as_slice())
        .unwrap()
        .check_minimal()
        .unwrap();
}

#[test]
fn kernel_arguments_fit_to_the_byte() {
    let base = iso_of(&CoreOsTree::new(Generation::Described, ARGUMENTS));
    let image = CoreOsImage::open(base.as_slice()).unwrap();
    let own = format!("coreos.liveiso=fedora-coreos-muster-lab {ARGUMENTS}");
    let room = KARGS_LENGTH - own.len() - 2;
    image.full_iso(&wanted(&[&"k".repeat(room)])).unwrap();
    let error = image.full_iso(&wanted(&[&"k".repeat(room + 1)])).unwrap_err();
    assert_eq!(
        error,
        CoreOsCustomiseError::KernelArguments(KargsError::TooLong {
            needed: KARGS_LENGTH + 1,
            limit: KARGS_LENGTH
        })
    );
    // A longer address leaves less room in the minimal one.
    assert!(
        image
            .minimal_iso(&wanted(&[&"k".repeat(room)]), &"u".repeat(60))
            .is_err()
    );
    let old = iso_of(&CoreOsTree::new(Generation::IgnitionHeader, ARGUMENTS));
    let old = CoreOsImage::open(old.as_slice()).unwrap();
    assert_eq!(
        old.full_iso(&wanted(&["x"])).unwrap_err(),
        CoreOsCustomiseError::NoKernelArguments
    );
}

#[test]
fn the_ignition_fits_to_the_byte() {
    let base = iso_of(&CoreOsTree::new(Generation::Described, ARGUMENTS));
    let image = CoreOsImage::open(base.as_slice()).unwrap();
    let with = |length: usize| {
        let mut wanted = wanted(&[]);
        wanted.ignition = incompressible(length);
        (image.full_iso(&wanted), image.pxe_initrd(&wanted))
    };
    // The archive grows by whole words with the text; the largest that fits is found.
    let (mut fits, mut not) = (100_000, 600_000);
    while not - fits > 1 {
        let middle = usize::midpoint(fits, not);
        match with(middle).0 {
            Ok(_) => fits = middle,
            Err(_) => not = middle,
        }
    }
    with(fits).1.unwrap();
    let (full, initrd) = with(not);
    let limit = IGNITION_LENGTH as u64;
    assert_eq!(
        full.unwrap_err(),
        CoreOsCustomiseError::IgnitionTooBig {
            needed: limit + 4,
            limit
        }
    );
    assert!(initrd.unwrap_err().to_string().contains("4 too many"));
}

#[test]
fn the_pxe_initrd_is_the_images_with_the_archive_behind() {
    let base = iso_of(&CoreOsTree::new(Generation::Described, ARGUMENTS));
    let image = CoreOsImage::open(base.as_slice()).unwrap();
    let made = bytes_of(&base, &image.pxe_initrd(&wanted(&[])).unwrap());
    let own = file_of(&base, "images/pxeboot/initrd.img");
    assert_eq!(made[..own.len()], own);
    assert_eq!(made.len() % 512, 0);
    assert!(archive_in(&made[own.len().next_multiple_of(512)..]).contains("etc/lab/one"));
    let again = CoreOsImage::open(base.as_slice()).unwrap();
    assert_eq!(
        again.pxe_initrd(&wanted(&[])).unwrap(),
        image.pxe_initrd(&wanted(&[])).unwrap(),
        "each replica makes the same"
    );
    for (made, path) in [
        (image.pxe_kernel(), "images/pxeboot/vmlinuz"),
        (image.pxe_rootfs(), "images/pxeboot/rootfs.img"),
    ] {
        assert_eq!(bytes_of(&base, &made), file_of(&base, path));
    }
}

#[test]
fn unknown_and_broken_layouts_are_refused_with_the_reason() {
    let tree = CoreOsTree::new(Generation::Described, ARGUMENTS);
    tree.remove("images/pxeboot/initrd.img");
    assert!(refusal(&tree).contains("/images/pxeboot/initrd.img"));

    let tree = CoreOsTree::new(Generation::Described, ARGUMENTS);
    tree.file("coreos/igninfo.json", br#"{"file": "images/none.img"}"#);
    assert!(refusal(&tree).contains("/images/none.img"));
    tree.file(
        "coreos/igninfo.json",
        br#"{"file": "images/ignition.img", "offset": 262000, "length": 262144}"#,
    );
    assert!(refusal(&tree).contains("the ignition area at 262000 is not within"));
    tree.file("coreos/igninfo.json", b"{");
    assert!(refusal(&tree).contains("/coreos/igninfo.json is not valid"));
    tree.remove("coreos/igninfo.json");
    tree.remove("images/ignition.img");
    assert!(refusal(&tree).contains("not a CoreOS live image"));

    let tree = CoreOsTree::new(Generation::Described, ARGUMENTS);
    tree.file("EFI/fedora/grub.cfg", &[b'#'; 3000]);
    assert!(refusal(&tree).contains("does not hold the default kernel arguments"));

    let mut base = iso_of(&CoreOsTree::new(Generation::KargsHeader, ARGUMENTS));
    base[32_680..32_688].copy_from_slice(&5_000_u64.to_le_bytes());
    let error = CoreOsImage::open(base.as_slice()).unwrap_err().to_string();
    assert!(error.contains("1 to 2048 are sensible"), "{error}");
    base[32_752..32_760].copy_from_slice(&u64::MAX.to_le_bytes());
    let error = CoreOsImage::open(base.as_slice()).unwrap_err().to_string();
    assert!(error.contains("the ignition area has no end"), "{error}");
}

#[test]
fn an_image_for_s390x_tells_where_an_initramfs_is_loaded_and_how_long_it_is() {
    let tree = CoreOsTree::new(Generation::Described, ARGUMENTS);
    let list = b"images/kernel.img 0x00000000\nimages/initrd.img 0x02000000\n";
    tree.file("generic.ins", list);
    tree.file(
        "images/initrd.addrsize",
        &[0x0200_0000_u64.to_be_bytes(), 5_001_u64.to_be_bytes()].concat(),
    );
    let iso = iso_of(&tree);
    let image = CoreOsImage::open(iso.as_slice()).unwrap();
    assert_eq!(bytes_of(&iso, &image.generic_ins().unwrap()), list);
    let initrd = image.pxe_initrd(&wanted(&[])).unwrap();
    let told = bytes_of(&iso, &image.initrd_addrsize(&initrd).unwrap());
    assert_eq!(told[..8], 0x0200_0000_u64.to_be_bytes());
    assert_eq!(told[8..], (bytes_of(&iso, &initrd).len() as u64).to_be_bytes());

    tree.file("images/initrd.addrsize", b"short");
    let error = CoreOsImage::open(iso_of(&tree).as_slice()).unwrap_err();
    assert!(
        error.to_string().contains("initrd.addrsize has 5 bytes"),
        "{error}"
    );
    tree.remove("generic.ins");
    let other = iso_of(&tree);
    let image = CoreOsImage::open(other.as_slice()).unwrap();
    assert!(image.generic_ins().is_none() && image.initrd_addrsize(&initrd).is_none());
}
