//! Lists the drivers of the image: every wired network card, every disk, and what a console and an inventory
//! need.
//!
//! Paths are those below `kernel/` in the kernel package. What these modules depend on comes by itself. To
//! add a driver, add its path (or its folder, with a trailing slash) here.

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
    // USB network adapters, and the ones that management controllers show to their host.
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
    // File systems: the boot medium, and the partitions that an installation writes to.
    "fs/efivarfs/",
    "fs/ext4/",
    "fs/fat/",
    "fs/isofs/",
    "fs/nls/nls_ascii",
    "fs/nls/nls_cp437",
    "fs/nls/nls_iso8859-1",
    "fs/nls/nls_utf8",
    "fs/udf/",
    // Checksums that file systems and drivers ask for by algorithm, not by name.
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
    // What the inventory reads: BMC, TPM, iSCSI boot, firmware tables; and entropy.
    "drivers/char/hw_random/",
    "drivers/char/ipmi/",
    "drivers/char/tpm/",
    "drivers/firmware/",
    "drivers/char/virtio_console",
];

/// Parts of [`CARRIED`] that stay away, with the reason.
pub const LEFT_OUT: &[&str] = &[
    // The host's side of Xen.
    "drivers/xen/xen-pciback/",
    "drivers/xen/xen-scsiback",
    // Balloons would take the memory that was to be counted.
    "drivers/hv/hv_balloon",
    "drivers/virtio/virtio_balloon",
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
