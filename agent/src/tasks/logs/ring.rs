//! Keeps the agent's latest log lines in memory, up to a fixed size.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use chrono::{SecondsFormat, Utc};
use tracing_subscriber::fmt::MakeWriter;

/// Bytes that are kept.
const KEPT: usize = 512 << 10;
/// Bytes of a line that are kept.
const LONGEST_LINE: usize = 4 << 10;

struct Ring {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    dropped: u64,
}

static RING: Mutex<Ring> = Mutex::new(Ring {
    lines: VecDeque::new(),
    bytes: 0,
    dropped: 0,
});

impl Ring {
    fn push(&mut self, mut line: Vec<u8>) {
        line.truncate(LONGEST_LINE);
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > KEPT {
            match self.lines.pop_front() {
                Some(oldest) => {
                    self.bytes -= oldest.len();
                    self.dropped += 1;
                }
                None => self.bytes = 0,
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes + 64);
        if self.dropped > 0 {
            text.push_str(&format!("({} older lines are gone)\n", self.dropped));
        }
        for line in &self.lines {
            text.push_str(String::from_utf8_lossy(line).trim_end());
            text.push('\n');
        }
        text
    }
}

/// The kept lines, oldest first.
pub fn text() -> String {
    RING.lock().unwrap_or_else(PoisonError::into_inner).text()
}

/// Keeps each event as a line with its time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines;

/// One event on its way into the ring.
pub struct Line(Vec<u8>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;
    fn make_writer(&'a self) -> Line {
        let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
        Line(format!("{now} ").into_bytes())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.0);
        RING.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_the_loss_is_reported() {
        let mut ring = Ring {
            lines: VecDeque::new(),
            bytes: 0,
            dropped: 0,
        };
        for number in 0..20_000 {
            ring.push(format!("line {number:05} {}\n", "x".repeat(40)).into_bytes());
        }
        let text = ring.text();
        assert!(ring.bytes <= KEPT && text.len() < KEPT + 100);
        assert!(text.starts_with('('), "{}", &text[..40]);
        assert!(text.contains("line 19999") && !text.contains("line 00000"));
        ring.push(vec![b'y'; 1 << 20]);
        assert!(ring.bytes <= KEPT);
    }

    #[test]
    fn an_event_is_a_line_with_its_time() {
        let subscriber = tracing_subscriber::fmt()
            .with_writer(Lines)
            .with_ansi(false)
            .without_time()
            .finish();
        tracing::subscriber::with_default(subscriber, || tracing::warn!("a word of ring"));
        let text = text();
        let line = text.lines().find(|line| line.contains("a word of ring")).unwrap();
        assert!(
            line.contains("WARN") && line.contains("T") && line.contains("Z "),
            "{line}"
        );
    }
}
