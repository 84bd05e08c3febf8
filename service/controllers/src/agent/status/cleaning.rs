//! Shows the erasure of a host's disks in its Agent's status, and reads it back (docs/erasing.md).

use muster_api::infra_env::Cleaning as Settings;
use muster_api::steps::ErasureState;
use muster_api::time::Timestamp;
use muster_controller::conditions::time;
use muster_core::record::{Cleaned, CleanedDisk, Cleaning, CleaningOutcome, CleaningStage, HostData};
use muster_core::rules::cleaning;
use muster_resources::{AgentCleanedDisk, AgentCleaning};
use serde_json::{Value, json};

/// State of an erasure that waits for the host.
const WAITING: &str = "Waiting";
/// State of one that goes on.
const ERASING: &str = "Erasing";
/// State of one that failed.
const FAILED: &str = "Failed";

/// The pending erasure, else the last one that is over.
pub fn shown(data: &HostData) -> Option<AgentCleaning> {
    let pending = data.cleaning.as_ref().map(of_pending);
    pending.or_else(|| data.cleaned.last().map(of_past))
}

fn of_pending(pending: &Cleaning) -> AgentCleaning {
    let state = match &pending.stage {
        CleaningStage::Waiting { .. } => WAITING,
        CleaningStage::Erasing { .. } => ERASING,
        CleaningStage::Failed { .. } => FAILED,
    };
    AgentCleaning {
        state: Some(state.to_owned()),
        message: Some(cleaning::describe(pending)),
        depth: Some(pending.settings.depth.name().to_owned()),
        since: Some(time(pending.since)),
        until_time: cleaning::until(pending).map(time),
        disks: pending.disks.iter().map(disk).collect(),
    }
}

fn of_past(cleaned: &Cleaned) -> AgentCleaning {
    let state = match cleaned.outcome {
        CleaningOutcome::Erased => "Erased",
        CleaningOutcome::NotErased => "NotErased",
        CleaningOutcome::Skipped => "Skipped",
    };
    AgentCleaning {
        state: Some(state.to_owned()),
        message: Some(cleaning::describe_end(cleaned)),
        depth: Some(cleaned.settings.depth.name().to_owned()),
        since: Some(time(cleaned.at)),
        until_time: None,
        disks: cleaned.disks.iter().map(disk).collect(),
    }
}

fn disk(known: &CleanedDisk) -> AgentCleanedDisk {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let number = |number: i64| Some(number).filter(|number| *number != 0);
    let report = known.report.as_ref();
    let state = match (known.is_present, report) {
        (false, _) => "not-present",
        (true, None) => "waiting",
        (true, Some(report)) => match report.state {
            ErasureState::Waiting => "waiting",
            ErasureState::Erasing => "erasing",
            ErasureState::Erased => "erased",
            ErasureState::Failed => "failed",
        },
    };
    let method = report.and_then(|report| match json!(report.method?) {
        Value::String(name) => Some(name),
        _ => None,
    });
    AgentCleanedDisk {
        id: known.disk.id.clone(),
        serial: given(&known.disk.serial),
        wwn: given(&known.disk.wwn),
        size_bytes: number(known.disk.size_bytes),
        state: Some(state.to_owned()),
        method,
        bytes_done: report.and_then(|report| number(report.bytes_done)),
        seconds: report.and_then(|report| number(report.seconds)),
        samples: report.and_then(|report| number(report.samples)),
        message: report.and_then(|report| given(&report.message)),
    }
}

/// The pending erasure that the status shows, for a host whose record is lost. The record of the disks that it was to erase is lost, too, and
/// a status proves nothing about them, so a person decides.
pub fn restored(shown: Option<&AgentCleaning>, now: Timestamp) -> Option<Cleaning> {
    let shown = shown?;
    let state = shown.state.as_deref()?;
    if !matches!(state, WAITING | ERASING | FAILED) {
        return None;
    }
    let since = shown.since.as_ref();
    let since = since.and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0));
    Some(Cleaning {
        id: now.timestamp_millis().to_string(),
        since: since.unwrap_or(now),
        attempt: 1,
        settings: Settings::default(),
        stage: CleaningStage::Failed {
            at: now,
            why: "the service lost its record of the host, and with it which disks were installed to; erase them by hand, then skip it"
                .to_owned(),
            goes_on: false,
        },
        restarts: 0,
        awaits_disk: false,
        disks: Vec::new(),
    })
}
