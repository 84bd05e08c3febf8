//! Sends an erasure's commands to a device, or to a regular file in its place.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::time::{Duration, Instant};

use nix::fcntl::{FallocateFlags, fallocate};

use super::commands::{Ata, Commands, Data, Kind, NvmeAdmin, Refusal};
use crate::install::disk::device::Disk;
use crate::passthrough::{self, ATA_PASS_THROUGH_16, ScsiAnswer, checked};
use crate::root::Root;

/// `<linux/fs.h>`: `_IO(0x12, 119)`
const BLKDISCARD: libc::c_ulong = 0x1277;
/// `DID_TIME_OUT` of the kernel's `include/scsi/scsi_status.h`.
const HOST_TIMEOUT: u16 = 3;
/// SCSI status.
const CHECK_CONDITION: u8 = 2;
/// Sense key, code and qualifier with which a disk returns the registers of a good ATA command. Source: SAT-3, §12.2.2.6.
const REGISTERS: (u8, u8, u8) = (1, 0x00, 0x1d);

/// An open disk.
#[derive(Debug)]
pub struct Device {
    file: File,
    size: u64,
    kind: Kind,
    opened: Instant,
}

impl Device {
    /// The disk, which `file` has claimed.
    pub fn of_disk(root: &Root, disk: &Disk, file: File) -> Self {
        let kind = kind(root, &disk.name, &file);
        Self {
            file,
            size: disk.size,
            kind,
            opened: Instant::now(),
        }
    }

    /// A regular file, or a device that takes no commands of its own.
    ///
    /// # Errors
    /// Fails if its size cannot be read.
    pub fn of_file(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self {
            file,
            size,
            kind: Kind::Plain,
            opened: Instant::now(),
        })
    }

    pub fn file(&self) -> &File {
        &self.file
    }
}

/// A SATA disk is known by the vendor that the kernel gives it. Bridges of USB pass some commands on and lose others: disks behind them
/// get none.
fn kind(root: &Root, name: &str, file: &File) -> Kind {
    let place = root
        .resolve(&format!("/sys/class/block/{name}"))
        .unwrap_or_default();
    let vendor = root.text(&format!("/sys/class/block/{name}/device/vendor"));
    if name.starts_with("nvme") {
        return passthrough::nvme_namespace(file).map_or(Kind::Plain, Kind::Nvme);
    }
    if name.starts_with("sd") && !place.contains("/usb") && vendor.is_ok_and(|vendor| vendor == "ATA") {
        return Kind::Ata;
    }
    Kind::Plain
}

impl Commands for Device {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, at: u64, to: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(to, at)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn discard(&mut self, at: u64, length: u64) -> io::Result<()> {
        if self.file.metadata()?.file_type().is_block_device() {
            return block_discard(&self.file, at, length);
        }
        let (at, length) = (
            i64::try_from(at).map_err(io::Error::other)?,
            i64::try_from(length).map_err(io::Error::other)?,
        );
        let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(&self.file, hole, at, length).map_err(io::Error::from)
    }

    fn nvme(&mut self, command: &NvmeAdmin, data: &mut [u8]) -> Result<(), Refusal> {
        match passthrough::nvme_admin(&self.file, command, data) {
            Ok(0) => Ok(()),
            Ok(status) => Err(Refusal::Nvme(status)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(Refusal::Deadline(command.limit.as_secs()))
            }
            Err(error) => Err(Refusal::Failed(error)),
        }
    }

    fn ata(&mut self, command: &Ata, data: Data<'_>) -> Result<(), Refusal> {
        let answer = passthrough::scsi(&self.file, &frame(command.command, &data), data, command.limit)?;
        outcome(&answer, command.limit)
    }

    fn elapsed(&self) -> Duration {
        self.opened.elapsed()
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The ATA command in one of SCSI. Source: SAT-3, §12.2.2: protocol, transfer direction, and the length in blocks by the sector count.
fn frame(command: u8, data: &Data<'_>) -> [u8; 16] {
    let (protocol, transfer, blocks) = match data {
        Data::Nothing => (3, 0x00, 0),
        Data::In(_) => (4, 0x0e, 1),
        Data::Out(_) => (5, 0x06, 1),
    };
    let mut bytes = [0_u8; 16];
    bytes[0] = ATA_PASS_THROUGH_16;
    bytes[1] = protocol << 1;
    bytes[2] = transfer;
    bytes[6] = blocks;
    bytes[14] = command;
    bytes
}

fn outcome(answer: &ScsiAnswer, limit: Duration) -> Result<(), Refusal> {
    match (answer.host_status, answer.status) {
        (0, 0) => return Ok(()),
        (HOST_TIMEOUT, _) => return Err(Refusal::Deadline(limit.as_secs())),
        (0, _) => {}
        (host_status, _) => return Err(Refusal::Host(host_status)),
    }
    let sense = &answer.sense;
    // Fixed or descriptor format. Source: SPC-4, §4.5.
    let (key, code, qualifier) = match sense[0] & 0x7f {
        0x72 | 0x73 => (sense[1] & 0x0f, sense[2], sense[3]),
        _ => (sense[2] & 0x0f, sense[12], sense[13]),
    };
    if answer.status == CHECK_CONDITION && (key, code, qualifier) == REGISTERS {
        return Ok(());
    }
    Err(Refusal::Sense {
        status: answer.status,
        key,
        code,
        qualifier,
    })
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn block_discard(file: &File, at: u64, length: u64) -> io::Result<()> {
    let range = [at, length];
    // SAFETY: the kernel reads two numbers of 64 bits, which outlive the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) };
    checked(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(7);

    fn answered(status: u8, host_status: u16, sense: &[u8]) -> Result<(), Refusal> {
        let mut answer = ScsiAnswer {
            status,
            host_status,
            sense: [0; 32],
        };
        answer.sense[..sense.len()].copy_from_slice(sense);
        outcome(&answer, LIMIT)
    }

    #[test]
    fn frames_have_protocol_direction_and_length() {
        let identify = frame(0xec, &Data::In(&mut [0; 512]));
        assert_eq!(
            identify,
            [0x85, 8, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0]
        );
        let prepare = frame(0xf3, &Data::Nothing);
        assert_eq!(prepare, [0x85, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf3, 0]);
        let erase = frame(0xf4, &Data::Out(&[0; 512]));
        assert_eq!(erase, [0x85, 10, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xf4, 0]);
    }

    #[test]
    fn a_refusal_is_told_from_registers_that_come_as_sense_data() {
        assert!(answered(0, 0, &[]).is_ok());
        assert!(answered(2, 0, &[0x72, 1, 0, 0x1d]).is_ok());
        let mut fixed = [0; 14];
        (fixed[0], fixed[2], fixed[12], fixed[13]) = (0x70, 1, 0, 0x1d);
        assert!(answered(2, 0, &fixed).is_ok());
        let aborted = answered(2, 0, &[0x72, 0x0b, 0, 0]).unwrap_err();
        assert_eq!(
            aborted.to_string(),
            "the disk refuses it (SCSI status 0x02, sense b/00/00)"
        );
        assert!(matches!(answered(0, 3, &[]), Err(Refusal::Deadline(7))));
        assert!(matches!(answered(0, 7, &[]), Err(Refusal::Host(7))));
    }

    #[test]
    fn a_hole_in_a_file_reads_as_zeros_and_its_neighbours_stay() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 12288], 0).unwrap();
        let mut device = Device::of_file(file).unwrap();
        assert_eq!((device.size(), device.kind()), (12288, Kind::Plain));
        device.discard(4096, 4096).unwrap();
        let mut bytes = [1; 12288];
        device.read(0, &mut bytes).unwrap();
        for (part, expected) in bytes.chunks(4096).zip([7, 0, 7]) {
            assert!(part.iter().all(|byte| *byte == expected));
        }
        assert!(device.read(8192, &mut bytes).is_err(), "beyond its end");
    }

    #[test]
    fn sata_disks_take_commands_of_ata_unless_a_bridge_of_usb_is_before_them() {
        let machine = |place: &str, vendor: &str| {
            crate::testing::Machine::new()
                .file(&format!("sys/devices/{place}/block/sda/device/vendor"), vendor)
                .link("sys/class/block/sda", &format!("/sys/devices/{place}/block/sda"))
        };
        let file = tempfile::tempfile().unwrap();
        for (place, vendor, expected) in [
            ("pci0/ata1/host0", "ATA     \n", Kind::Ata),
            ("pci0/host0", "SEAGATE \n", Kind::Plain),
            ("pci0/usb1/host0", "ATA     \n", Kind::Plain),
        ] {
            let machine = machine(place, vendor);
            assert_eq!(kind(&machine.root(), "sda", &file), expected, "{place} {vendor}");
        }
        let none = machine("pci0/ata1/host0", "ATA");
        assert_eq!(kind(&none.root(), "vda", &file), Kind::Plain);
        assert_eq!(kind(&none.root(), "nvme0n1", &file), Kind::Plain, "no answer");
    }
}
