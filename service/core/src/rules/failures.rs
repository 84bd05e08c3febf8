//! Decides which ends of installations count against a host, and for how long machines then take other hosts.
//!
//! Only what the machine itself did counts. A refusal before its disk was written to, an image that cannot be had and a
//! control plane that does not come up are no fault of the machine. The times are a choice of this service: no protocol
//! has them.

use std::collections::BTreeSet;

use chrono::Duration;
use muster_api::host::{HostFinding, HostStage};
use muster_api::ids::ClusterId;
use muster_api::inventory::{Disk, Inventory};
use muster_api::placeholder::is_placeholder;
use muster_api::time::Timestamp;

use super::findings::FAILED_BEFORE;
use super::identity;
use crate::record::{FailedParts, Failures};
use crate::text::one_line;

/// Number of failures from which a host is in quarantine, if they are the machine's.
pub const QUARANTINED_FROM: u32 = 3;

/// Stage of the failure of a host that did not wake.
pub const DID_NOT_WAKE: &str = "DidNotWake";

/// Longest reason that is kept, bytes.
const MAX_MESSAGE: usize = 300;

/// Longest id of a part that is kept, bytes.
const MAX_ID: usize = 80;

/// Most parts that are kept. With more, a repair is not seen.
const MAX_PARTS: usize = 256;

/// Disks of these types may be seen by several hosts, or are no part of the machine.
pub(super) const NO_PARTS: [&str; 6] = ["FC", "iSCSI", "Multipath", "LVM", "RAID", "virtual"];

/// Stages in which nothing of a cluster plays a part but the operator's image.
const WRITING: [HostStage; 2] = [
    HostStage::WritingImageToDisk,
    HostStage::CopyingRegistryDataToDisk,
];

/// Parts of the reasons with which our agent ends an installation for which its image or its source is at fault
/// (agent/src/tasks/install/image/error.rs, agent/src/tasks/install/error.rs).
const FAULTS_OF_IMAGES: [&str; 10] = [
    "cannot be downloaded",
    "changed while it was downloaded",
    "nothing shows that its rest is of the same file",
    "the image is declared as",
    "the image cannot be decompressed",
    "the image is no image of a bootable disk",
    "the image cannot be installed here",
    "the image's SHA-256",
    "the control plane of the cluster did not come up",
    "the installation was stopped",
];

/// The time for which machines take no host on which installations or nodes failed `count` times in a row.
pub fn back_off(count: u32) -> Duration {
    match count {
        0 => Duration::zero(),
        1 => Duration::minutes(15),
        2 => Duration::hours(1),
        3 => Duration::hours(4),
        4 => Duration::hours(16),
        _ => Duration::hours(24),
    }
}

/// The end of that time.
pub fn until(failures: &Failures) -> Timestamp {
    failures.last_at + back_off(failures.count)
}

/// True if no machine takes the host until it is freed. What fails in one cluster alone after the disk was written may be at fault of that
/// cluster's bootstrap data, and takes the host from no other one.
pub fn is_quarantined(failures: &Failures) -> bool {
    failures.did_not_wake || failures.count >= QUARANTINED_FROM && failures.is_of_machine
}

/// True if the disk may have been written to in this stage; `None`: the installation has reported none.
pub fn has_touched_disk(stage: Option<HostStage>) -> bool {
    match stage {
        None | Some(HostStage::StartingInstallation | HostStage::Installing | HostStage::Failed) => false,
        Some(
            HostStage::WritingImageToDisk
            | HostStage::CopyingRegistryDataToDisk
            | HostStage::WaitingForControlPlane
            | HostStage::WaitingForBootkube
            | HostStage::WaitingForController
            | HostStage::Rebooting
            | HostStage::WaitingForIgnition
            | HostStage::Configuring
            | HostStage::Joined
            | HostStage::Done,
        ) => true,
    }
}

/// True if the host waits for others in this stage.
pub fn waits_for_others(stage: Option<HostStage>) -> bool {
    matches!(
        stage,
        Some(
            HostStage::WaitingForControlPlane
                | HostStage::WaitingForBootkube
                | HostStage::WaitingForController
        )
    )
}

/// True if an installation that ended with `reason` in `stage`, as the host reported it, counts against the host.
pub fn is_of_host(stage: Option<HostStage>, reason: &str) -> bool {
    let is_of_image = FAULTS_OF_IMAGES.iter().any(|fault| reason.contains(fault));
    has_touched_disk(stage) && !waits_for_others(stage) && !is_of_image
}

/// One failure.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// Name of the stage or state in which it happened.
    pub stage: &'a str,
    pub reason: &'a str,
    pub cluster: Option<ClusterId>,
}

/// The failures after one more. One that is counted already changes nothing.
pub fn after_one_more(
    before: Option<&Failures>,
    failed: Failed<'_>,
    inventory: Option<&Inventory>,
    now: Timestamp,
) -> Failures {
    if let Some(before) = before.filter(|before| before.is_counted) {
        return before.clone();
    }
    let present = inventory.map(parts).unwrap_or_default();
    let known = before.map(|before| before.parts.clone()).unwrap_or_default();
    let cluster = before.map_or(failed.cluster, |before| before.cluster);
    let is_of_machine = before.is_some_and(|before| before.is_of_machine)
        || cluster != failed.cluster
        || WRITING.map(HostStage::name).contains(&failed.stage);
    Failures {
        count: before.map_or(1, |before| before.count.saturating_add(1)),
        last_at: now,
        stage: one_line(failed.stage, MAX_MESSAGE),
        message: one_line(failed.reason, MAX_MESSAGE),
        is_counted: true,
        cluster,
        is_of_machine,
        did_not_wake: before.is_some_and(|before| before.did_not_wake),
        parts: joined(known, present),
    }
}

/// The failures after the host did not wake. A machine that cannot be booted would keep the next claim waiting as long, so that one failure
/// is enough for quarantine.
pub fn after_not_waking(
    before: Option<&Failures>,
    reason: &str,
    inventory: Option<&Inventory>,
    now: Timestamp,
) -> Failures {
    let before = before.map(|before| Failures {
        is_counted: false,
        ..before.clone()
    });
    let failed = Failed {
        stage: DID_NOT_WAKE,
        reason,
        cluster: before.as_ref().and_then(|before| before.cluster),
    };
    Failures {
        is_of_machine: true,
        did_not_wake: true,
        ..after_one_more(before.as_ref(), failed, inventory, now)
    }
}

/// The failures after the host has reported `inventory`; `None`: a part was added or replaced, so that they are
/// forgotten. A part that is missing frees nothing: it may be the one that fails. Nor does a machine without any part
/// that is known: it is another one.
pub fn after_inventory(failures: &Failures, inventory: &Inventory) -> Option<Failures> {
    let present = parts(inventory);
    let known = &failures.parts;
    let is_same_machine = !known.ids.is_disjoint(&present.ids);
    let has_new_id = !present.ids.is_subset(&known.ids);
    let has_more_memory = known.memory_bytes > 0 && present.memory_bytes > known.memory_bytes;
    if is_same_machine && (has_new_id || has_more_memory) {
        return None;
    }
    let mut failures = failures.clone();
    if known.is_empty() {
        failures.parts = present;
    }
    Some(failures)
}

fn joined(known: FailedParts, present: FailedParts) -> FailedParts {
    let ids: BTreeSet<String> = known.ids.into_iter().chain(present.ids).collect();
    FailedParts {
        ids: if ids.len() > MAX_PARTS {
            BTreeSet::new()
        } else {
            ids
        },
        memory_bytes: known.memory_bytes.max(present.memory_bytes),
    }
}

/// Memory is compared only where the firmware reports it: what a kernel leaves of it varies.
fn parts(inventory: &Inventory) -> FailedParts {
    let disks = inventory.disks.iter().filter_map(disk);
    let cards = identity::macs(inventory)
        .into_iter()
        .map(|mac| format!("card {mac}"));
    let ids: BTreeSet<String> = disks.chain(cards).map(|id| one_line(&id, MAX_ID)).collect();
    let memory = inventory.memory.as_ref();
    let memory = memory.filter(|memory| matches!(memory.physical_bytes_method.as_str(), "dmidecode" | "ghw"));
    FailedParts {
        ids: if ids.len() > MAX_PARTS {
            BTreeSet::new()
        } else {
            ids
        },
        memory_bytes: memory.map_or(0, |memory| memory.physical_bytes),
    }
}

fn disk(disk: &Disk) -> Option<String> {
    let is_part = !disk.removable
        && !disk.is_installation_media
        && !NO_PARTS.contains(&disk.drive_type.as_str())
        && !matches!(disk.drive_type.as_str(), "ODD" | "FDD");
    let ids = [&disk.wwn, &disk.serial];
    let id = ids.into_iter().find(|id| !id.is_empty() && !is_placeholder(id))?;
    is_part.then(|| format!("disk {id}"))
}

/// The failures as a sentence for users, with their consequence and the way out.
pub fn describe(failures: &Failures) -> String {
    let time = |at: Timestamp| at.format("%Y-%m-%d %H:%M:%S UTC");
    let times = match failures.count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times in a row"),
    };
    let stage = match failures.stage.as_str() {
        "" => String::new(),
        stage => format!(" ({stage})"),
    };
    let reason = match failures.message.as_str() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let then = if is_quarantined(failures) {
        "It is in quarantine: no machine takes it until it is freed".to_owned()
    } else {
        format!(
            "Machines do not take it before {}, and then hosts without failures first",
            time(until(failures))
        )
    };
    format!(
        "An installation or the node failed on this host {times}, last at {}{stage}{reason}. {then}. A replaced part frees it, and so does a person: muster host forget-failures",
        time(failures.last_at)
    )
}

/// The finding about the failures.
pub(crate) fn finding(failures: &Failures) -> HostFinding {
    HostFinding {
        kind: FAILED_BEFORE.to_owned(),
        about: String::new(),
        others: Vec::new(),
        message: describe(failures),
    }
}

#[cfg(test)]
mod tests {
    use muster_api::inventory::{Interface, Memory};

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + 60 * minutes, 0).unwrap()
    }

    fn machine(disks: &[&str], macs: &[&str], gibibytes: i64) -> Inventory {
        Inventory {
            disks: disks
                .iter()
                .map(|serial| Disk {
                    serial: (*serial).to_owned(),
                    drive_type: "SSD".into(),
                    ..Disk::default()
                })
                .collect(),
            interfaces: macs
                .iter()
                .map(|mac| Interface {
                    kind: "physical".into(),
                    mac_address: (*mac).to_owned(),
                    ..Interface::default()
                })
                .collect(),
            memory: Some(Memory {
                physical_bytes: gibibytes << 30,
                physical_bytes_method: "dmidecode".into(),
                usable_bytes: 0,
            }),
            ..Inventory::default()
        }
    }

    fn in_stage(stage: &str) -> Failed<'_> {
        Failed {
            stage,
            reason: "why",
            cluster: None,
        }
    }

    fn failed(times: u32, inventory: &Inventory) -> Failures {
        let mut failures: Option<Failures> = None;
        for _ in 0..times {
            if let Some(before) = &mut failures {
                before.is_counted = false;
            }
            let failed = in_stage("Writing image to disk");
            let next = after_one_more(failures.as_ref(), failed, Some(inventory), at(0));
            failures = Some(next);
        }
        failures.unwrap()
    }

    #[test]
    fn the_back_off_grows_to_a_day_and_the_third_failure_is_quarantine() {
        let minutes: Vec<i64> = (0..7).map(|count| back_off(count).num_minutes()).collect();
        assert_eq!(minutes, [0, 15, 60, 240, 960, 1440, 1440]);
        let one = machine(&["D1"], &[], 32);
        for (times, quarantined) in [(1, false), (2, false), (3, true), (9, true)] {
            let failures = failed(times, &one);
            assert_eq!(failures.count, times);
            assert_eq!(is_quarantined(&failures), quarantined, "{times}");
            assert_eq!(until(&failures), at(0) + back_off(times), "{times}");
        }
    }

    #[test]
    fn what_one_cluster_may_be_at_fault_for_is_no_quarantine() {
        let in_cluster = |id: u128| Failed {
            cluster: Some(ClusterId(uuid::Uuid::from_u128(id))),
            ..in_stage("Rebooting")
        };
        let after = |ids: &[u128]| {
            let mut failures: Option<Failures> = None;
            for id in ids {
                let before = failures.map(|before| Failures {
                    is_counted: false,
                    ..before
                });
                failures = Some(after_one_more(before.as_ref(), in_cluster(*id), None, at(0)));
            }
            is_quarantined(&failures.unwrap())
        };
        assert!(!after(&[1, 1, 1, 1, 1]));
        assert!(after(&[1, 1, 2]) && after(&[1, 2, 2]));
    }

    #[test]
    fn an_installation_counts_once() {
        let one = machine(&["D1"], &[], 32);
        let first = failed(1, &one);
        let again = after_one_more(Some(&first), in_stage("Joined"), Some(&one), at(5));
        assert_eq!(again, first);
    }

    #[test]
    fn what_the_machine_did_not_do_does_not_count() {
        use HostStage as S;
        for (stage, reason, counts) in [
            (None, "the disk is broken", false),
            (Some(S::StartingInstallation), "sda was not touched", false),
            (
                Some(S::Installing),
                "the ignition of this host cannot be had",
                false,
            ),
            (
                Some(S::WritingImageToDisk),
                "the disk cannot be written at byte 7",
                true,
            ),
            (
                Some(S::WritingImageToDisk),
                "sda was not installed to, and does not boot: /image cannot be downloaded: 404",
                false,
            ),
            (
                Some(S::WritingImageToDisk),
                "sda was not installed to: the image's SHA-256 (of the file) is a, and b is expected",
                false,
            ),
            (
                Some(S::WritingImageToDisk),
                "sda was not installed to, and does not boot: the image cannot be installed here: it has no BIOS boot partition",
                false,
            ),
            (
                Some(S::WaitingForControlPlane),
                "the control plane of the cluster did not come up within an hour",
                false,
            ),
            (Some(S::Rebooting), "the firmware does not answer", true),
        ] {
            assert_eq!(is_of_host(stage, reason), counts, "{stage:?} {reason}");
        }
    }

    #[test]
    fn an_added_or_replaced_part_frees_a_host_and_a_missing_one_or_another_machine_does_not() {
        let first = machine(&["D1", "D2"], &["52:54:00:00:00:01"], 32);
        let failures = failed(3, &first);
        for (name, inventory, is_freed) in [
            ("the same", first.clone(), false),
            (
                "a replaced disk",
                machine(&["D1", "D3"], &["52:54:00:00:00:01"], 32),
                true,
            ),
            (
                "another card",
                machine(&["D1", "D2"], &["52:54:00:00:00:02"], 32),
                true,
            ),
            (
                "more memory",
                machine(&["D1", "D2"], &["52:54:00:00:00:01"], 64),
                true,
            ),
            (
                "less memory",
                machine(&["D1", "D2"], &["52:54:00:00:00:01"], 16),
                false,
            ),
            (
                "a disk that is gone",
                machine(&["D1"], &["52:54:00:00:00:01"], 32),
                false,
            ),
            (
                "another machine",
                machine(&["X1"], &["52:54:00:00:00:09"], 512),
                false,
            ),
            ("no parts", Inventory::default(), false),
        ] {
            let after = after_inventory(&failures, &inventory);
            assert_eq!(after.is_none(), is_freed, "{name}");
            assert!(after.is_none_or(|after| after == failures), "{name}");
        }
    }

    #[test]
    fn a_disk_that_comes_and_goes_is_no_new_part() {
        let whole = machine(&["D1", "D2"], &[], 32);
        let without = machine(&["D1"], &[], 32);
        let mut failures = failed(1, &whole);
        failures.is_counted = false;
        let failures = after_one_more(Some(&failures), in_stage("Rebooting"), Some(&without), at(9));
        assert!(after_inventory(&failures, &whole).is_some());
    }

    #[test]
    fn parts_that_were_not_known_are_those_of_the_next_inventory() {
        let failures = after_one_more(None, in_stage("node"), None, at(0));
        let first = machine(&["D1"], &[], 32);
        let failures = after_inventory(&failures, &first).unwrap();
        assert_eq!(failures, after_inventory(&failures, &first).unwrap());
        assert_eq!(after_inventory(&failures, &machine(&["D1", "D2"], &[], 32)), None);
    }

    #[test]
    fn the_sentence_names_reason_time_and_way_out() {
        let one = machine(&["D1"], &[], 32);
        let text = describe(&failed(1, &one));
        for part in [
            "once",
            "(Writing image to disk): why",
            "do not take it before",
            "forget-failures",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = describe(&failed(4, &one));
        assert!(
            text.contains("4 times in a row") && text.contains("quarantine"),
            "{text}"
        );
    }
}
