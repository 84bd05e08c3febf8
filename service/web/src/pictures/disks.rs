//! The disks of a host to scale: which is installed to, which could be, and what becomes of the content of each.

use askama::Template;
use askama::filters::HtmlSafe;
use muster_api::inventory::{Disk, Inventory};

use super::scale::length;
use crate::host::DiskRow;
use crate::words;

/// Disks in the picture; the table has all.
const SHOWN: usize = 48;

/// Width of the largest disk, in the units of the picture.
const WIDTH: u32 = 380;

/// Height of a row.
const ROW: u32 = 28;

/// Longest texts, letters.
const NAME: usize = 26;
const NOTE: usize = 58;

#[derive(Template)]
#[template(path = "pictures/disks.html")]
pub struct DiskBars {
    bars: Vec<DiskBar>,
    height: u32,
    left_out: usize,
}

impl HtmlSafe for DiskBars {}

struct DiskBar {
    /// Of the bar, and of its texts.
    y: u32,
    text_y: u32,
    width: u32,
    /// Where the note begins.
    note_x: u32,
    mood: &'static str,
    is_chosen: bool,
    name: String,
    note: String,
}

impl DiskBars {
    /// `rows`: the same disks in the same order, as the table has them. `None`: there are none.
    pub fn of(inventory: &Inventory, rows: &[DiskRow]) -> Option<Self> {
        let largest = inventory.disks.iter().map(bytes).max()?;
        let disks = inventory.disks.iter().zip(rows).take(SHOWN);
        let bars: Vec<DiskBar> = disks
            .zip(0_u32..)
            .map(|((disk, row), place)| DiskBar::of(disk, row, largest, place * ROW))
            .collect();
        Some(Self {
            height: u32::try_from(bars.len()).unwrap_or_default() * ROW + 4,
            left_out: inventory.disks.len() - bars.len(),
            bars,
        })
    }
}

fn bytes(disk: &Disk) -> u64 {
    u64::try_from(disk.size_bytes).unwrap_or_default()
}

impl DiskBar {
    fn of(disk: &Disk, row: &DiskRow, largest: u64, top: u32) -> Self {
        let is_eligible = disk.installation_eligibility.eligible;
        let (mood, symbol) = match (row.is_chosen, is_eligible, row.fate.is_empty()) {
            (true, ..) => ("good", "★ chosen"),
            (false, _, false) if row.fate.starts_with("formatted") => ("busy", "✎"),
            (false, true, _) => ("", "✓"),
            (false, false, _) => ("bad", "✗"),
        };
        let mut note = vec![symbol.to_owned()];
        let why = (!row.is_chosen).then(|| row.why.clone());
        note.extend(why.filter(|why| !why.is_empty()));
        note.extend((!row.fate.is_empty()).then(|| row.fate.to_owned()));
        note.extend((!disk.paths.is_empty()).then(|| format!("{} paths", disk.paths.len())));
        note.extend((!disk.holders.is_empty()).then(|| format!("in use by {}", disk.holders)));
        let width = length(bytes(disk), largest, WIDTH);
        let symbol_and_notes = match note.split_first() {
            Some((symbol, others)) => format!("{symbol} {}", others.join("; ")),
            None => String::new(),
        };
        Self {
            y: top + 4,
            text_y: top + 20,
            width,
            note_x: 200 + width + 8,
            mood,
            is_chosen: row.is_chosen,
            name: words::beginning(&format!("{} {}", row.name, row.size), NAME),
            note: words::beginning(symbol_and_notes.trim(), NOTE),
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::inventory::Eligibility;

    use super::*;

    fn disk(bytes: i64, eligible: bool) -> Disk {
        Disk {
            size_bytes: bytes,
            paths: vec!["/dev/sda".into(), "/dev/sdb".into()],
            installation_eligibility: Eligibility {
                eligible,
                not_eligible_reasons: Vec::new(),
            },
            ..Disk::default()
        }
    }

    fn row(is_chosen: bool, why: &str, fate: &'static str) -> DiskRow {
        DiskRow {
            name: "sda".into(),
            size: "1 TB".into(),
            kind: String::new(),
            model: String::new(),
            serial: String::new(),
            parts: String::new(),
            is_chosen,
            why: why.into(),
            fate,
        }
    }

    #[test]
    fn bars_are_to_scale_and_have_their_reasons() {
        let inventory = Inventory {
            disks: vec![disk(500, true), disk(1_000, false), disk(250, true)],
            ..Inventory::default()
        };
        let rows = [
            row(true, "the first", "all on it is overwritten"),
            row(false, "too small", ""),
            row(
                false,
                "possible",
                "formatted, so that no old system boots from it",
            ),
        ];
        let shown = DiskBars::of(&inventory, &rows).unwrap();
        let bars: Vec<_> = shown
            .bars
            .iter()
            .map(|bar| (bar.y, bar.width, bar.mood))
            .collect();
        assert_eq!(
            bars,
            [
                (4, WIDTH / 2, "good"),
                (32, WIDTH, "bad"),
                (60, WIDTH / 4, "busy")
            ]
        );
        assert_eq!(shown.bars[0].note, "★ chosen all on it is overwritten; 2 paths");
        assert_eq!(shown.bars[1].note, "✗ too small; 2 paths");
        assert_eq!((shown.height, shown.left_out), (3 * ROW + 4, 0));
        assert!(DiskBars::of(&Inventory::default(), &[]).is_none());
    }
}
