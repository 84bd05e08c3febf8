//! Texts about awaited events.

use super::ground::within;
use crate::record::{Bmc, BmcStage};

pub(super) const CHECKING: &str = "The BMC is looked at; nothing is changed";
pub(super) const INSERTING: &str = "The machine is switched off, and the image is inserted";
pub(super) const BOOTING: &str = "The machine is set to boot from the image once, and switched on";

/// Separates the awaited event from a note.
const NOTE: &str = "; but ";

/// Returns the reason with a note; a note stays until it is replaced.
pub(super) fn with_note(bmc: &Bmc, note: &str) -> String {
    let earlier = bmc.progress.reason.split_once(NOTE).map(|(_, note)| note);
    let note = Some(note).filter(|note| !note.is_empty()).or(earlier);
    match note {
        Some(note) => format!("{}{NOTE}{note}", waiting(bmc)),
        None => waiting(bmc),
    }
}

/// The reason while a machine that was switched on has not registered.
pub(super) fn waiting(bmc: &Bmc) -> String {
    let reads = bmc.image;
    if reads.requests == 0 {
        return "The machine is on; its image has not been requested yet".to_owned();
    }
    format!(
        "The machine is on, and {} of its image were read; its agent has not spoken yet",
        mebibytes(reads.bytes)
    )
}

pub(super) fn no_agent(bmc: &Bmc) -> String {
    let within = within(bmc);
    if let Some((_, note)) = bmc.progress.reason.split_once(NOTE) {
        return format!("No agent of this machine spoke {within}; {note}");
    }
    if bmc.image.requests == 0 {
        return format!(
            "No agent spoke {within}, and the image was not requested: the BMC does not reach this service's boot address, or the machine \
             did not boot from the medium"
        );
    }
    format!(
        "No agent spoke {within}, though {} of the image were read: look at the machine's console, and whether it reaches this service",
        mebibytes(bmc.image.bytes)
    )
}

pub(super) fn discovered(stage: &BmcStage) -> String {
    let BmcStage::Discovered { host_id, differences } = stage else {
        return String::new();
    };
    let mut text = format!("It is host {host_id}");
    if !differences.is_empty() {
        let what: Vec<&str> = differences.iter().map(|one| one.what.as_str()).collect();
        text.push_str(&format!(
            "; BMC and agent report differently: {}",
            what.join(", ")
        ));
    }
    text
}

fn mebibytes(bytes: i64) -> String {
    format!("{} MiB", bytes / (1 << 20))
}
