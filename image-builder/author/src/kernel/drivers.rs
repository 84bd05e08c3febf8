//! Lists the drivers of the image: every wired network card, every disk, and devices for a console and an inventory.
//!
//! Paths are relative to `kernel/` in the kernel package. Dependencies of these modules are added automatically. To add a driver, add its
//! path (or its folder, with a trailing slash) here.

/// Folders (with trailing slash) and modules (without `.ko`).
pub const CARRIED: &[&str] = &[
    // Network cards and what a link may need.
    "drivers/net/ethernet/",
    "drivers/net/bonding/",
    "drivers/net/hyperv/",
    "drivers/net/mdio/",
    "drivers/net/mdio",
    "drivers/net/net_failover",
    "drivers/net/pcs/",
    "drivers/net/phy/",
    "drivers/net/team/",
    "drivers/net/virtio_net",
    "drivers/net/vmxnet3/",
    "drivers/net/xen-netfront",
    "net/8021q/",
    "net/bridge/bridge",
    "net/packet/",
    // USB network adapters, and those that management controllers present to their host.
    "drivers/net/usb/aqc111",
    "drivers/net/usb/asix",
    "drivers/net/usb/ax88179_178a",
    "drivers/net/usb/cdc_eem",
    "drivers/net/usb/cdc_ether",
    "drivers/net/usb/cdc_ncm",
    "drivers/net/usb/cdc_subset",
    "drivers/net/usb/lan78xx",
    "drivers/net/usb/r8152",
    "drivers/net/usb/rndis_host",
    "drivers/net/usb/smsc75xx",
    "drivers/net/usb/smsc95xx",
    "drivers/net/usb/usbnet",
    // Disks and their controllers.
    "drivers/ata/",
    "drivers/block/loop",
    "drivers/block/virtio_blk",
    "drivers/block/xen-blkfront",
    "drivers/cdrom/",
    "drivers/md/",
    "drivers/message/",
    "drivers/mmc/",
    "drivers/nvme/host/",
    "drivers/scsi/",
    "drivers/usb/storage/",
    // An ISO booted by the firmware over HTTP is a memory disk described by ACPI.
    "drivers/acpi/nfit/",
    "drivers/nvdimm/",
    // File systems: the boot medium, the partitions that an installation writes to, and those with keys that an erasure removes.
    "fs/efivarfs/",
    "fs/ext4/",
    "fs/fat/",
    "fs/isofs/",
    "fs/nls/nls_ascii",
    "fs/nls/nls_cp437",
    "fs/nls/nls_iso8859-1",
    "fs/nls/nls_utf8",
    "fs/udf/",
    "fs/xfs/",
    // Checksums that file systems and drivers request by algorithm, not by name.
    "arch/x86/crypto/crc32-pclmul",
    "arch/x86/crypto/crc32c-intel",
    "arch/x86/crypto/crct10dif-pclmul",
    "crypto/crc32_generic",
    "crypto/crc32c_generic",
    "crypto/crct10dif_generic",
    // Buses of virtual machines, and PCI bridges that hide disks.
    "drivers/hv/",
    "drivers/pci/controller/",
    "drivers/virtio/",
    "drivers/xen/",
    // USB hosts and keyboards, for the console.
    "drivers/hid/hid",
    "drivers/hid/hid-generic",
    "drivers/hid/hid-hyperv",
    "drivers/hid/usbhid/usbhid",
    "drivers/input/evdev",
    "drivers/input/serio/",
    "drivers/usb/host/",
    // The power button: of ACPI, and of ARM servers that describe it by a device tree. Debian's kernel for ARM has the rest built in.
    "drivers/acpi/button",
    "drivers/input/keyboard/gpio_keys",
    // What the inventory reads: BMC, TPM, iSCSI boot, firmware tables; and entropy.
    "drivers/char/hw_random/",
    "drivers/char/ipmi/",
    "drivers/char/tpm/",
    "drivers/firmware/",
    "drivers/char/virtio_console",
    // What the health of a machine is read from: temperatures of processors, errors of memory. The sensor of NVMe disks is in their driver.
    "drivers/edac/amd64_edac",
    "drivers/edac/i10nm_edac",
    "drivers/edac/sb_edac",
    "drivers/edac/skx_edac",
    "drivers/hwmon/coretemp",
    "drivers/hwmon/k10temp",
    // Watchdogs of chipsets, and what makes that of Intel's appear. Not that of BMCs: it outlives a restart and would strike
    // while the firmware or an installed system starts.
    "drivers/i2c/busses/i2c-i801",
    "drivers/mfd/lpc_ich",
    "drivers/watchdog/hpwdt",
    "drivers/watchdog/i6300esb",
    "drivers/watchdog/iTCO_wdt",
    "drivers/watchdog/sp5100_tco",
    "drivers/watchdog/wdat_wdt",
];

/// Parts of [`CARRIED`] that are left out, with the reason.
pub const LEFT_OUT: &[&str] = &[
    // The host's side of Xen.
    "drivers/xen/xen-pciback/",
    "drivers/xen/xen-scsiback",
    // Balloons would take the memory that was to be counted.
    "drivers/hv/hv_balloon",
    "drivers/virtio/virtio_balloon",
    "drivers/virtio/virtio_dma_buf",
    "drivers/virtio/virtio_vdpa",
    "drivers/xen/xen-acpi-processor",
    "drivers/xen/xen-evtchn",
    "drivers/xen/xen-front-pgdir-shbuf",
    "drivers/xen/xen-gntalloc",
    "drivers/xen/xen-gntdev",
    // Cards that have not been sold for ten years, large by their firmware or themselves; `--driver` adds them again.
    "drivers/net/ethernet/brocade/",
    "drivers/net/ethernet/cavium/liquidio/",
    "drivers/net/ethernet/myricom/",
    "drivers/net/ethernet/qlogic/netxen/",
    "drivers/net/ethernet/qlogic/qlcnic/",
    "drivers/net/ethernet/sfc/falcon/",
    "drivers/scsi/advansys",
    "drivers/scsi/aic7xxx/",
    "drivers/scsi/bfa/",
    "drivers/scsi/qla4xxx/",
    "drivers/scsi/qla1280",
    // Nothing in the image would load these: programs or users do.
    "drivers/char/ipmi/ipmi_poweroff",
    "drivers/char/ipmi/ipmi_watchdog",
    "drivers/char/tpm/tpm_atmel",
    "drivers/char/tpm/tpm_nsc",
    "drivers/char/tpm/tpm_vtpm_proxy",
    "drivers/firmware/edd",
    "drivers/firmware/efi/capsule-loader",
    "drivers/firmware/efi/efibc",
    "drivers/input/serio/ct82c710",
    "drivers/input/serio/parkbd",
    "drivers/md/dm-delay",
    "drivers/md/dm-era",
    "drivers/md/dm-flakey",
    "drivers/md/dm-integrity",
    "drivers/md/dm-log-userspace",
    "drivers/md/dm-log-writes",
    "drivers/md/dm-multipath",
    "drivers/md/dm-queue-length",
    "drivers/md/dm-round-robin",
    "drivers/md/dm-service-time",
    "drivers/md/dm-switch",
    "drivers/md/dm-vdo/",
    "drivers/md/dm-verity",
    "drivers/md/dm-writecache",
    "drivers/md/dm-zero",
    "drivers/md/dm-zoned",
    "drivers/message/fusion/mptctl",
    "drivers/message/fusion/mptlan",
    "drivers/mmc/host/cb710-mmc",
    "drivers/mmc/host/tifm_sd",
    "drivers/net/ethernet/broadcom/cnic",
    "drivers/net/mdio/acpi_mdio",
    "drivers/net/mdio/fwnode_mdio",
    "drivers/net/phy/bcm87xx",
    "drivers/scsi/bnx2fc/",
    "drivers/scsi/bnx2i/",
    "drivers/scsi/cxgbi/",
    "drivers/scsi/fcoe/fcoe",
    "drivers/net/ethernet/chelsio/libcxgb/",
    "drivers/scsi/iscsi_tcp",
    "drivers/scsi/libiscsi_tcp",
    "drivers/scsi/qlogicfas408",
    "drivers/scsi/scsi_transport_srp",
    // Caches and clusters of disks are for the installed system; nvme-rdma brings all of InfiniBand.
    "drivers/md/bcache/",
    "drivers/md/md-cluster",
    "drivers/nvme/host/nvme-rdma",
    // Firmware of audio chips and of other machines.
    "drivers/firmware/cirrus/",
    "drivers/firmware/google/",
    // A role that a machine under installation does not play: SCSI target.
    "drivers/scsi/qla2xxx/tcm_qla2xxx",
    // Cards of laptops' PCMCIA slots.
    "drivers/net/ethernet/8390/axnet_cs",
    "drivers/net/ethernet/8390/pcnet_cs",
    "drivers/scsi/pcmcia/",
    // Test devices.
    "drivers/scsi/scsi_debug",
];

/// Picks of [`CARRIED`] and [`LEFT_OUT`] that name none of the modules at `paths`: built into this kernel,
/// renamed, or gone.
#[must_use]
pub fn unknown<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    CARRIED
        .iter()
        .chain(LEFT_OUT)
        .filter(|pick| !paths.clone().any(|path| names(&[pick], path)))
        .map(|pick| (*pick).to_owned())
        .collect()
}

/// True for the modules of the image; the user may name more than the lists do.
#[must_use]
pub fn are_carried(path: &str, more: &[String]) -> bool {
    let asked: Vec<&str> = more.iter().map(String::as_str).collect();
    names(&asked, path) || names(CARRIED, path) && !names(LEFT_OUT, path)
}

/// True when a list names the module at `path` (`kernel/drivers/ata/ahci.ko` without `kernel/` and `.ko`).
#[must_use]
pub fn names(list: &[&str], path: &str) -> bool {
    list.iter().any(|pick| {
        if pick.ends_with('/') {
            path.starts_with(pick)
        } else {
            path == *pick
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_what_is_below_it_and_a_module_only_itself() {
        assert!(names(CARRIED, "drivers/net/ethernet/intel/igb/igb"));
        assert!(names(CARRIED, "drivers/net/virtio_net"));
        assert!(!names(CARRIED, "drivers/net/wireless/intel/iwlwifi/iwlwifi"));
        assert!(!names(&["drivers/hid/hid"], "drivers/hid/hid-sony"));
    }

    #[test]
    fn what_was_left_out_comes_back_by_name() {
        let old = "drivers/scsi/bfa/bfa";
        assert!(!are_carried(old, &[]));
        assert!(are_carried(old, &["drivers/scsi/bfa/".to_owned()]));
        assert!(are_carried("sound/soundcore", &["sound/soundcore".to_owned()]));
    }

    #[test]
    fn a_pick_that_names_no_module_is_told() {
        let unknown = unknown(["drivers/ata/ahci"].into_iter());
        assert!(!unknown.contains(&"drivers/ata/".to_owned()));
        assert!(unknown.contains(&"drivers/md/".to_owned()));
    }

    #[test]
    fn nothing_is_left_out_that_was_not_carried() {
        for pick in LEFT_OUT {
            let path = pick.trim_end_matches('/');
            assert!(
                names(CARRIED, path) || names(CARRIED, &format!("{path}/")),
                "{pick}"
            );
        }
    }
}
