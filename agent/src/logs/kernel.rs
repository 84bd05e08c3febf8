//! Reads the kernel's ring buffer. Format: Documentation/ABI/testing/dev-kmsg.

use crate::root::Reason;
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of text that are kept, the last ones.
const MOST: usize = 4 << 20;
/// The kernel returns no longer record.
const LONGEST_RECORD: usize = 16 << 10;

/// The whole buffer, as `dmesg` shows it.
pub(super) fn log() -> Result<String, Reason> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/kmsg")
        .map_err(|error| format!("/dev/kmsg: {error}"))?;
    let mut text = String::new();
    let mut record = vec![0; LONGEST_RECORD];
    loop {
        match file.read(&mut record) {
            Ok(0) => return Ok(text),
            Ok(length) => {
                line(&String::from_utf8_lossy(&record[..length]), &mut text);
                if text.len() > 2 * MOST {
                    keep_last(&mut text);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                keep_last(&mut text);
                return Ok(text);
            }
            // Overwritten during the read: the next record follows.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("/dev/kmsg: {error}")),
        }
    }
}

fn keep_last(text: &mut String) {
    if let Some(surplus) = text.len().checked_sub(MOST)
        && let Some(line_end) = text.as_bytes()[surplus..].iter().position(|byte| *byte == b'\n')
    {
        text.drain(..=surplus + line_end);
    }
}

/// `6,339,5140900,-;message`, then lines of properties that begin with a blank.
fn line(record: &str, text: &mut String) {
    let Some((header, message)) = record.split_once(';') else {
        return;
    };
    let micros = header
        .split(',')
        .nth(2)
        .and_then(|field| field.parse::<u64>().ok())
        .unwrap_or(0);
    let message = message.lines().next().unwrap_or_default();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "[{:5}.{:06}] {message}",
        micros / 1_000_000,
        micros % 1_000_000
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_lines() {
        let mut text = String::new();
        line(
            "6,339,5140900,-;NET: Registered protocol\n SUBSYSTEM=net\n",
            &mut text,
        );
        line("nonsense", &mut text);
        assert_eq!(text, "[    5.140900] NET: Registered protocol\n");
    }

    #[test]
    fn the_last_of_too_much_is_kept() {
        let mut text = "0123456\n".repeat(MOST / 4);
        keep_last(&mut text);
        assert!(text.len() <= MOST && text.starts_with("0123456\n"));
    }
}
