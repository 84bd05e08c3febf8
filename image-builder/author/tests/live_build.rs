//! Builds the live image for real, from packages of Debian's mirror (kept in `target/tmp` between runs, and
//! taken from the user's cache if `make` downloaded them already), with the weakest compression: the
//! strongest takes a minute and shows nothing more.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use muster_image::iso9660::Iso;
use muster_image::live::read_description;
use muster_image_author::initramfs;
use muster_image_author::live::record::BuildRecord;
use muster_image_author::packages::deb::{self, Kind};

/// A substitute for the agent that the kernel could start.
const AGENT: &str = "#!/bin/busybox sh\nexec /bin/busybox poweroff -f\n";

/// Drivers without which a common server or virtual machine has no network, no disk or no boot medium.
const MUST_HAVE_DRIVERS: [&str; 35] = [
    "8021q",
    "ahci",
    "ata_piix",
    "bnx2x",
    "bnxt_en",
    "bonding",
    "e1000",
    "e1000e",
    "i40e",
    "ice",
    "igb",
    "iTCO_wdt",
    "ionic",
    "ipmi_si",
    "isofs",
    "ixgbe",
    "megaraid_sas",
    "mlx5_core",
    "mpi3mr",
    "mpt3sas",
    "nd_pmem",
    "nfit",
    "nvme",
    "r8169",
    "sd_mod",
    "smartpqi",
    "sr_mod",
    "tg3",
    "usb-storage",
    "usbhid",
    "virtio_blk",
    "virtio_net",
    "virtio_scsi",
    "vmxnet3",
    "xhci-pci",
];

/// Firmware that the drivers above cannot do without.
const MUST_HAVE_FIRMWARE: [&str; 7] = [
    "lib/firmware/bnx2/bnx2-mips-09-6.2.1b.fw",
    "lib/firmware/bnx2x/bnx2x-e2-7.13.21.0.fw",
    "lib/firmware/intel/ice/ddp/ice.pkg",
    "lib/firmware/ql2500_fw.bin",
    "lib/firmware/qed/qed_init_values_zipped-8.59.1.0.bin",
    "lib/firmware/rtl_nic/rtl8168h-2.fw",
    "lib/firmware/tigon/tg3.bin",
];

struct Workplace {
    folder: tempfile::TempDir,
    cache: PathBuf,
}

impl Workplace {
    fn new(cache: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("agent"), AGENT).unwrap();
        Self {
            folder,
            cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join(cache),
        }
    }

    fn iso(&self) -> PathBuf {
        self.folder.path().join("live.iso")
    }

    fn run(&self, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_muster-image"))
            .args(["live", "build", "--compression-level=1", "--agent=agent"])
            .arg("--output=live.iso")
            .arg("--cache-dir")
            .arg(&self.cache)
            .args(more)
            .env_remove("SOURCE_DATE_EPOCH")
            .current_dir(&self.folder)
            .output()
            .unwrap()
    }

    /// Builds and returns the standard output.
    fn build(&self, more: &[&str]) -> String {
        let output = self.run(more);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn borrow_packages(&self) {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let Ok(packages) = fs::read_dir(Path::new(&home).join(".cache/muster/image/debs")) else {
            return;
        };
        let debs = self.cache.join("debs");
        fs::create_dir_all(&debs).unwrap();
        for package in packages {
            let package = package.unwrap();
            let own = debs.join(package.file_name());
            // A copy that fails is a download more; the digest of each file is checked before it is used.
            if !own.exists() && fs::hard_link(package.path(), &own).is_err() {
                let _ = fs::copy(package.path(), &own);
            }
        }
    }

    fn forget_parts(&self) {
        fs::remove_dir_all(self.cache.join("parts")).unwrap();
    }
}

#[test]
fn the_image_is_reproducible_and_built_only_when_something_changed() {
    let work = Workplace::new("live-build");
    work.borrow_packages();
    work.build(&[]);
    let first = fs::read(work.iso()).unwrap();
    let file = fs::File::open(work.iso()).unwrap();
    let image = Iso::open(&file).unwrap();
    assert_eq!(image.volume_id(), "MUSTER");
    check_areas(&image, &file);
    check_initrd(&image);
    let record = fs::read(work.folder.path().join("live.iso.build.json")).unwrap();
    let record: BuildRecord = serde_json::from_slice(&record).unwrap();
    assert_eq!(
        record.facts.drivers_unknown,
        Vec::<String>::new(),
        "lists that name nothing"
    );
    assert_eq!(
        record.facts.modules_unreachable,
        Vec::<String>::new(),
        "modules that nothing loads"
    );
    let size = first.len();
    println!("{size} bytes with the weakest compression");

    assert!(work.build(&[]).contains("up to date"), "nothing changed");

    work.forget_parts();
    let said = work.build(&["--force", "--offline"]);
    assert!(!said.contains("up to date"), "{said}");
    assert!(
        fs::read(work.iso()).unwrap() == first,
        "the same ingredients gave other bytes"
    );

    fs::write(work.folder.path().join("agent"), format!("{AGENT}# changed\n")).unwrap();
    assert!(
        !work.build(&["--offline"]).contains("up to date"),
        "the agent changed"
    );
    assert!(fs::read(work.iso()).unwrap() != first);

    // A damaged ISO is not taken for a finished one.
    fs::write(work.folder.path().join("agent"), AGENT).unwrap();
    work.build(&["--offline"]);
    fs::OpenOptions::new()
        .write(true)
        .open(work.iso())
        .unwrap()
        .write_all_at(b"damage", 1_000_000)
        .unwrap();
    assert!(!work.build(&["--offline"]).contains("up to date"));
    assert!(fs::read(work.iso()).unwrap() == first);
}

/// Files of a machine's maker: a module for this very kernel, firmware; and the file that pins all of it.
#[test]
fn modules_and_firmware_of_the_user_are_carried_and_a_lock_file_gives_the_same_bytes_again() {
    let work = Workplace::new("live-build-own");
    work.borrow_packages();
    let own = work.folder.path();
    fs::create_dir_all(own.join("firmware/acme")).unwrap();
    fs::write(own.join("firmware/acme/nic.bin"), "firmware").unwrap();
    fs::create_dir(own.join("modules")).unwrap();
    fs::write(own.join("modules/nic.ko"), "no module").unwrap();
    let options = [
        "--no-firmware",
        "--extra-modules=modules",
        "--extra-firmware=firmware",
        "--lock=lock.json",
    ];
    let refused = work.run(&options);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("nic.ko"), "{said}");
    assert!(!own.join("lock.json").exists());

    fs::remove_file(own.join("modules/nic.ko")).unwrap();
    let module = a_module(&work.cache);
    fs::write(own.join("modules/dummy.ko.xz"), module).unwrap();
    work.build(&options);
    let first = fs::read(work.iso()).unwrap();
    let file = fs::File::open(work.iso()).unwrap();
    let initrd = read(&Iso::open(&file).unwrap(), "images/pxeboot/initrd.img");
    let entries = initramfs::list(&initrd).unwrap();
    for wanted in ["/extra/dummy.ko", "lib/firmware/acme/nic.bin", "sbin/modprobe"] {
        let found = entries.iter().any(|entry| entry.path.ends_with(wanted));
        assert!(found, "{wanted} is not in the image");
    }

    fs::remove_file(work.iso()).unwrap();
    let again = work.run(&[&options[..], &["--offline"]].concat());
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(
        said.contains("The same bytes as when lock.json was written"),
        "{said}"
    );
    assert!(fs::read(work.iso()).unwrap() == first);

    // Another module contradicts the lock.
    fs::write(own.join("firmware/acme/nic.bin"), "newer").unwrap();
    let refused = work.run(&options);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("firmware/acme/nic.bin was another file"),
        "{said}"
    );
    fs::write(own.join("firmware/acme/nic.bin"), "firmware").unwrap();

    // A version that the mirror has no more.
    let lock = fs::read_to_string(own.join("lock.json")).unwrap();
    let mut lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
    let package = lock["packages"].as_array_mut().unwrap().first_mut().unwrap();
    let name = package["name"].as_str().unwrap().to_owned();
    package["version"] = "0.1-1".into();
    package["sha256"] = "00".repeat(32).into();
    package["file"] = format!("{name}_0.1-1_all.deb").into();
    fs::write(own.join("lock.json"), lock.to_string()).unwrap();
    let refused = work.run(&options);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    for part in [
        "the mirror no longer has 1 of the",
        &name,
        "0.1-1",
        "snapshot.debian.org",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// A module of the image's kernel that is not in the lists, as its package has it. (The machine's cache may hold kernels of other kinds,
/// for real-time work or clouds, from other builds.)
fn a_module(cache: &Path) -> Vec<u8> {
    let debs = fs::read_dir(cache.join("debs")).unwrap();
    let kernel = debs
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            let is_other = ["-rt-", "-cloud-"].iter().any(|kind| name.contains(kind));
            name.starts_with("linux-image-6.12") && !is_other
        })
        .max()
        .unwrap();
    let mut found = None;
    deb::read(&kernel, |member| {
        if let Kind::File { content, .. } = member.kind
            && member.path.ends_with("/drivers/net/dummy.ko.xz")
        {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found = Some(bytes);
        }
        Ok(())
    })
    .unwrap();
    found.unwrap()
}

/// A network card of today has its module, and a device that does not exist has none.
#[test]
fn the_module_of_a_device_is_told() {
    let work = Workplace::new("live-build-own");
    work.borrow_packages();
    let output = Command::new(env!("CARGO_BIN_EXE_muster-image"))
        .args([
            "live",
            "drivers",
            "--pci=8086:12d2",
            "--pci=1657:0014",
            "--pci=ffff:0001",
        ])
        .arg("--cache-dir")
        .arg(&work.cache)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for part in [
        "8086:12d2: ice (kernel/drivers/net/ethernet/intel/ice/ice.ko), in the image",
        "firmware intel/ice/ddp/ice.pkg, in the image",
        "1657:0014: ",
        ", not in the image",
        "ffff:0001: no module of kernel 6.12",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

fn read(image: &Iso<'_, fs::File>, path: &str) -> Vec<u8> {
    let extent = image.find(path).unwrap().unwrap();
    image.read(path, extent, 1 << 30).unwrap()
}

/// The areas are at the places of `live.json`, in the state of an image that was never written.
fn check_areas(image: &Iso<'_, fs::File>, iso: &fs::File) {
    let description = read_description(image).unwrap();
    let config = read(image, &description.config.file);
    assert_eq!(config.len(), 262_144);
    assert!(config.iter().all(|byte| *byte == 0));

    let place = &description.kargs.files[0];
    let start = image.find(&place.path).unwrap().unwrap().offset + place.offset;
    let mut area = vec![0; description.kargs.size + 1];
    iso.read_exact_at(&mut area, start).unwrap();
    let wanted = format!("{}{}", description.kargs.default, description.kargs.end);
    assert!(area.starts_with(wanted.as_bytes()));
    assert!(area[wanted.len()..].starts_with(b"####"));
    assert_eq!(area.last(), Some(&b'\n'));

    let kernel = read(image, &description.kernel);
    assert_eq!(&kernel[0x202..0x206], b"HdrS", "the kernel's boot header");
    assert!(read(image, ".disk/info").starts_with(b"Muster"));
}

fn check_initrd(image: &Iso<'_, fs::File>) {
    let initrd = read(image, "images/pxeboot/initrd.img");
    let entries: BTreeMap<String, u32> = initramfs::list(&initrd)
        .unwrap()
        .into_iter()
        .map(|entry| (entry.path, entry.mode))
        .collect();
    assert_eq!(entries["init"], 0o100_755);
    assert_eq!(entries["bin/busybox"], 0o100_755);
    assert_eq!(entries["tmp"], 0o041_777);
    assert!(entries.contains_key("etc/ssl/certs/ca-certificates.crt"));
    let missing: Vec<_> = MUST_HAVE_DRIVERS
        .iter()
        .filter(|driver| {
            !entries
                .keys()
                .any(|path| path.ends_with(&format!("/{driver}.ko")))
        })
        .collect();
    assert!(missing.is_empty(), "drivers are missing: {missing:?}");
    let missing: Vec<_> = MUST_HAVE_FIRMWARE
        .iter()
        .filter(|path| !entries.contains_key(**path))
        .collect();
    assert!(missing.is_empty(), "firmware is missing: {missing:?}");
    for list in [
        "modules.dep",
        "modules.alias",
        "modules.builtin",
        "modules.softdep",
    ] {
        assert!(entries.keys().any(|path| path.ends_with(list)), "{list}");
    }
}

#[test]
fn without_network_and_cache_the_way_out_is_told() {
    let work = Workplace::new("live-build-empty");
    let output = work.run(&["--offline"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("run once without --offline"), "{said}");
    assert!(!work.iso().exists());
}

#[test]
fn a_dynamically_linked_agent_is_refused_before_any_work() {
    let work = Workplace::new("live-build-refused");
    fs::copy(
        env!("CARGO_BIN_EXE_muster-image"),
        work.folder.path().join("agent"),
    )
    .unwrap();
    let output = work.run(&[]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("dynamically linked"), "{said}");
    assert!(!work.cache.exists());
}
