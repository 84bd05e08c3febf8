//! Erases what makes a disk a node's: the places of keys and seeds first, then partition tables and signatures, so that an erasure that
//! loses power finds them again. docs/erasing.md has what goes and what stays.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use muster_api::steps::ErasureMethod;
use tracing::{info, warn};

use super::commands::{Commands, Kind};
use super::error::EraseError;
use super::full::Erased;
use super::keys::Swept;
use super::mark;
use super::methods::ata;
use super::progress::Progress;
use super::{discard, overwrite};
use crate::gpt::{self, Partition};
use crate::install::boot::partition::{self, FileSystem, SUPERBLOCKS};
use crate::install::disk::wipe::{self, Range};
use crate::install::image::buffer::{ALIGNMENT, Buffer};
use crate::root::ProbeError;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Partitions up to this size are cleared whole: those of boot loaders, of `/boot`, and of seeds.
pub const SMALL: u64 = 2 * GIB;
/// Bytes at the beginning of an encrypted partition that hold the keys. Source: LUKS2 on-disk format 1.1.2, §2: two headers of 4 MiB and
/// 128 MiB of key slots at most.
const LUKS: u64 = 144 * MIB;
const LUKS_MAGIC: &[u8] = b"LUKS\xba\xbe";
/// Beginning and end of a disk without a partition table, where an installation that was not completed wrote its image and its seed. Of a
/// large partition, where LVM, arrays and what lies upon them have their headers: one minute and a half on a disk with moving heads.
const FRONT: u64 = 8 * GIB;
const BACK: u64 = 64 * MIB;
const LIMITS: Limits = Limits {
    whole: 64 * GIB,
    front: FRONT,
    back: BACK,
};
/// Limit of the work in one file system: it may have to be repaired by its journal first.
const SWEEPING: Duration = Duration::from_secs(30 * 60);
/// Limit of reading a table.
const LOOKING: Duration = Duration::from_secs(60);
/// Longest partition table that is read.
const LONGEST: usize = 8 << 20;

/// Overwrites and removes the files with keys on a partition.
pub type Sweep<'a> = dyn Fn(&Partition, FileSystem) -> io::Result<Swept> + 'a;

/// Bytes of a partition whose files cannot be removed one by one.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Of the largest that is overwritten whole: ten minutes.
    whole: u64,
    /// Of the beginning and the end of a larger one that are overwritten.
    front: u64,
    back: u64,
}

/// The way to rid a partition of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    Whole,
    Files(FileSystem),
    /// Its encrypted content cannot be read without its header.
    Header,
    /// Its files are not known: it is cleared whole if that is possible in a short time, else its ends are.
    WholeOrEnds,
}

/// `start`: the first bytes of the partition.
pub fn treatment(size: u64, start: &[u8]) -> Treatment {
    if size <= SMALL {
        return Treatment::Whole;
    }
    if start.starts_with(LUKS_MAGIC) {
        return Treatment::Header;
    }
    partition::probe(start).map_or(Treatment::WholeOrEnds, |(kind, _)| Treatment::Files(kind))
}

/// Erases a disk with logical sectors of `sector` bytes. `known`: the partitions that the kernel knows.
///
/// # Errors
/// Fails if the disk cannot be read, or does not take the zeros. Places of keys that stay, since nothing but overwriting a large partition
/// would reach them, are no failure: the notes name them.
pub fn erase(
    disk: &mut dyn Commands,
    sector: u32,
    known: &[Range],
    sweep: &Sweep<'_>,
    progress: &Progress,
) -> Result<Erased, EraseError> {
    progress.method(ErasureMethod::Metadata);
    progress.expect(LOOKING);
    if disk.kind() == Kind::Ata {
        ata::recover(disk);
    }
    let size = disk.size();
    let partitions = partitions(disk, sector, known)?;
    let mut places = Vec::new();
    for partition in &partitions {
        progress.expect(LOOKING);
        let start = read(disk, partition.start, SUPERBLOCKS.min(to_usize(partition.size)));
        let start = start.map_err(|error| EraseError::of(&name(partition), error))?;
        places.push((partition, treatment(partition.size, &start)));
    }
    let ranges: Vec<Range> = partitions.iter().map(range_of).collect();
    let tables = tables(size, &ranges);
    let total: u64 = tables.iter().map(length).sum::<u64>()
        + places
            .iter()
            .map(|(partition, treatment)| cleared(partition, *treatment))
            .sum::<u64>();
    progress.total(total);
    let mut work = Work {
        disk,
        sweep,
        progress,
        limits: LIMITS,
        total,
        done: 0,
        notes: Vec::new(),
        samples: 0,
    };
    if ranges.is_empty() && size > FRONT + BACK {
        let stays =
            "the disk has no partition table: what lies between its first 8 GiB and its last 64 MiB stays";
        work.notes.push(stays.to_owned());
    }
    for (partition, treatment) in places {
        progress.go_on()?;
        info!(partition = name(partition), ?treatment, "erasing");
        work.treat(partition, treatment)?;
    }
    for range in tables {
        work.zeros(range)?;
    }
    Ok(Erased {
        samples: work.samples,
        notes: work.notes.join("; "),
    })
}

struct Work<'a> {
    disk: &'a mut dyn Commands,
    sweep: &'a Sweep<'a>,
    progress: &'a Progress,
    limits: Limits,
    /// Bytes to erase, and those that are erased.
    total: u64,
    done: u64,
    notes: Vec<String>,
    samples: u64,
}

impl Work<'_> {
    fn treat(&mut self, partition: &Partition, treatment: Treatment) -> Result<(), EraseError> {
        let range = range_of(partition);
        match treatment {
            Treatment::Whole => self.zeros(range),
            Treatment::Header => self.zeros(Range {
                start: range.start,
                end: range.end.min(range.start.saturating_add(LUKS)),
            }),
            Treatment::Files(kind) => {
                self.progress.expect(SWEEPING);
                match (self.sweep)(partition, kind) {
                    Ok(swept) => {
                        self.swept(partition, &swept);
                        Ok(())
                    }
                    Err(error) => {
                        self.set_total(self.total.saturating_add(partition.size));
                        self.whole_or_ends(partition, &error.to_string())
                    }
                }
            }
            Treatment::WholeOrEnds => self.whole_or_ends(partition, "no file system that this agent knows"),
        }
    }

    fn swept(&mut self, partition: &Partition, swept: &Swept) {
        let name = name(partition);
        info!(
            partition = name,
            files = swept.files,
            bytes = swept.bytes,
            "keys overwritten"
        );
        if !swept.left.is_empty() {
            self.notes.push(format!("{name}: {}", swept.left));
        }
        self.set_total(self.total.saturating_add(swept.bytes));
        self.done = self.done.saturating_add(swept.bytes);
        self.progress.done(self.done);
    }

    /// Discards a partition whose files cannot be removed one by one. If the disk does not do that, it is overwritten: one that is too
    /// large for that at its ends, and the notes state that the rest stays.
    fn whole_or_ends(&mut self, partition: &Partition, reason: &str) -> Result<(), EraseError> {
        let (range, name) = (range_of(partition), name(partition));
        let reason = format!("its files cannot be removed one by one ({reason})");
        warn!("{name}: {reason}");
        match discard::range(self.disk, range, self.done, self.progress) {
            Ok(samples) => {
                self.samples += samples;
                self.done += length(&range);
                self.notes
                    .push(format!("{name}: {reason}, and it was discarded whole"));
                return Ok(());
            }
            Err(EraseError::Stopped) => return Err(EraseError::Stopped),
            Err(EraseError::Failed(problem)) if partition.size > self.limits.whole => {
                return self.ends(partition, &format!("{problem}; {reason}"));
            }
            Err(EraseError::Failed(_)) => {}
        }
        self.zeros(range)?;
        self.notes
            .push(format!("{name}: {reason}, and it was overwritten whole"));
        Ok(())
    }

    /// Overwrites the ends of a partition that is too large to be overwritten whole.
    fn ends(&mut self, partition: &Partition, reason: &str) -> Result<(), EraseError> {
        let Limits { front, back, .. } = self.limits;
        let range = range_of(partition);
        let between = Range {
            start: range.start.saturating_add(front).min(range.end),
            end: range.end.saturating_sub(back).max(range.start),
        };
        let stays = length(&between);
        self.set_total(self.total.saturating_sub(stays));
        for end in [
            Range {
                end: between.start,
                ..range
            },
            Range {
                start: between.end,
                ..range
            },
        ] {
            self.zeros(end)?;
        }
        // The beginning of the notes is what is shown in a few words.
        self.notes.push(format!(
            "{}: {} GiB of it stay, and need the depth `full`; its ends were overwritten ({reason})",
            name(partition),
            stays / GIB
        ));
        Ok(())
    }

    fn set_total(&mut self, total: u64) {
        self.total = total;
        self.progress.total(total);
    }

    fn zeros(&mut self, range: Range) -> Result<(), EraseError> {
        overwrite::zeros(self.disk, range, self.done, self.progress)?;
        self.done += length(&range);
        let checked = mark::check_zeros(self.disk, range);
        self.samples += checked.map_err(|error| EraseError::of("reading back", error))?;
        Ok(())
    }
}

/// The places of tables and signatures on a disk with these partitions.
fn tables(size: u64, partitions: &[Range]) -> Vec<Range> {
    if partitions.is_empty() {
        let ends = [
            Range {
                start: 0,
                end: FRONT.min(size),
            },
            Range {
                start: size.saturating_sub(BACK) / ALIGNMENT as u64 * ALIGNMENT as u64,
                end: size,
            },
        ];
        return ends.to_vec();
    }
    wipe::ranges(size, partitions)
}

/// Bytes that are cleared for a partition, as far as they are known before.
fn cleared(partition: &Partition, treatment: Treatment) -> u64 {
    match treatment {
        Treatment::Whole | Treatment::WholeOrEnds => partition.size,
        Treatment::Header => partition.size.min(LUKS),
        Treatment::Files(_) => 0,
    }
}

/// The partitions that the kernel, the table and its backup know, in order; the disk as a whole if it has a file system and no table.
///
/// A place that cannot be read is an error: there may be a table in it, and keys where that leads to.
fn partitions(disk: &mut dyn Commands, sector: u32, known: &[Range]) -> Result<Vec<Partition>, EraseError> {
    let failed = |error: io::Error| EraseError::of("the partition table cannot be read", error);
    let size = disk.size();
    let mut found: BTreeMap<(u64, u64), Partition> = BTreeMap::new();
    let mut tables = in_table(disk, sector, 0).map_err(failed)?;
    let last = size.saturating_sub(sector.into());
    tables.extend(in_table(disk, sector, last).map_err(failed)?);
    tables.extend(known.iter().map(|range| plain(range, sector)));
    for mut partition in tables {
        partition.size = partition.size.min(size.saturating_sub(partition.start));
        if partition.size > 0 {
            let place = (partition.start, partition.size);
            found.entry(place).or_insert(partition);
        }
    }
    if found.is_empty() {
        let start = read(disk, 0, SUPERBLOCKS.min(to_usize(size))).map_err(failed)?;
        if start.starts_with(LUKS_MAGIC) || partition::probe(&start).is_some() {
            return Ok(vec![plain(&Range { start: 0, end: size }, sector)]);
        }
    }
    Ok(found.into_values().collect())
}

/// The partitions of the GUID partition table whose header is at the offset; 0 stands for the first table. None of a broken one.
fn in_table(disk: &mut dyn Commands, sector: u32, header: u64) -> io::Result<Vec<Partition>> {
    let (disk, sick) = (RefCell::new(disk), RefCell::new(None));
    let bytes = |at: u64, length: usize| {
        // The header of the first table is read from sector 1.
        let at = if header > 0 && at == u64::from(sector) {
            header
        } else {
            at
        };
        if length > LONGEST {
            return Err(ProbeError::value("a table of more bytes than any has"));
        }
        read(&mut **disk.borrow_mut(), at, length).map_err(|error| {
            let reason = ProbeError::value(error.to_string());
            // A table that leads beyond the disk is broken, and the disk is well.
            if error.kind() != io::ErrorKind::UnexpectedEof {
                *sick.borrow_mut() = Some(error);
            }
            reason
        })
    };
    let table = gpt::table(sector, bytes);
    if let Some(error) = sick.into_inner() {
        return Err(error);
    }
    Ok(table
        .unwrap_or_else(|error| {
            warn!("a partition table is left out: {error}");
            None
        })
        .map(|table| table.partitions)
        .unwrap_or_default())
}

/// Reads any bytes of the disk, which takes aligned reads only.
fn read(disk: &mut dyn Commands, at: u64, length: usize) -> io::Result<Vec<u8>> {
    let block = ALIGNMENT as u64;
    let end = at
        .checked_add(length as u64)
        .filter(|end| *end <= disk.size())
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    let from = at / block * block;
    let whole = end.next_multiple_of(block).min(disk.size()) - from;
    let mut buffer = Buffer::new(to_usize(whole));
    disk.read(from, buffer.bytes_mut())?;
    let skipped = to_usize(at - from);
    Ok(buffer.bytes()[skipped..skipped + length].to_vec())
}

fn plain(range: &Range, sector: u32) -> Partition {
    let size = length(range);
    Partition {
        number: 0,
        name: String::new(),
        kind: [0; 16],
        id: [0; 16],
        first_sector: range.start / u64::from(sector),
        sectors: size / u64::from(sector),
        start: range.start,
        size,
    }
}

fn name(partition: &Partition) -> String {
    let Partition { name, start, .. } = partition;
    if name.is_empty() {
        format!("the partition at byte {start}")
    } else {
        format!("the partition {name} at byte {start}")
    }
}

fn range_of(partition: &Partition) -> Range {
    Range {
        start: partition.start,
        end: partition.start.saturating_add(partition.size),
    }
}

fn length(range: &Range) -> u64 {
    range.end.saturating_sub(range.start)
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio_util::sync::CancellationToken;

    use super::super::played::{Discards, Played, own_password};
    use super::*;

    const SECTOR: u64 = 512;

    fn run(disk: &mut Played, known: &[Range], sweep: &Sweep<'_>) -> Result<Erased, EraseError> {
        let progress = Progress::new(String::new(), CancellationToken::new());
        progress.begin(disk.bytes.len() as u64);
        erase(disk, 512, known, sweep, &progress)
    }

    fn no_files(_: &Partition, _: FileSystem) -> io::Result<Swept> {
        panic!("there is no large file system")
    }

    /// A disk with the table at its beginning, and the same as backup in its last sectors.
    fn with_table(size: u64, partitions: &[(&str, [u8; 16], u64, u64)]) -> Played {
        let mut disk = Played::plain(size);
        let head = gpt::tests::head(512, partitions);
        disk.bytes[..head.len()].copy_from_slice(&head);
        let last = to_usize(size - SECTOR);
        let entries = last - 128 * 128;
        disk.bytes.copy_within(1024..1024 + 128 * 128, entries);
        disk.bytes.copy_within(512..1024, last);
        let place = (entries as u64 / SECTOR).to_le_bytes();
        disk.bytes[last + 72..last + 80].copy_from_slice(&place);
        disk
    }

    fn is_zero(disk: &Played, start: u64, end: u64) -> bool {
        disk.bytes[to_usize(start)..to_usize(end)]
            .iter()
            .all(|byte| *byte == 0)
    }

    #[test]
    fn small_partitions_and_both_tables_go_and_what_lies_between_stays() {
        let mut disk = with_table(
            64 * MIB,
            &[
                ("EFI-SYSTEM", gpt::EFI_SYSTEM, 2048, 4095),
                ("boot", [7; 16], 4096, 8191),
            ],
        );
        let erased = run(&mut disk, &[], &no_files).unwrap();
        assert!(is_zero(&disk, 0, 8 * MIB), "the tables, and both partitions");
        assert!(is_zero(&disk, 63 * MIB, 64 * MIB), "the backup");
        assert!(!is_zero(&disk, 16 * MIB, 17 * MIB), "in no partition");
        assert!(erased.samples > 4 && erased.notes.is_empty());
    }

    #[test]
    fn partitions_are_found_by_the_backup_after_a_power_cut_and_by_the_kernel() {
        let seed = (
            "CIDATA",
            gpt::BASIC_DATA,
            32 * MIB / SECTOR,
            36 * MIB / SECTOR - 1,
        );
        for known in [false, true] {
            let mut disk = with_table(64 * MIB, &[seed]);
            disk.bytes[..to_usize(MIB)].fill(0);
            let kernels = [Range {
                start: 32 * MIB,
                end: 36 * MIB,
            }];
            if known {
                disk.bytes[to_usize(63 * MIB)..].fill(0);
            }
            let kernels = if known { &kernels[..] } else { &[] };
            run(&mut disk, kernels, &no_files).unwrap();
            assert!(is_zero(&disk, 32 * MIB, 36 * MIB), "{known}");
            assert!(!is_zero(&disk, 40 * MIB, 41 * MIB), "{known}");
        }
    }

    #[test]
    fn power_that_is_lost_at_any_command_leaves_no_seed_after_the_next_start() {
        let seed = (
            "CIDATA",
            gpt::BASIC_DATA,
            12 * MIB / SECTOR,
            13 * MIB / SECTOR - 1,
        );
        let mut cut_in = 0;
        loop {
            let mut disk = with_table(24 * MIB, &[seed]);
            disk.cut_in = Some(cut_in);
            let was_cut = run(&mut disk, &[], &no_files).is_err();
            disk.power_on();
            run(&mut disk, &[], &no_files).unwrap();
            assert!(is_zero(&disk, 12 * MIB, 13 * MIB), "{cut_in}");
            if !was_cut {
                break;
            }
            cut_in += 1;
        }
        assert!(cut_in > 5, "{cut_in}");
    }

    #[test]
    fn a_disk_without_a_table_is_cleared_where_an_installation_begins_and_ends() {
        let mut disk = Played::plain(80 * MIB);
        disk.bytes[..8192].fill(0);
        run(&mut disk, &[], &no_files).unwrap();
        assert!(disk.is_zero(), "it is smaller than what is cleared");
        assert_eq!(
            tables(100 * GIB, &[]),
            [
                Range {
                    start: 0,
                    end: 8 * GIB
                },
                Range {
                    start: 100 * GIB - 64 * MIB,
                    end: 100 * GIB
                }
            ]
        );
    }

    #[test]
    fn a_partition_is_treated_by_size_and_signature() {
        let mut ext4 = vec![0; SUPERBLOCKS];
        ext4[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xef]);
        let large = 3 * GIB;
        assert_eq!(treatment(SMALL, &ext4), Treatment::Whole);
        assert_eq!(treatment(large, &ext4), Treatment::Files(FileSystem::Ext4));
        assert_eq!(treatment(large, b"LUKS\xba\xbe\0\x02"), Treatment::Header);
        assert_eq!(treatment(large, &[0; 8192]), Treatment::WholeOrEnds);
    }

    #[test]
    fn a_table_that_cannot_be_read_is_no_disk_without_one() {
        let mut disk = with_table(4 * MIB, &[]);
        disk.ata.locked = true;
        let text = run(&mut disk, &[], &no_files).unwrap_err().to_string();
        assert!(text.contains("the partition table cannot be read"), "{text}");
    }

    /// Partitions of real sizes do not fit into memory, so their parts are tried.
    #[test]
    fn a_file_system_that_cannot_be_mounted_is_discarded_or_overwritten_and_a_large_one_at_its_ends() {
        let mounts = Cell::new(0);
        let unmountable = |_: &Partition, _: FileSystem| -> io::Result<Swept> {
            mounts.set(mounts.get() + 1);
            Err(io::Error::other("no such file system"))
        };
        let range = Range {
            start: MIB,
            end: 3 * MIB,
        };
        let partition = plain(&range, 512);
        let (zeros, keeps, refused) = (Discards::Zeros, Discards::Keeps, Discards::Refused);
        for (discards, whole, word) in [
            (zeros, MIB, "discarded whole"),
            (keeps, 2 * MIB, "overwritten whole"),
            (refused, MIB, "stay, and need the depth `full`"),
        ] {
            let progress = Progress::new(String::new(), CancellationToken::new());
            progress.begin(4 * MIB);
            progress.total(0);
            let mut disk = Played::plain(4 * MIB);
            disk.discards = discards;
            let mut work = Work {
                disk: &mut disk,
                sweep: &unmountable,
                progress: &progress,
                limits: Limits {
                    whole,
                    front: MIB / 2,
                    back: MIB / 4,
                },
                total: 0,
                done: 0,
                notes: Vec::new(),
                samples: 0,
            };
            work.treat(&partition, Treatment::Files(FileSystem::Xfs)).unwrap();
            let (notes, total, done) = (work.notes.join("; "), work.total, work.done);
            assert!(
                notes.contains(word) && notes.contains("no such file system"),
                "{notes}"
            );
            assert!(!is_zero(&disk, 0, MIB) && !is_zero(&disk, 3 * MIB, 4 * MIB));
            let left_at = MIB + MIB / 2;
            let erased = if discards == refused {
                assert!(is_zero(&disk, MIB, left_at) && is_zero(&disk, 3 * MIB - MIB / 4, 3 * MIB));
                assert!(!is_zero(&disk, left_at, left_at + 4096));
                MIB / 2 + MIB / 4
            } else {
                assert!(is_zero(&disk, MIB, 3 * MIB));
                2 * MIB
            };
            assert_eq!((total, done), (erased, erased), "{word}");
            let (shown, erased) = (progress.shown(), i64::try_from(erased).unwrap());
            assert_eq!((shown.bytes_done, shown.bytes_total), (erased, erased), "{word}");
        }
        assert_eq!(mounts.get(), 3);
    }

    #[test]
    fn keys_that_went_count_and_what_may_be_left_of_earlier_ones_is_told() {
        let progress = Progress::new(String::new(), CancellationToken::new());
        progress.begin(MIB);
        let mut disk = Played::plain(MIB);
        let sweep = |_: &Partition, _: FileSystem| -> io::Result<Swept> {
            Ok(Swept {
                files: 2,
                bytes: 700,
                left: "free space".into(),
            })
        };
        let mut work = Work {
            disk: &mut disk,
            sweep: &sweep,
            progress: &progress,
            limits: LIMITS,
            total: 300,
            done: 0,
            notes: Vec::new(),
            samples: 0,
        };
        let partition = plain(&Range { start: 0, end: MIB }, 512);
        work.treat(&partition, Treatment::Files(FileSystem::Ext4))
            .unwrap();
        assert_eq!((work.total, work.done), (1000, 700));
        assert_eq!(work.notes, ["the partition at byte 0: free space"]);
        assert_eq!(progress.shown().bytes_done, 700);
    }

    #[test]
    fn the_password_of_a_full_erasure_that_lost_power_is_taken_off_first() {
        let mut disk = Played::ata(MIB);
        disk.ata.password = Some(own_password());
        disk.power_on();
        run(&mut disk, &[], &no_files).unwrap();
        assert!(disk.ata.password.is_none() && disk.is_zero());
    }
}
