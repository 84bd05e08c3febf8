//! Keeps the messages that the kernel wrote into the firmware's memory when it panicked (pstore: UEFI variables, ACPI's ERST), so that
//! the next boot can report them. Source: Documentation/ABI/testing/pstore.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use chrono::DateTime;

use crate::root::Root;

/// The last text, for the logs.
pub(crate) const TEXT: &str = "/run/muster/last-panic";
/// One line of it.
const SUMMARY: &str = "/run/muster/last-panic-summary";
/// Bytes of all records that are read.
const MOST: usize = 1 << 20;
/// Bytes of the line.
const LONGEST: usize = 300;

/// One sentence about how the previous boot ended; none if it ended as it should, or nothing was kept of it.
pub(crate) fn summary(root: &Root) -> Option<String> {
    root.text(SUMMARY).ok().filter(|text| !text.is_empty())
}

/// The kernel's last messages of the previous boot.
pub(crate) fn text() -> Option<String> {
    fs::read_to_string(TEXT).ok()
}

/// Moves the records of `pstore` into `folder` and removes them, so that there is room for others. True if there were any.
///
/// # Errors
/// Fails if the folder cannot be written, or a record not be removed.
pub fn take(pstore: &Path, run: &Path) -> io::Result<bool> {
    let mut records: Vec<_> = fs::read_dir(pstore)?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("dmesg-"))
        .map(|entry| entry.path())
        .collect();
    if records.is_empty() {
        return Ok(false);
    }
    records.sort();
    let mut parts = Vec::new();
    let mut at = None;
    let mut size = 0;
    for record in &records {
        let text = String::from_utf8_lossy(&fs::read(record)?).into_owned();
        size += text.len();
        if size <= MOST {
            at = at.max(fs::metadata(record)?.modified().ok());
            parts.push(text);
        }
    }
    // The first part holds the end of the text.
    parts.sort_by_key(|text| std::cmp::Reverse(part_number(text)));
    let text = parts.concat();
    let when = at
        .and_then(|at| i64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok())
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let when = when.map_or_else(String::new, |when| {
        format!(" at {}", when.format("%Y-%m-%dT%H:%M:%SZ"))
    });
    fs::create_dir_all(run)?;
    fs::write(run.join("last-panic"), &text)?;
    fs::write(
        run.join("last-panic-summary"),
        format!("the boot before this one ended{when}: {}", reason(&text)),
    )?;
    for record in &records {
        fs::remove_file(record)?;
    }
    Ok(true)
}

/// `Panic#1 Part3`
fn part_number(text: &str) -> u32 {
    let header = text.lines().next().unwrap_or_default();
    let number = header
        .split("Part")
        .nth(1)
        .and_then(|rest| rest.trim().parse().ok());
    number.unwrap_or(0)
}

/// The line with the reason.
fn reason(text: &str) -> String {
    let line = ["Kernel panic - ", "BUG: ", "Oops: ", "watchdog: "]
        .iter()
        .find_map(|mark| text.lines().find(|line| line.contains(mark)))
        .or_else(|| text.lines().next_back())
        .unwrap_or_default();
    // `<0>[   12.345678] Kernel panic ...`
    let words = line.split_once("] ").map_or(line, |(_, words)| words);
    words[..words.floor_char_boundary(LONGEST)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_put_in_order_told_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (pstore, run) = (folder.path().join("pstore"), folder.path().join("run"));
        fs::create_dir(&pstore).unwrap();
        assert!(!take(&pstore, &run).unwrap(), "nothing was kept");
        let record = |number: u32, text: &str| {
            let text = format!("Panic#1 Part{number}\n{text}\n");
            fs::write(pstore.join(format!("dmesg-efi_pstore-17000{number}")), text).unwrap();
        };
        record(
            1,
            "<0>[   12.3] Kernel panic - not syncing: sysrq triggered crash",
        );
        record(2, "<6>[   11.0] before");
        fs::write(pstore.join("console-ramoops-0"), "not a record of a panic").unwrap();
        assert!(take(&pstore, &run).unwrap());
        let summary = fs::read_to_string(run.join("last-panic-summary")).unwrap();
        assert!(
            summary.ends_with("Z: Kernel panic - not syncing: sysrq triggered crash"),
            "{summary}"
        );
        let text = fs::read_to_string(run.join("last-panic")).unwrap();
        assert!(
            text.find("before").unwrap() < text.find("Kernel panic").unwrap(),
            "{text}"
        );
        assert!(!take(&pstore, &run).unwrap(), "it was removed");
    }
}
