//! Decides which disks are erased when a host has left a cluster, how long that may take, and the texts about it (docs/erasing.md).

use chrono::Duration;
use muster_api::host::HostFinding;
use muster_api::infra_env::{Cleaning as Settings, CleaningDepth};
use muster_api::inventory::Disk;
use muster_api::placeholder::is_placeholder;
use muster_api::steps::{
    DiskErasure, DiskToErase, EraseDisksRequest, ErasureDepth, ErasureMethod, ErasureState,
};
use muster_api::time::Timestamp;

use super::disks;
use super::facts::Deadlines;
use super::failures::NO_PARTS;
use super::findings::CANNOT_BE_ERASED;
use crate::record::{
    Cleaned, CleanedDisk, Cleaning, CleaningOutcome, CleaningStage, Host, MAX_MESSAGE, WrittenDisk,
};
use crate::text::{cut, one_line};

/// Most disks of one erasure: as many as agents take.
pub const MAX_DISKS: usize = 128;

/// Longest text of an agent that is kept, bytes.
pub const MAX_TEXT: usize = 300;

/// The same of what it reports about a disk: what was left of each partition is a part of the evidence.
pub const MAX_REPORT: usize = 800;

/// Longest time without progress of an erasure of metadata.
const METADATA_LIMIT: Duration = Duration::minutes(15);

/// The same of an erasure of all sectors, whatever the size of the disks: the largest ones erase themselves in a day and a half, and report
/// nothing meanwhile.
const FULL_LIMIT: Duration = Duration::hours(72);

/// Slowest disk that counts as one that works, bytes in a second.
const SLOWEST: i64 = 50_000_000;

/// Longest time of an erasure, whatever progress it reports.
const WHOLE_LIMIT: Duration = Duration::days(7);

/// The disk that the host's installation writes to; `None`: it is not known well enough to find it again.
pub fn target(host: &Host) -> Option<WrittenDisk> {
    let data = &host.data;
    let disks = host
        .inventory
        .as_ref()
        .map_or(&[][..], |inventory| inventory.disks.as_slice());
    let id = data.installation_disk_id.as_str();
    let found = disks::find(disks, id).or_else(|| disks::find(disks, &data.installation_disk_path));
    match found {
        Some(disk) => Some(written(disk)),
        // The name of the device alone may lead to another disk after a boot.
        None => id.starts_with("/dev/disk/by-id/").then(|| WrittenDisk {
            id: one_line(id, MAX_TEXT),
            ..WrittenDisk::default()
        }),
    }
}

/// The disk as it is recorded.
pub fn written(disk: &Disk) -> WrittenDisk {
    WrittenDisk {
        id: one_line(&disk.id, MAX_TEXT),
        name: one_line(&disk.name, MAX_TEXT),
        serial: one_line(&disk.serial, MAX_TEXT),
        wwn: one_line(&disk.wwn, MAX_TEXT),
        size_bytes: disk.size_bytes,
        is_written: false,
    }
}

/// True for the same disk, as far as can be seen: serial number, world-wide name and size, where one of the first two is known; else id and
/// size.
pub fn is_same(one: &WrittenDisk, other: &WrittenDisk) -> bool {
    let fits = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
    let sizes_fit = one.size_bytes == 0 || other.size_bytes == 0 || one.size_bytes == other.size_bytes;
    let identifies = |a: &str, b: &str| a == b && !is_placeholder(a);
    let is_known = identifies(&one.serial, &other.serial) || identifies(&one.wwn, &other.wwn);
    // A path may lead to another disk after a boot, so it is enough only for disks that have nothing else.
    let has_identity = |disk: &WrittenDisk| !is_placeholder(&disk.serial) || !is_placeholder(&disk.wwn);
    let id_is_enough = one.id.starts_with("/dev/disk/by-id/") || !has_identity(one) && !has_identity(other);
    sizes_fit
        && fits(&one.serial, &other.serial)
        && fits(&one.wwn, &other.wwn)
        && (is_known || id_is_enough && !one.id.is_empty() && one.id == other.id)
}

/// The disks of an erasure among those of the present inventory. Of a disk that is gone, the record is returned as it was written.
///
/// # Errors
/// If several disks may be the one that was written to, or there are too many, as a sentence.
pub fn chosen(host: &Host, settings: Settings) -> Result<Vec<CleanedDisk>, String> {
    let disks = host
        .inventory
        .as_ref()
        .map_or(&[][..], |inventory| inventory.disks.as_slice());
    if !settings.all_disks && !host.data.written_disks.iter().any(|disk| disk.is_written) {
        return Err(
            "it is not known which disks were installed to; erase them by hand, then skip it".to_owned(),
        );
    }
    let mut chosen = Vec::new();
    for ours in host.data.written_disks.iter().filter(|disk| disk.is_written) {
        let found = present(ours, disks)?;
        chosen.push(CleanedDisk {
            is_present: found.is_some(),
            disk: found.unwrap_or_else(|| ours.clone()),
            report: None,
        });
    }
    if settings.all_disks {
        let others = disks
            .iter()
            .filter(|disk| may_be_erased(host, disk, disks))
            .map(written);
        for other in others {
            if !chosen.iter().any(|known| is_same(&known.disk, &other)) {
                chosen.push(CleanedDisk {
                    disk: other,
                    is_present: true,
                    report: None,
                });
            }
        }
    }
    if chosen.len() > MAX_DISKS {
        return Err(format!(
            "{} disks are to be erased, and at most {MAX_DISKS} are at once; protect some (disks_skip_formatting), or set all_disks of its InfraEnv's cleaning to false",
            chosen.len()
        ));
    }
    Ok(chosen)
}

/// The disk of the inventory that `ours` is.
fn present(ours: &WrittenDisk, disks: &[Disk]) -> Result<Option<WrittenDisk>, String> {
    let fits: Vec<WrittenDisk> = disks
        .iter()
        .map(written)
        .filter(|disk| is_same(disk, ours))
        .collect();
    let by_id: Vec<&WrittenDisk> = fits.iter().filter(|disk| disk.id == ours.id).collect();
    let found = match (fits.as_slice(), by_id.as_slice()) {
        ([], _) => None,
        ([one], _) => Some(one),
        (_, [one]) => Some(*one),
        (several, _) => {
            return Err(format!(
                "{} disks look like {}, which an installation wrote to: it cannot be told which of them it is",
                several.len(),
                called(ours)
            ));
        }
    };
    Ok(found.map(|disk| WrittenDisk {
        is_written: true,
        ..disk.clone()
    }))
}

/// True for a disk that no installation wrote to and that is erased where all are to be.
fn may_be_erased(host: &Host, disk: &Disk, disks: &[Disk]) -> bool {
    !disk.removable
        && !disk.is_installation_media
        && !disk.by_path.contains("mmcblk")
        && !matches!(disk.drive_type.as_str(), "ODD" | "FDD")
        && !NO_PARTS.contains(&disk.drive_type.as_str())
        && !disks::is_protected(&disk.id, &host.data.skip_formatting_disks, disks)
}

/// The request to the agent; `None`: nothing is to be erased now.
pub fn request(cleaning: &Cleaning) -> Option<EraseDisksRequest> {
    if !matches!(cleaning.stage, CleaningStage::Erasing { .. }) {
        return None;
    }
    let depth = match cleaning.settings.depth {
        CleaningDepth::Metadata => ErasureDepth::Metadata,
        CleaningDepth::Full => ErasureDepth::Full,
        CleaningDepth::None => return None,
    };
    let disks: Vec<DiskToErase> = present_disks(cleaning)
        .map(|known| DiskToErase {
            id: known.disk.id.clone(),
            serial: known.disk.serial.clone(),
            wwn: known.disk.wwn.clone(),
            size_bytes: known.disk.size_bytes,
        })
        .collect();
    (!disks.is_empty()).then(|| EraseDisksRequest {
        id: cleaning.id.clone(),
        depth,
        overwrite: cleaning.settings.overwrite,
        disks,
    })
}

/// The disks that the agent is to erase.
pub fn present_disks(cleaning: &Cleaning) -> impl Iterator<Item = &CleanedDisk> {
    cleaning.disks.iter().filter(|known| known.is_present)
}

/// True once the agent has reported about the erasure: it is busy with it, and must not be replaced.
pub fn is_under_way(cleaning: &Cleaning) -> bool {
    matches!(cleaning.stage, CleaningStage::Erasing { .. })
        && cleaning.disks.iter().any(|known| known.report.is_some())
}

/// Time by which the erasure must have progressed again; `None`: it has not begun, or has failed.
pub fn deadline(cleaning: &Cleaning, deadlines: &Deadlines<'_>) -> Option<Timestamp> {
    let CleaningStage::Erasing {
        began_at, moved_at, ..
    } = &cleaning.stage
    else {
        return None;
    };
    let next = deadlines.after(*moved_at, limit(cleaning));
    Some(next.min(deadlines.after(*began_at, WHOLE_LIMIT)))
}

/// The name of a stage on the wire.
pub fn stage_name(stage: &CleaningStage) -> &'static str {
    match stage {
        CleaningStage::Waiting { .. } => "waiting",
        CleaningStage::Erasing { .. } => "erasing",
        CleaningStage::Failed { .. } => "failed",
    }
}

/// The name of an outcome on the wire.
pub fn outcome_name(outcome: CleaningOutcome) -> &'static str {
    match outcome {
        CleaningOutcome::Erased => "erased",
        CleaningOutcome::NotErased => "not-erased",
        CleaningOutcome::Skipped => "skipped",
    }
}

/// The deadline when it was last computed, for users.
pub fn until(cleaning: &Cleaning) -> Option<Timestamp> {
    match &cleaning.stage {
        CleaningStage::Erasing { until, .. } => Some(*until),
        CleaningStage::Waiting { .. } | CleaningStage::Failed { .. } => None,
    }
}

/// Longest time without progress.
fn limit(cleaning: &Cleaning) -> Duration {
    if cleaning.settings.depth != CleaningDepth::Full {
        return METADATA_LIMIT;
    }
    let sizes = present_disks(cleaning).map(|known| known.disk.size_bytes.max(0));
    let bytes = sizes.fold(0_i64, i64::saturating_add);
    let of_size = Duration::seconds(bytes / SLOWEST) + Duration::hours(1);
    of_size.min(FULL_LIMIT)
}

/// The disk for users.
pub fn called(disk: &WrittenDisk) -> &str {
    if disk.name.is_empty() {
        &disk.id
    } else {
        &disk.name
    }
}

/// The method for users.
pub fn method_name(method: ErasureMethod) -> &'static str {
    match method {
        ErasureMethod::Metadata => "metadata overwritten",
        ErasureMethod::NvmeSanitize => "NVMe sanitize",
        ErasureMethod::NvmeFormat => "NVMe format",
        ErasureMethod::AtaSecureErase => "ATA secure erase",
        ErasureMethod::Discard => "discard",
        ErasureMethod::Overwrite => "overwritten with zeros",
    }
}

/// How far the erasure is, or why it does not begin, as a sentence without its full stop.
pub fn describe(cleaning: &Cleaning) -> String {
    match &cleaning.stage {
        CleaningStage::Waiting { why } if why.is_empty() => format!(
            "The host has left a cluster, and {} erased before it is available again, once its agent reports from the discovery image",
            disks_are(cleaning)
        ),
        CleaningStage::Waiting { why } => format!("Its disks are not erased yet: {why}"),
        CleaningStage::Erasing {
            began_at,
            until,
            problem,
            ..
        } => {
            let progress: Vec<String> = present_disks(cleaning).map(progress).collect();
            let problem = match problem.as_str() {
                "" => String::new(),
                problem => format!(". Its agent: {problem}"),
            };
            format!(
                "Erases disk {}, since {}, until {}{problem}",
                progress.join(", "),
                time(*began_at),
                time(*until)
            )
        }
        CleaningStage::Failed { why, .. } => format!(
            "Its disks cannot be erased: {why}. It is kept out of the pool until a person frees it: muster host erase --retry, or --skip to leave what is on them"
        ),
    }
}

fn disks_are(cleaning: &Cleaning) -> &'static str {
    if cleaning.settings.all_disks {
        "all its disks are"
    } else {
        "the disks that were installed to are"
    }
}

/// `sda: 43 % (NVMe sanitize)`.
fn progress(known: &CleanedDisk) -> String {
    let name = called(&known.disk);
    let Some(report) = &known.report else {
        return name.to_owned();
    };
    let how = match report.state {
        ErasureState::Waiting => "waits".to_owned(),
        ErasureState::Erasing => {
            percentage(report).map_or_else(|| "begun".to_owned(), |done| format!("{done} %"))
        }
        ErasureState::Erased => "done".to_owned(),
        ErasureState::Failed => "failed".to_owned(),
    };
    match report.method {
        Some(method) => format!("{name}: {how} ({})", method_name(method)),
        None => format!("{name}: {how}"),
    }
}

fn percentage(report: &DiskErasure) -> Option<i128> {
    let (done, total) = (i128::from(report.bytes_done), i128::from(report.bytes_total));
    (total > 0).then(|| (done * 100 / total).clamp(0, 100))
}

/// Why an erasure that is over is none; `None`: each disk was erased.
pub fn failure(cleaning: &Cleaning) -> Option<String> {
    let failed = present_disks(cleaning).filter(|known| {
        known
            .report
            .as_ref()
            .is_none_or(|report| report.state != ErasureState::Erased)
    });
    let texts: Vec<String> = failed
        .map(|known| {
            let message = known.report.as_ref().map_or("", |report| report.message.as_str());
            let why = match message {
                "" => "its agent gives no reason",
                message => message,
            };
            format!("{}: {why}", called(&known.disk))
        })
        .collect();
    (!texts.is_empty()).then(|| one_line(&texts.join("; "), 4 * MAX_TEXT))
}

/// The evidence of a disk, for users.
pub fn evidence(known: &CleanedDisk) -> String {
    let disk = &known.disk;
    let serial = match disk.serial.as_str() {
        "" => String::new(),
        serial => format!(" (serial number {serial})"),
    };
    let name = format!("{}{serial}", called(disk));
    if !known.is_present {
        return format!("{name}: not present, so not erased");
    }
    let Some(report) = &known.report else {
        return format!("{name}: not erased");
    };
    let what = match (report.state, report.method) {
        (ErasureState::Erased, Some(method)) => method_name(method).to_owned(),
        (ErasureState::Erased, None) => "erased".to_owned(),
        (ErasureState::Waiting | ErasureState::Erasing, _) => "not erased to its end".to_owned(),
        (ErasureState::Failed, _) => "not erased".to_owned(),
    };
    let message = match report.message.as_str() {
        "" => String::new(),
        message => format!(" ({message})"),
    };
    format!(
        "{name}: {what}, {} bytes in {} s, {} samples read back{message}",
        report.bytes_done, report.seconds, report.samples
    )
}

/// The end of an erasure, for users.
pub fn describe_end(cleaned: &Cleaned) -> String {
    let depth = cleaned.settings.depth.name();
    let how = match cleaned.outcome {
        CleaningOutcome::Erased => format!("Its disks were erased ({depth})"),
        CleaningOutcome::NotErased => "Its disks were not erased".to_owned(),
        CleaningOutcome::Skipped => "A person made it available without erasing its disks".to_owned(),
    };
    let message = match cleaned.message.as_str() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let disks: Vec<String> = cleaned.disks.iter().map(evidence).collect();
    let disks = match disks.as_slice() {
        [] => String::new(),
        disks => format!(". {}", disks.join("; ")),
    };
    cut(&format!("{how}{message}{disks}"), MAX_MESSAGE).to_owned()
}

/// The finding about an erasure that failed.
pub fn finding(cleaning: &Cleaning) -> Option<HostFinding> {
    matches!(cleaning.stage, CleaningStage::Failed { .. }).then(|| HostFinding {
        kind: CANNOT_BE_ERASED.to_owned(),
        about: String::new(),
        others: Vec::new(),
        message: describe(cleaning),
    })
}

/// A time for users.
pub fn time(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(id: &str, serial: &str, wwn: &str, size_bytes: i64) -> WrittenDisk {
        WrittenDisk {
            id: id.into(),
            name: "sda".into(),
            serial: serial.into(),
            wwn: wwn.into(),
            size_bytes,
            is_written: true,
        }
    }

    #[test]
    fn a_disk_is_recognised_by_what_identifies_it_and_never_by_its_place_alone() {
        let ours = disk("/dev/sda", "S1", "0x5000", 100);
        for (name, other, is_it) in [
            ("the same", ours.clone(), true),
            ("under another name", disk("/dev/sdb", "S1", "0x5000", 100), true),
            (
                "without its world-wide name",
                disk("/dev/sda", "S1", "", 100),
                true,
            ),
            (
                "of another serial number",
                disk("/dev/sda", "S2", "0x5000", 100),
                false,
            ),
            ("of another size", disk("/dev/sda", "S1", "0x5000", 200), false),
            (
                "of no identity at its place",
                disk("/dev/sda", "", "", 100),
                false,
            ),
        ] {
            assert_eq!(is_same(&ours, &other), is_it, "{name}");
        }
        let bare = disk("/dev/vda", "", "", 100);
        assert!(is_same(&bare, &bare) && !is_same(&bare, &disk("/dev/vdb", "", "", 100)));
        let filler = |id: &str| disk(id, "To be filled by O.E.M.", "", 100);
        assert!(!is_same(&filler("/dev/sda"), &filler("/dev/sdb")));
    }

    #[test]
    fn the_time_for_all_sectors_follows_the_size_up_to_three_days() {
        let of = |depth, size_bytes| {
            limit(&Cleaning {
                id: "1".into(),
                since: Timestamp::UNIX_EPOCH,
                attempt: 1,
                settings: Settings {
                    depth,
                    ..Settings::default()
                },
                stage: CleaningStage::Waiting { why: String::new() },
                restarts: 0,
                awaits_disk: false,
                disks: vec![CleanedDisk {
                    disk: disk("a", "", "", size_bytes),
                    is_present: true,
                    report: None,
                }],
            })
        };
        assert_eq!(of(CleaningDepth::Metadata, i64::MAX), Duration::minutes(15));
        assert_eq!(of(CleaningDepth::Full, 180_000_000_000), Duration::hours(2));
        assert_eq!(of(CleaningDepth::Full, -1), Duration::hours(1));
        assert_eq!(of(CleaningDepth::Full, i64::MAX), Duration::hours(72));
    }

    #[test]
    fn evidence_names_method_time_bytes_and_samples() {
        let known = CleanedDisk {
            disk: disk("a", "S1", "", 100),
            is_present: true,
            report: Some(DiskErasure {
                id: "a".into(),
                state: ErasureState::Erased,
                method: Some(ErasureMethod::NvmeSanitize),
                bytes_done: 100,
                bytes_total: 100,
                seconds: 7,
                samples: 64,
                message: String::new(),
            }),
        };
        assert_eq!(
            evidence(&known),
            "sda (serial number S1): NVMe sanitize, 100 bytes in 7 s, 64 samples read back"
        );
        let gone = CleanedDisk {
            is_present: false,
            report: None,
            ..known
        };
        assert_eq!(
            evidence(&gone),
            "sda (serial number S1): not present, so not erased"
        );
    }
}
