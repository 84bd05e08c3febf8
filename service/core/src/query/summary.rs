//! Summarizes hosts for lists: some 500 bytes of each.
//!
//! Texts and lists are cut to limits, because machines report them: a search does not find what is beyond.

mod hardware;
mod host;

pub use hardware::{DiskSummary, DriveType, Firmware, HardwareSummary};
pub use host::{BmcSummary, HostSummary, Surroundings, WaitSummary, summary};

use crate::text::one_line;

/// Longest text of a summary but for the reason, bytes.
const MAX_TEXT: usize = 256;

/// Most entries of a list in a summary.
const MAX_LIST: usize = 256;

/// `text` from a machine, on one line and within the limit.
fn short(text: &str) -> String {
    one_line(text.trim(), MAX_TEXT)
}

/// The first values, each once, within the limit.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if found.len() == MAX_LIST {
            break;
        }
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
