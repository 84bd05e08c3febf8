//! Reads a block device from sysfs, and lists those that count as disks.

use super::transfer;
use crate::gpt;
use crate::root::sysfs::Device;
use crate::root::{ProbeError, Root};

/// One entry of `/sys/block`.
#[derive(Debug, Clone)]
pub(crate) struct BlockDevice<'a> {
    root: &'a Root,
    name: String,
}

/// The disks: without hidden paths of NVMe multipath, loop and zram devices, and device-mapper devices other than multipath and LVM.
pub(crate) fn list(root: &Root) -> Result<Vec<BlockDevice<'_>>, ProbeError> {
    let names = root
        .list("/sys/block")
        .map_err(ProbeError::reading("/sys/block"))?;
    Ok(names
        .into_iter()
        .map(|name| BlockDevice { root, name })
        .filter(BlockDevice::is_listed)
        .collect())
}

impl<'a> BlockDevice<'a> {
    /// The device of this kernel name, which need not exist.
    pub(crate) fn named(root: &'a Root, name: &str) -> Self {
        Self {
            root,
            name: name.to_owned(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn root(&self) -> &'a Root {
        self.root
    }

    /// `None` if its sysfs folder cannot be read.
    pub(crate) fn device(&self) -> Option<Device<'a>> {
        Device::open(self.root, &format!("/sys/block/{}", self.name))
    }

    /// A file below `/sys/block/N`, trimmed.
    pub(crate) fn text(&self, file: &str) -> Result<String, ProbeError> {
        let path = format!("/sys/block/{}/{file}", self.name);
        self.root.text(&path).map_err(ProbeError::reading(path))
    }

    /// Bytes of a file below `/sys/block/N`; `None` when it is absent or empty.
    pub(crate) fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        let bytes = self.root.read(&format!("/sys/block/{}/{file}", self.name)).ok()?;
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Names in a folder below `/sys/block/N`.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        self.root
            .list(&format!("/sys/block/{}/{folder}", self.name))
            .unwrap_or_default()
    }

    /// `mpath-...`, `LVM-...`, `CRYPT-...`; `None` for another kind of device.
    pub(crate) fn dm_uuid(&self) -> Option<String> {
        self.text("dm/uuid").ok().filter(|_| self.name.starts_with("dm-"))
    }

    pub(crate) fn dm_name(&self) -> Option<String> {
        self.text("dm/name").ok().filter(|_| self.name.starts_with("dm-"))
    }

    /// SCSI address `host:channel:target:lun`.
    pub(crate) fn hctl(&self) -> Option<String> {
        self.list("device/scsi_device").into_iter().next()
    }

    pub(crate) fn partitions(&self) -> Vec<String> {
        let names = self.list(".");
        names
            .into_iter()
            .filter(|name| name.starts_with(&self.name) && self.text(&format!("{name}/partition")).is_ok())
            .collect()
    }

    pub(crate) fn partition_number(&self, partition: &str) -> Option<u32> {
        self.text(&format!("{partition}/partition")).ok()?.parse().ok()
    }

    /// True when `/dev/<name>` exists, or a capture does not record it.
    pub(crate) fn has_node(&self) -> bool {
        let node = format!("/dev/{}", self.name);
        self.root
            .probe(&format!("disk.{}.node", self.name), || {
                Ok(std::path::Path::new(&node).exists())
            })
            .unwrap_or(true)
    }

    /// True when the first sector ends in 55 AA: an MBR, also the protective one of a GPT.
    pub(crate) fn has_boot_sector(&self) -> bool {
        self.root
            .probe(&format!("disk.{}.boot_sector", self.name), || {
                let sector = transfer::read_at(&self.name, 0, 512)?;
                Ok(sector[510..] == [0x55, 0xaa])
            })
            .unwrap_or(false)
    }

    /// True if it returns SCSI's device identification page (the one of `sg_inq -p 0x83`; NVMe is
    /// translated).
    pub(crate) fn answers_identification(&self) -> bool {
        if self.name.starts_with("nvme") {
            let asked = self
                .root
                .probe(&format!("disk.{}.nvme_namespace", self.name), || {
                    transfer::nvme_namespace(&self.name)
                });
            return asked.is_ok_and(|namespace| namespace > 0);
        }
        self.vpd_page(0x83).is_some()
    }

    /// A page of vital product data: the kernel's copy, else from the device.
    pub(crate) fn vpd_page(&self, page: u8) -> Option<Vec<u8>> {
        self.bytes(&format!("device/vpd_pg{page:02x}")).or_else(|| {
            let key = format!("disk.{}.vpd_{page:02x}", self.name);
            self.asked_bytes(&key, || transfer::inquiry(&self.name, Some(page)))
        })
    }

    /// Standard INQUIRY data: the kernel's copy, else from the device.
    pub(crate) fn inquiry(&self) -> Option<Vec<u8>> {
        self.bytes("device/inquiry").or_else(|| {
            let key = format!("disk.{}.inquiry", self.name);
            self.asked_bytes(&key, || transfer::inquiry(&self.name, None))
        })
    }

    /// The 512 bytes of ATA IDENTIFY (PACKET) DEVICE.
    pub(crate) fn ata_identify(&self, packet: bool) -> Option<Vec<u8>> {
        let key = format!("disk.{}.identify", self.name);
        let asked = self.asked_bytes(&key, || transfer::ata_identify(&self.name, packet));
        // The kernel's own copy: page 89h has the IDENTIFY data behind 60 bytes.
        asked
            .or_else(|| {
                self.bytes("device/vpd_pg89")
                    .and_then(|page| page.get(60..572).map(<[u8]>::to_vec))
            })
            .filter(|bytes| bytes.len() == 512)
    }

    /// Names in its GUID partition table, by partition number.
    pub(crate) fn partition_labels(&self) -> Vec<(u32, String)> {
        self.root
            .probe(&format!("disk.{}.partition_labels", self.name), || {
                let block = self.text("queue/logical_block_size")?;
                let block = block
                    .parse()
                    .map_err(|_| ProbeError::value(format!("logical_block_size {block:?} is no number")))?;
                let table = gpt::table(block, |offset, length| {
                    transfer::read_at(&self.name, offset, length)
                })?;
                let partitions = table.map(|table| table.partitions).unwrap_or_default();
                let named = partitions
                    .into_iter()
                    .filter(|partition| !partition.name.is_empty());
                Ok(named
                    .map(|partition| (partition.number, partition.name))
                    .collect())
            })
            .unwrap_or_default()
    }

    pub(crate) fn is_boot_medium(&self) -> bool {
        self.root
            .probe(&format!("disk.{}.live_image", self.name), || {
                super::boot_medium::is_live_image(|offset, length| {
                    transfer::read_at(&self.name, offset, length)
                })
            })
            .unwrap_or(false)
    }

    pub(super) fn asked_bytes(
        &self,
        key: &str,
        ask: impl FnOnce() -> Result<Vec<u8>, ProbeError>,
    ) -> Option<Vec<u8>> {
        let text = self.root.probe(key, || ask().map(hex::encode)).ok()?;
        hex::decode(text).ok()
    }

    fn is_listed(&self) -> bool {
        if self.name.starts_with("loop") || self.name.starts_with("zram") {
            return false;
        }
        if self.text("hidden").is_ok_and(|text| text == "1") {
            return false;
        }
        if self.name.starts_with("dm-") {
            return self
                .dm_uuid()
                .is_some_and(|uuid| uuid.starts_with("mpath-") || uuid.starts_with("LVM-"));
        }
        true
    }
}
