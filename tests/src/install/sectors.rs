//! What the sectors of a disk hold, whether or not a file system leads to it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Each text on the disk that fits an extended regular expression, in the order of the disk. Holes of the disk's file are not read.
///
/// # Panics
/// If the file cannot be read, or the expression is none.
#[track_caller]
pub fn texts(disk: &Path, pattern: &str) -> Vec<String> {
    // Lines end at a zero, so that empty sectors are short lines.
    let mut grep = Command::new("grep");
    grep.args([
        "--null-data",
        "--text",
        "--only-matching",
        "--extended-regexp",
        pattern,
    ])
    .arg(disk)
    .env("LC_ALL", "C")
    .stdin(Stdio::null());
    let output = grep.output().expect("grep");
    let found = String::from_utf8(output.stdout).expect("texts");
    // 1: nothing fits.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{grep:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    found.split_terminator('\0').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_between_holes() {
        let disk = tempfile::NamedTempFile::new().unwrap();
        disk.as_file().set_len(1 << 36).unwrap();
        assert_eq!(texts(disk.path(), "key-[0-9]+"), Vec::<String>::new());
        for (at, text) in [(0, "key-1\nkey-2"), (1 << 30, "key-x"), ((1 << 36) - 5, "key-3")] {
            std::os::unix::fs::FileExt::write_all_at(disk.as_file(), text.as_bytes(), at).unwrap();
        }
        assert_eq!(texts(disk.path(), "key-[0-9]+"), ["key-1", "key-2", "key-3"]);
    }
}
