//! The erasures of this machine's disks.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use muster_api::steps::{DiskToErase, EraseDisksRequest, ErasureDepth};

use super::commands::Commands;
use super::device::Device;
use super::erasures::Task;
use super::error::EraseError;
use super::full::{self, Erased};
use super::keys;
use super::matching::{self, Found};
use super::metadata;
use super::progress::Progress;
use crate::gpt::Partition;
use crate::install::boot::partition::FileSystem;
use crate::install::disk::choose::{self, Chosen, Wishes};
use crate::install::disk::teardown;
use crate::install::disk::wipe::{self, Range};
use crate::inventory;
use crate::root::Root;

/// Limit of taking apart what is built upon a disk.
const CLAIMING: Duration = Duration::from_secs(5 * 60);
/// Bytes of a sector of a regular file.
const SECTOR: u32 = 512;

/// A task for each disk of the request, in its order; for one that must not be touched, the reason.
pub fn of_machine(request: &EraseDisksRequest) -> Vec<Result<Task, String>> {
    let root = Root::live();
    let listed = inventory::listed_disks(&root);
    let mut taken = BTreeSet::new();
    let task = |wanted: &DiskToErase| -> Result<Task, String> {
        let found = matching::find(&root, &listed, wanted)?;
        if !taken.insert(found.disk.name.clone()) {
            return Err(format!(
                "/dev/{} is another disk of the request already",
                found.disk.name
            ));
        }
        let (depth, overwrite) = (request.depth, request.overwrite);
        let task: Task = Box::new(move |progress: &Progress| erase_disk(&found, depth, overwrite, progress));
        Ok(task)
    };
    request.disks.iter().map(task).collect()
}

fn erase_disk(
    found: &Found,
    depth: ErasureDepth,
    overwrite: bool,
    progress: &Progress,
) -> Result<Erased, EraseError> {
    let Found { disk, twins } = found;
    progress.begin(disk.size);
    progress.expect(CLAIMING);
    let root = Root::live();
    let file = teardown::claim(&root, disk, twins).map_err(|error| EraseError::Failed(error.to_string()))?;
    let known = wipe::partitions(&root, &disk.name);
    let mut device = Device::of_disk(&root, disk, file);
    let order = Order {
        node: &disk.node(),
        sector: disk.sector,
        known: &known,
        depth,
        overwrite,
    };
    let erased = order.carry_out(&mut device, progress);
    teardown::forget_partitions(device.file());
    erased
}

/// Erases a disk by any of its names, or a regular file as if it were a disk.
///
/// # Errors
/// Fails if it is no disk, is in use, or is not erased.
pub fn by_name(
    name: &str,
    depth: ErasureDepth,
    overwrite: bool,
    progress: &Progress,
) -> Result<Erased, EraseError> {
    let path = Path::new(name);
    if path.is_file() {
        return erase_file(path, depth, overwrite, progress);
    }
    let root = Root::live();
    let wishes = Wishes {
        boot_device: name.to_owned(),
        ..Wishes::default()
    };
    let Chosen { disk, twins, .. } = choose::choose(&root, &inventory::listed_disks(&root), &wishes)
        .map_err(|error| EraseError::Failed(error.to_string()))?;
    erase_disk(&Found { disk, twins }, depth, overwrite, progress)
}

fn erase_file(
    path: &Path,
    depth: ErasureDepth,
    overwrite: bool,
    progress: &Progress,
) -> Result<Erased, EraseError> {
    let place = path.display().to_string();
    let open = || -> std::io::Result<File> { OpenOptions::new().read(true).write(true).open(path) };
    let device = open().and_then(Device::of_file);
    let mut device = device.map_err(|error| EraseError::of(&place, error))?;
    progress.begin(device.size());
    let order = Order {
        node: &place,
        sector: SECTOR,
        known: &[],
        depth,
        overwrite,
    };
    order.carry_out(&mut device, progress)
}

/// The work on an open disk.
struct Order<'a> {
    node: &'a str,
    sector: u32,
    known: &'a [Range],
    depth: ErasureDepth,
    overwrite: bool,
}

impl Order<'_> {
    fn carry_out(&self, disk: &mut dyn Commands, progress: &Progress) -> Result<Erased, EraseError> {
        match self.depth {
            ErasureDepth::Full => full::erase(disk, self.overwrite, progress),
            ErasureDepth::Metadata => {
                let sweep =
                    |partition: &Partition, kind: FileSystem| keys::on_partition(self.node, partition, kind);
                metadata::erase(disk, self.sector, self.known, &sweep, progress)
            }
        }
    }
}
