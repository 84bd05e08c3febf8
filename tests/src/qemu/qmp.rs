//! QEMU's machine protocol: JSON lines over a socket. Its crates generate types of all commands from QEMU's schema; a
//! dozen are needed here.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time limit of a response: QEMU requests the image from its server before it responds to an insert.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Time limit of the socket's appearance.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Interval between checks for the socket, which has no notification.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The socket on which the QEMU of a machine with that folder accepts commands, from one connection at a time.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("qmp")
}

/// A connection to a running QEMU.
pub(crate) struct Qmp {
    stream: UnixStream,
    answers: Receiver<Value>,
}

impl Qmp {
    /// Connects to the QEMU of a machine with that folder; it may have been started just now.
    ///
    /// # Errors
    /// The reason if there is none in time, or it does not respond.
    pub(crate) fn connect(folder: &Path) -> Result<Self, String> {
        let end = Instant::now() + START_LIMIT;
        let stream = loop {
            match UnixStream::connect(socket(folder)) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() >= end => return Err(format!("QEMU's socket: {error}")),
                Err(_) => std::thread::sleep(CHECK_INTERVAL),
            }
        };
        let (sender, answers) = channel();
        let reader = stream.try_clone().map_err(|error| error.to_string())?;
        // Ends with the process at the other end.
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                let is_answer = message.get("return").is_some() || message.get("error").is_some();
                if is_answer && sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut qmp = Self { stream, answers };
        qmp.command("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Sends a command and waits for its response.
    ///
    /// # Errors
    /// The reason if QEMU refuses it, or has ended.
    pub(crate) fn command(&mut self, name: &str, arguments: &Value) -> Result<Value, String> {
        let line = format!("{}\n", json!({"execute": name, "arguments": arguments}));
        let sent = self.stream.write_all(line.as_bytes());
        sent.map_err(|error| format!("{name}: QEMU is gone: {error}"))?;
        let answer = self.answers.recv_timeout(ANSWER_LIMIT);
        let mut answer = answer.map_err(|error| format!("{name}: QEMU does not answer: {error}"))?;
        match answer["error"]["desc"].as_str() {
            Some(reason) => Err(format!("{name}: {reason}")),
            None => Ok(answer["return"].take()),
        }
    }
}
