//! Makes ISOs in the layout of CoreOS, of each generation (`docs/protocol/image-service.md#8`).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use liblzma::write::XzEncoder;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{make_iso, pattern};
use crate::iso9660::{Extent, Iso, SECTOR};

/// Length of the ignition area.
pub const IGNITION_LENGTH: usize = 262_144;
/// Length of each kernel-argument area.
pub const KARGS_LENGTH: usize = 1139;

const GRUB: &str = "EFI/fedora/grub.cfg";
const ISOLINUX: &str = "isolinux/isolinux.cfg";
const ROOTFS: &str = "images/pxeboot/rootfs.img";
const RECIPE: &str = "coreos/miniso.dat";
const RECIPE_LENGTH: usize = 16_384;

/// The record of the places of the areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// 2020: a header with the ignition area; no kernel arguments.
    IgnitionHeader,
    /// 2021: another header with the kernel-argument areas.
    KargsHeader,
    /// Since 2022: JSON files, and a recipe for a minimal ISO.
    Described,
}

/// The files of an image, to be changed before the ISO is made.
pub struct CoreOsTree {
    folder: tempfile::TempDir,
    generation: Generation,
    default_arguments: String,
    /// Options of `xorriso -as mkisofs` that make it boot.
    pub boot_options: Vec<String>,
}

impl CoreOsTree {
    /// A complete tree that does not boot. `default_arguments` is the whole kernel line except the argument that names the medium.
    pub fn new(generation: Generation, default_arguments: &str) -> Self {
        let default_arguments = format!("coreos.liveiso=fedora-coreos-muster-lab {default_arguments}");
        let mut area = format!("{default_arguments}\n");
        area.push_str(&"#".repeat(KARGS_LENGTH - area.len()));
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
            generation,
            default_arguments,
            boot_options: Vec::new(),
        };
        let marker = "# COREOS_KARG_EMBED_AREA";
        let grub = format!(
            "{}{area}{marker}\n  initrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n",
            grub_head()
        );
        tree.file(GRUB, grub.as_bytes());
        let isolinux = format!("{}{area}{marker}\n", isolinux_head());
        tree.file(ISOLINUX, isolinux.as_bytes());
        tree.file("images/pxeboot/vmlinuz", &pattern(10_000, 1));
        tree.file("images/pxeboot/initrd.img", &pattern(5_001, 2));
        tree.file(ROOTFS, &pattern(300_000, 3));
        tree.file("images/ignition.img", &[0; IGNITION_LENGTH]);
        match generation {
            Generation::IgnitionHeader => {}
            Generation::KargsHeader => tree.file(".cmdline", area.as_bytes()),
            Generation::Described => {
                let file = |path: &str, head: String| json!({"path": path, "offset": head.len(), "end": "\n", "pad": "#"});
                let kargs = json!({
                    "default": tree.default_arguments,
                    "files": [file(GRUB, grub_head()), file(ISOLINUX, isolinux_head())],
                    "size": KARGS_LENGTH,
                });
                tree.file("coreos/kargs.json", kargs.to_string().as_bytes());
                tree.file("coreos/igninfo.json", br#"{"file": "images/ignition.img"}"#);
                tree.file(RECIPE, &[0; RECIPE_LENGTH]);
            }
        }
        tree
    }

    /// Writes or replaces a file of the tree.
    pub fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Removes a file from the tree.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    /// Makes the ISO at `target`.
    pub fn write_iso(&self, target: &Path) {
        self.make(target);
        match self.generation {
            Generation::IgnitionHeader => self.write_headers(target, false),
            Generation::KargsHeader => self.write_headers(target, true),
            Generation::Described => self.write_recipe(target),
        }
    }

    fn make(&self, target: &Path) {
        let mut options = vec!["-V", "fedora-coreos-muster-lab", "-r"];
        options.extend(self.boot_options.iter().map(String::as_str));
        make_iso(self.folder.path(), target, &options);
    }

    fn write_headers(&self, target: &Path, kargs: bool) {
        let bytes = fs::read(target).unwrap();
        let iso = Iso::open(bytes.as_slice()).unwrap();
        let at = |path: &str| iso.find(path).unwrap().unwrap().offset;
        let ignition = numbers(b"coreiso+", &[at("images/ignition.img"), IGNITION_LENGTH as u64]);
        let file = fs::File::options().write(true).open(target).unwrap();
        file.write_all_at(&ignition, 32_744).unwrap();
        if kargs {
            let places = [
                KARGS_LENGTH as u64,
                at(".cmdline"),
                at(GRUB) + grub_head().len() as u64,
                at(ISOLINUX) + isolinux_head().len() as u64,
                0,
                0,
                0,
                0,
            ];
            file.write_all_at(&numbers(b"coreKarg", &places), 32_672).unwrap();
        }
    }

    /// The minimal ISO is the tree without the root file system; the recipe names the bytes that both have by their places.
    fn write_recipe(&self, target: &Path) {
        let scratch = tempfile::tempdir().unwrap();
        let minimal = scratch.path().join("minimal.iso");
        let (rootfs, kept) = (self.folder.path().join(ROOTFS), scratch.path().join("rootfs"));
        fs::copy(&rootfs, &kept).unwrap();
        self.remove(ROOTFS);
        self.remove(RECIPE);
        self.make(&minimal);
        let (full, minimal) = (fs::read(target).unwrap(), fs::read(minimal).unwrap());
        let runs = self.runs(&full, &minimal);
        fs::copy(&kept, &rootfs).unwrap();
        self.file(RECIPE, &[0; RECIPE_LENGTH]);

        let mut rest = XzEncoder::new(Vec::new(), 9);
        let mut recipe = b"MINISO\0\0".to_vec();
        integer(&mut recipe, 1);
        integer(&mut recipe, 6);
        recipe.extend(b"muster");
        integer(&mut recipe, runs.len() as u64);
        let mut at = 0;
        for (minimal_at, run) in &runs {
            rest.write_all(&minimal[at..*minimal_at]).unwrap();
            at = minimal_at + run.length as usize;
            integer(&mut recipe, *minimal_at as u64 / SECTOR);
            integer(&mut recipe, run.offset / SECTOR);
            integer(&mut recipe, run.length);
        }
        rest.write_all(&minimal[at..]).unwrap();
        let rest = rest.finish().unwrap();
        recipe.extend(Sha256::digest(&minimal));
        integer(&mut recipe, rest.len() as u64);
        recipe.extend(rest);
        assert!(recipe.len() <= RECIPE_LENGTH, "{} bytes", recipe.len());
        let iso = Iso::open(full.as_slice()).unwrap();
        let place = iso.find(RECIPE).unwrap().unwrap();
        let file = fs::File::options().write(true).open(target).unwrap();
        file.write_all_at(&recipe, place.offset).unwrap();
    }

    /// Places in the full image, by those in the minimal one.
    fn runs(&self, full: &[u8], minimal: &[u8]) -> BTreeMap<usize, Extent> {
        let (full_iso, minimal_iso) = (Iso::open(full).unwrap(), Iso::open(minimal).unwrap());
        let mut folders = vec![self.folder.path().to_owned()];
        let mut runs = BTreeMap::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap();
                let in_full = full_iso.find(name).unwrap().unwrap();
                let in_minimal = minimal_iso.find(name).unwrap().unwrap();
                let bytes = |image: &[u8], extent: Extent| {
                    image[extent.offset as usize..extent.end() as usize].to_vec()
                };
                // The boot loader's place is written into it.
                if in_full.length > 0 && bytes(full, in_full) == bytes(minimal, in_minimal) {
                    runs.insert(in_minimal.offset as usize, in_full);
                }
            }
        }
        runs
    }
}

fn grub_head() -> String {
    "set timeout=0\nmenuentry 'Lab' {\n  linux /images/pxeboot/vmlinuz ".to_owned()
}

fn isolinux_head() -> String {
    "default lab\ntimeout 1\nlabel lab\n  kernel /images/pxeboot/vmlinuz\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img "
        .to_owned()
}

fn numbers(magic: &[u8; 8], numbers: &[u64]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    for number in numbers {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

fn integer(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=250 => out.push(number as u8),
        251..=0xFFFF => {
            out.push(251);
            out.extend((number as u16).to_le_bytes());
        }
        0x1_0000..=0xFFFF_FFFF => {
            out.push(252);
            out.extend((number as u32).to_le_bytes());
        }
        _ => {
            out.push(253);
            out.extend(number.to_le_bytes());
        }
    }
}
