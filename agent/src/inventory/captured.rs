//! The probes against dumps of real machines (docs/protocol/captured-machines.md): each must be reported as it is.

use std::fmt::Write as _;
use std::path::Path;

use flate2::read::GzDecoder;
use muster_api::inventory::Inventory;

use super::problems::Problem;
use super::{Options, collect};
use crate::root::Root;

/// A summary of a machine's inventory, one part a line. Parts that the dump has no source of are left out.
fn summary(name: &str) -> String {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/machines/{name}.tar.gz"));
    let dir = tempfile::tempdir().unwrap();
    let file = std::fs::File::open(place).unwrap();
    tar::Archive::new(GzDecoder::new(file))
        .unpack(dir.path())
        .unwrap();
    let root = Root::tree(dir.path()).unwrap();
    let found = collect(&root, Options::default());
    let mut text = String::new();
    parts(&mut text, &root, &found.inventory);
    problems(&mut text, &root, &found.problems);
    text
}

fn parts(text: &mut String, root: &Root, inventory: &Inventory) {
    let has = |path: &str| root.exists(path);
    let vendor = inventory.system_vendor.as_ref().unwrap();
    if has("/sys/class/dmi/id/sys_vendor") || vendor.manufacturer != "unknown" {
        let kind = if vendor.is_virtual { ", virtual" } else { "" };
        writeln!(
            text,
            "{} {}, serial {}{kind}",
            vendor.manufacturer, vendor.product_name, vendor.serial_number
        )
        .unwrap();
    }
    let cpu = inventory.cpu.as_ref().unwrap();
    if has("/proc/cpuinfo") {
        let (count, model, flags) = (cpu.count, &cpu.model_name, cpu.flags.len());
        writeln!(
            text,
            "{} {count} x {model}, {} MHz, {flags} flags",
            cpu.architecture, cpu.frequency
        )
        .unwrap();
    } else if cpu.frequency > 0.0 {
        writeln!(text, "{} MHz", cpu.frequency).unwrap();
    }
    let memory = inventory.memory.as_ref().unwrap();
    if memory.physical_bytes > 0 {
        let (mib, method) = (memory.physical_bytes >> 20, &memory.physical_bytes_method);
        writeln!(text, "{mib} MiB by {method}").unwrap();
    }
    for disk in &inventory.disks {
        let (name, kind, size, id) = (&disk.name, &disk.drive_type, disk.size_bytes, &disk.id);
        write!(text, "{name} {kind} {size} {id}").unwrap();
        for (label, value) in [
            ("vendor", &disk.vendor),
            ("model", &disk.model),
            ("serial", &disk.serial),
            ("wwn", &disk.wwn),
            ("hctl", &disk.hctl),
            ("by path", &disk.by_path),
        ] {
            if !value.is_empty() && value != id {
                write!(text, ", {label} {value}").unwrap();
            }
        }
        let not = &disk.installation_eligibility.not_eligible_reasons;
        writeln!(text, "{}", if not.is_empty() { "" } else { ", not eligible" }).unwrap();
    }
    for nic in &inventory.interfaces {
        let (name, mac, speed) = (&nic.name, &nic.mac_address, nic.speed_mbps);
        let carrier = if nic.has_carrier { "up" } else { "down" };
        writeln!(
            text,
            "{name} {mac} {} {carrier} {speed} {}:{}",
            nic.kind, nic.vendor, nic.product
        )
        .unwrap();
    }
    for gpu in &inventory.gpus {
        writeln!(text, "{} {} {}", gpu.address, gpu.vendor, gpu.name).unwrap();
    }
}

/// Problems of processors, memory and PCI, without the advice; others are of queries that no dump answers.
fn problems(text: &mut String, root: &Root, problems: &[Problem]) {
    let told = problems
        .iter()
        .filter(|problem| match problem.field.split('.').next() {
            Some("cpu") => root.exists("/proc/cpuinfo"),
            Some("memory") => root.exists("/proc/meminfo") && root.exists("/sys/firmware/dmi/tables/DMI"),
            part => part == Some("pci"),
        });
    for problem in told {
        let fact = problem.reason.split(',').next().unwrap_or_default();
        writeln!(text, "{}: {fact}", problem.field).unwrap();
    }
}

const NO_CLOCK: &str = "cpu.frequency: neither cpufreq nor the firmware reports the clock rate";

/// A machine, and the facts about it: from its maker's papers, and of processors from lscpu.
const MACHINES: [(&str, &[&str]); 29] = [
    (
        "huawei-xa320-v2",
        &[
            "Huawei XA320 V2, serial 5214967ILZ60E5224114",
            "aarch64 128 x TaiShan-v110, 0 MHz, 18 flags",
            "514678 MiB by meminfo",
            NO_CLOCK,
        ],
    ),
    (
        "dell-r910",
        &[
            "Dell Inc. PowerEdge R910, serial unknown",
            "x86_64 40 x Intel(R) Xeon(R) CPU E7- 4870  @ 2.40GHz, 2400 MHz, 67 flags",
            "517019 MiB by meminfo",
            "sda HDD 1798651772928 /dev/disk/by-path/pci-0000:01:00.0-scsi-0:2:0:0, vendor DELL, hctl 0:2:0:0",
            "sr0 ODD 1073741312 /dev/disk/by-path/pci-0000:00:1f.2-scsi-0:0:0:0, vendor PLDS, hctl 1:0:0:0",
            "eth0 78:2b:cb:df:08:ad physical up 1000 0x14e4:0x1639",
            "eth1 78:2b:cb:a1:2a:54 physical down 0 0x14e4:0x1639",
            "eth2 78:2b:cb:96:d9:2e physical down 0 0x14e4:0x1639",
            "eth3 78:2b:cb:38:39:07 physical down 0 0x14e4:0x1639",
            "ib0 80:00:00:03:fe:80:00:00:00:00:00:00:00:11:75:00:00:cb:63:f3 physical up 0 0x1077:0x7322",
            "0000:09:03.0 Matrox Electronics Systems Ltd. MGA G200eW WPCM450",
        ],
    ),
    (
        "dell-dcs8000z",
        &[
            "Dell DCS8000Z, serial unknown",
            "x86_64 16 x Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz, 2701 MHz, 77 flags",
            "32768 MiB by dmidecode",
            "sda HDD 250059350016 /dev/disk/by-path/pci-0000:00:1f.2-scsi-0:0:0:0, vendor ATA, hctl 4:0:0:0",
            "eth0 84:8f:69:ff:b7:37 physical up 1000 0x8086:0x1521",
            "eth1 84:8f:69:47:6c:73 physical down 0 0x8086:0x1521",
            "ib0 80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:7b:0d:3b physical up 0 0x15b3:0x1003",
            "0000:05:00.0 ASPEED Technology, Inc. ASPEED Graphics Family",
        ],
    ),
    (
        "dell-c6145",
        &[
            "Dell PowerEdge C6145, serial unknown",
            "x86_64 64 x AMD Opteron(TM) Processor 6276, 0 MHz, 70 flags",
            "121088 MiB by meminfo",
            NO_CLOCK,
        ],
    ),
    (
        "dell-r630",
        &[
            "Dell Inc. PowerEdge R630, serial unknown",
            "x86_64 17 x Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz, 2500 MHz, 102 flags",
            "128649 MiB by meminfo",
        ],
    ),
    (
        "supermicro-h8qg6",
        &[
            "Supermicro H8QG6, serial unknown",
            "x86_64 32 x AMD Opteron(tm) Processor 6134, 2300 MHz, 56 flags",
            "129194 MiB by meminfo",
        ],
    ),
    (
        "sgi-altix-xe320",
        &[
            "SGI.COM AltixXE320, serial unknown",
            "x86_64 8 x Intel(R) Xeon(R) CPU           E5472  @ 3.00GHz, 3000 MHz, 56 flags",
            "15949 MiB by meminfo",
        ],
    ),
    (
        "amd-drachma",
        &[
            "AMD DRACHMA, serial 0123456789",
            "x86_64 48 x AMD Engineering Sample, 1700 MHz, 59 flags",
            "96877 MiB by meminfo",
        ],
    ),
    (
        "nec-vector-host",
        &[
            "x86_64 32 x Intel(R) Xeon(R) Silver 4108 CPU @ 1.80GHz, 1800 MHz, 132 flags",
            "95161 MiB by meminfo",
            "enp96s0f0 ac:1f:6b:c8:3a:2f physical up 1000 0x8086:0x37d2",
            "enp96s0f1 ac:1f:6b:67:ac:50 physical down 0 0x8086:0x37d2",
            "pci.0000:1a:00.0: the network card 15b3:1013 at 0000:1a:00.0 is set to InfiniBand",
            "pci.0000:3e:00.0: the network card 15b3:1013 at 0000:3e:00.0 is set to InfiniBand",
        ],
    ),
    (
        "ibm-ac922",
        &[
            "ppc64le 32 x POWER9, altivec supported, 3450 MHz, 0 flags",
            "349768 MiB by meminfo",
        ],
    ),
    (
        "dell-r610",
        &[
            "x86_64 24 x Intel(R) Xeon(R) CPU           L5640  @ 2.27GHz, 2270 MHz, 77 flags",
            "67584 MiB by ghw",
            "sda HDD 499558383616 /dev/disk/by-path/pci-0000:03:00.0-scsi-0:2:0:0",
            "sr0 ODD 1073741312 /dev/sr0",
            "0000:07:03.0 Matrox Electronics Systems Ltd. MGA G200eW WPCM450",
        ],
    ),
    (
        "ibm-z16",
        &[
            "IBM/S390 LPAR, serial unknown",
            "s390x 8 x 3931, 5200 MHz, 23 flags",
            "112640 MiB by ghw",
            "sda SSD 107374182400 /dev/sda",
            "sdb SSD 1099511627776 /dev/sdb",
            "sdc SSD 107374182400 /dev/sdc",
            "sdd SSD 1099511627776 /dev/sdd",
            "sde SSD 1099511627776 /dev/sde",
            "sdf SSD 1099511627776 /dev/sdf",
            "sdg SSD 107374182400 /dev/sdg",
            "sdh SSD 107374182400 /dev/sdh",
            "sdi SSD 1099511627776 /dev/sdi",
            "sdj SSD 1099511627776 /dev/sdj",
            "sdk SSD 107374182400 /dev/sdk",
            "sdl SSD 107374182400 /dev/sdl",
            "sdm SSD 1099511627776 /dev/sdm",
            "sdn SSD 1099511627776 /dev/sdn",
            "sdo SSD 107374182400 /dev/sdo",
            "sdp SSD 107374182400 /dev/sdp",
        ],
    ),
    (
        "aws-graviton2",
        &[
            "aarch64 1 x Neoverse-N1, 0 MHz, 17 flags",
            "2048 MiB by ghw",
            concat!(
                "nvme0n1 SSD 8589934592 /dev/disk/by-path/pci-0000:00:04.0-nvme-1, ",
                "wwn nvme.1d0f-7079683468336c636d6f38366d757a6a32303538-",
                "416d617a6f6e20456c617374696320426c6f636b2053746f7265-00000001"
            ),
            NO_CLOCK,
        ],
    ),
    (
        "epyc-7451",
        &["x86_64 96 x AMD EPYC 7451 24-Core Processor, 2300 MHz, 111 flags"],
    ),
    ("arm-four-kinds", &["aarch64 8 x Cortex-X3, 3187.2 MHz, 37 flags"]),
    (
        "ibm-z13",
        &[
            "IBM/S390 LPAR, serial unknown",
            "s390x 8 x 2964, 5000 MHz, 13 flags",
        ],
    ),
    (
        "kingston-disks",
        &[
            "dm-0 LVM 33554432 /dev/dm-0, not eligible",
            concat!(
                "nvme0n1 SSD 240057409536 /dev/disk/by-path/pci-0000:01:00.0-nvme-1, ",
                "model KINGSTON SKC1000240G, serial 50026B7387F8EFE2, ",
                "wwn nvme.1987-35303032364237333837463845464532-4b494e4753544f4e20534b433130303032343047-00000001"
            ),
            concat!(
                "sda SSD 240057409536 /dev/disk/by-id/wwn-0x50026b7280b7e7a2, vendor ATA, ",
                "model KINGSTON_SH103S3, serial 50026B7280B7E7A2, wwn 0x50026b7280b7e7a2"
            ),
            "sdb HDD 80026361856 /dev/sdb, vendor ATA, model WDC_WD800JD-00MS, serial GA-WXZT3RO32016",
        ],
    ),
    (
        "supermicro-x10dal-i",
        &[
            "Supermicro Super Server, serial 0123456789",
            "1600 MHz",
            "16384 MiB by dmidecode",
        ],
    ),
    (
        "dell-14g",
        &[
            "Dell Inc. PowerEdge R777sd, serial XXXXXXX",
            "2200 MHz",
            "131072 MiB by dmidecode",
        ],
    ),
    (
        "dell-precision-3620",
        &[
            "Dell Inc. Precision Tower 3620, serial 8DKJVA7",
            "3300 MHz",
            "16384 MiB by dmidecode",
        ],
    ),
    (
        "lenovo-t430",
        &[
            "LENOVO 2347A49, serial YTRABXF",
            "2600 MHz",
            "8192 MiB by dmidecode",
        ],
    ),
    (
        "lenovo-t490",
        &[
            "LENOVO 20N2CTO1WW, serial CI0XHFXH",
            "1800 MHz",
            "40960 MiB by dmidecode",
        ],
    ),
    (
        "toshiba-l70",
        &[
            "TOSHIBA SATELLITE PRO L70-A, serial CG453924P",
            "2600 MHz",
            "16384 MiB by dmidecode",
        ],
    ),
    (
        "ampere-one",
        &["aarch64 1 x Ampere-1a, 0 MHz, 39 flags", NO_CLOCK],
    ),
    (
        "cavium-thunderx2",
        &["aarch64 1 x ThunderX2-99xx, 0 MHz, 11 flags", NO_CLOCK],
    ),
    ("fujitsu-a64fx", &["aarch64 1 x A64FX, 0 MHz, 14 flags", NO_CLOCK]),
    (
        "nvidia-grace",
        &["aarch64 1 x Neoverse-V2, 0 MHz, 44 flags", NO_CLOCK],
    ),
    (
        "nvidia-olympus",
        &["aarch64 1 x Olympus, 0 MHz, 61 flags", NO_CLOCK],
    ),
    (
        "ibm-power9",
        &["ppc64le 1 x POWER9, altivec supported, 3666 MHz, 0 flags"],
    ),
];

#[test]
fn each_machine_is_reported_as_it_is() {
    let mut wrong = String::new();
    for (name, expected) in MACHINES {
        let found = summary(name);
        if !found.lines().eq(expected.iter().copied()) {
            write!(wrong, "== {name}\n{found}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
