//! Reads the kernel's ring buffer. Format: Documentation/ABI/testing/dev-kmsg.

use crate::root::{Operation, ProbeError};
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of text that are kept, the last ones.
const MOST: usize = 4 << 20;
/// The kernel returns no longer record.
const LONGEST_RECORD: usize = 16 << 10;

/// One message of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// 0 (emergency) to 7 (debug).
    pub level: u32,
    /// True for messages of the kernel itself; programs write others.
    pub of_kernel: bool,
    /// Since power-on.
    pub micros: u64,
    pub text: &'a str,
}

/// The whole buffer, as `dmesg` shows it.
pub(crate) fn log() -> Result<String, ProbeError> {
    let mut text = String::new();
    each(|message| {
        line(message, &mut text);
        if text.len() > 2 * MOST {
            keep_last(&mut text);
        }
    })?;
    keep_last(&mut text);
    Ok(text)
}

/// Calls `visit` for every message of the buffer, the oldest first.
pub(crate) fn each(mut visit: impl FnMut(Message<'_>)) -> Result<(), ProbeError> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/kmsg")
        .map_err(ProbeError::failed(Operation::Open, "/dev/kmsg"))?;
    let mut record = vec![0; LONGEST_RECORD];
    loop {
        match file.read(&mut record) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                if let Some(message) = parse(&String::from_utf8_lossy(&record[..length])) {
                    visit(message);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // Overwritten during the read: the next record follows.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(ProbeError::reading("/dev/kmsg")(error)),
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
fn parse(record: &str) -> Option<Message<'_>> {
    let (header, message) = record.split_once(';')?;
    let mut fields = header.split(',');
    // Syslog's facility, which is 0 for the kernel, and the level in the lowest three bits.
    let priority = fields.next()?.parse::<u32>().ok()?;
    let micros = fields.nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    Some(Message {
        level: priority & 7,
        of_kernel: priority >> 3 == 0,
        micros,
        text: message.lines().next().unwrap_or_default(),
    })
}

fn line(message: Message<'_>, text: &mut String) {
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "[{:5}.{:06}] {}",
        message.micros / 1_000_000,
        message.micros % 1_000_000,
        message.text
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_lines() {
        let mut text = String::new();
        let record = "6,339,5140900,-;NET: Registered protocol\n SUBSYSTEM=net\n";
        line(parse(record).unwrap(), &mut text);
        assert_eq!(parse("nonsense"), None);
        assert_eq!(text, "[    5.140900] NET: Registered protocol\n");
    }

    #[test]
    fn the_level_and_the_sender_are_read() {
        let of_kernel = parse("3,1,2,-;ata1: failed").unwrap();
        assert_eq!((of_kernel.level, of_kernel.of_kernel), (3, true));
        let of_program = parse("14,1,2,-;muster-agent: x").unwrap();
        assert_eq!((of_program.level, of_program.of_kernel), (6, false));
    }

    #[test]
    fn the_last_of_too_much_is_kept() {
        let mut text = "0123456\n".repeat(MOST / 4);
        keep_last(&mut text);
        assert!(text.len() <= MOST && text.starts_with("0123456\n"));
    }
}
