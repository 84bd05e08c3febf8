//! Collects the output of a program or a serial console, and waits for texts in it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use regex::bytes::Regex;

/// Bytes of a transcript that a failure shows.
const TAIL_LINES: usize = 60;

/// Bytes that arrive from a stream, kept in memory and in a file. Clones share them.
#[derive(Clone)]
pub struct Transcript {
    shared: Arc<Shared>,
}

struct Shared {
    file: PathBuf,
    received: Mutex<Received>,
    more: Condvar,
}

struct Received {
    bytes: Vec<u8>,
    open_streams: usize,
}

/// Reason why a text was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    /// The deadline passed.
    Deadline,
    /// The stream ended, with its program or machine.
    Ended,
}

impl Transcript {
    /// An empty transcript; everything read from the streams given to [`follow`](Self::follow) is also written to
    /// `file`.
    pub fn new(file: &Path) -> Self {
        let received = Received {
            bytes: Vec::new(),
            open_streams: 0,
        };
        Self {
            shared: Arc::new(Shared {
                file: file.to_owned(),
                received: Mutex::new(received),
                more: Condvar::new(),
            }),
        }
    }

    /// Reads `stream` to its end in a thread of its own.
    pub fn follow(&self, mut stream: impl Read + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        let file = File::options().create(true).append(true).open(&shared.file);
        let mut file = file.unwrap_or_else(|error| panic!("cannot write {}: {error}", shared.file.display()));
        shared.received().open_streams += 1;
        std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            loop {
                let read = stream.read(&mut chunk).unwrap_or(0);
                // A full disk must not stop the test that watches the program; memory still has the text.
                let _ = file.write_all(&chunk[..read]);
                let mut received = shared.received();
                received.bytes.extend_from_slice(&chunk[..read]);
                if read == 0 {
                    received.open_streams -= 1;
                }
                shared.more.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
    }

    /// Waits until `pattern` occurs anywhere in what was received, and returns its first group, or the whole
    /// match if it has none.
    pub fn await_match(&self, pattern: &str, limit: Duration) -> Result<String, NotFound> {
        let regex = Regex::new(pattern).unwrap_or_else(|error| panic!("pattern {pattern:?}: {error}"));
        let end = Instant::now() + limit;
        let mut received = self.shared.received();
        loop {
            if let Some(found) = regex.captures(&received.bytes) {
                let group = found.get(1).or(found.get(0)).expect("a match has a group 0");
                return Ok(String::from_utf8_lossy(group.as_bytes()).into_owned());
            }
            if received.open_streams == 0 {
                return Err(NotFound::Ended);
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Err(NotFound::Deadline);
            };
            received = self
                .shared
                .more
                .wait_timeout(received, left)
                .expect("readers do not panic with the lock")
                .0;
        }
    }

    /// Writes `answer` to `input` each time that `question` is received from now on, in a thread of its own that ends with the
    /// streams.
    pub fn answer(
        &self,
        question: &'static [u8],
        answer: &'static [u8],
        mut input: impl Write + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let mut seen = shared.received().bytes.len();
        std::thread::spawn(move || {
            let mut received = shared.received();
            while received.open_streams > 0 {
                let mut windows = received.bytes[seen..].windows(question.len());
                match windows.position(|window| window == question) {
                    Some(at) => {
                        seen += at + question.len();
                        // A program that is about to end does not read it any more.
                        let _ = input.write_all(answer);
                    }
                    None => {
                        // The beginning of the question may be there.
                        seen = seen.max((received.bytes.len() + 1).saturating_sub(question.len()));
                        received = shared
                            .more
                            .wait(received)
                            .expect("readers do not panic with the lock");
                    }
                }
            }
        });
    }

    /// Waits until every stream has ended; `false` if the deadline came first.
    pub fn await_end(&self, limit: Duration) -> bool {
        let received = self.shared.received();
        let waited = self
            .shared
            .more
            .wait_timeout_while(received, limit, |received| received.open_streams > 0);
        !waited.expect("readers do not panic with the lock").1.timed_out()
    }

    /// Everything received so far, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.shared.received().bytes).into_owned()
    }

    /// The last lines, with terminal control sequences taken out.
    pub fn tail(&self) -> String {
        let text = plain(&self.text());
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(TAIL_LINES);
        lines[from..].join("\n")
    }

    /// Path of the whole of it.
    pub fn file(&self) -> &Path {
        &self.shared.file
    }
}

impl Shared {
    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().expect("readers do not panic with the lock")
    }
}

/// Without ANSI escape sequences and control characters other than newline and tab.
fn plain(text: &str) -> String {
    let escapes = Regex::new(r"\x1b(\[[0-9;?=]*[A-Za-z]|[()][0-9A-B]|[=>cM78])").expect("a fixed pattern");
    let bytes = escapes.replace_all(text.as_bytes(), &b""[..]);
    let text = String::from_utf8_lossy(&bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn a_text_that_comes_later_is_awaited() {
        let dir = tempfile::tempdir().unwrap();
        let transcript = Transcript::new(&dir.path().join("log"));
        let (reader, mut writer) = std::io::pipe().unwrap();
        transcript.follow(reader);
        let writing = std::thread::spawn(move || writer.write_all(b"port 80").map(|()| writer));
        assert_eq!(transcript.await_match(r"port (\d+)", SOON).unwrap(), "80");
        drop(writing.join().unwrap());
        assert_eq!(transcript.await_match("never", SOON), Err(NotFound::Ended));
        assert_eq!(std::fs::read(transcript.file()).unwrap(), b"port 80");
    }

    #[test]
    fn a_question_is_answered_each_time_however_it_comes() {
        let dir = tempfile::tempdir().unwrap();
        let transcript = Transcript::new(&dir.path().join("log"));
        let (asked, mut asking) = std::io::pipe().unwrap();
        let (answered, answering) = std::io::pipe().unwrap();
        let answers = Transcript::new(&dir.path().join("answers"));
        transcript.follow(asked);
        answers.follow(answered);
        transcript.answer(b"go on? ", b"y", answering);
        for (parts, all) in [
            (["well, go ", "on? "], "^y$"),
            (["go on? what?", " go o"], "^yy$"),
            (["n? n", "o"], "^yyy$"),
        ] {
            for part in parts {
                asking.write_all(part.as_bytes()).unwrap();
            }
            answers.await_match(all, SOON).unwrap();
        }
        drop(asking);
        assert!(answers.await_end(SOON));
    }

    #[test]
    fn the_tail_has_no_terminal_control() {
        assert_eq!(plain("\x1b[2J\x1b[01;01Hone\r\n\x1b[0mtwo\x07"), "one\ntwo");
    }
}
