//! QEMU's machine protocol: JSON lines over a socket. The crates for it generate types of all commands from QEMU's schema; a dozen are
//! needed here.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time limit of an answer: QEMU asks the server of an image before it answers an insert.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Time limit of the socket's appearance.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Interval between looks for the socket, which cannot wake us.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// A connection to a running QEMU.
pub(super) struct Qmp {
    stream: UnixStream,
    answers: Receiver<Value>,
    events: Arc<Events>,
}

/// Names of the events so far.
#[derive(Default)]
struct Events {
    seen: Mutex<Vec<String>>,
    more: Condvar,
}

impl Qmp {
    /// Connects to the socket of a QEMU that was just started.
    ///
    /// # Errors
    /// There is none in time, or it does not answer: the reason.
    pub(super) fn connect(socket: &Path) -> Result<Self, String> {
        let end = Instant::now() + START_LIMIT;
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() >= end => return Err(format!("QEMU's socket: {error}")),
                Err(_) => std::thread::sleep(CHECK_INTERVAL),
            }
        };
        let (sender, answers) = channel();
        let events = Arc::<Events>::default();
        let reader = stream.try_clone().map_err(|error| error.to_string())?;
        let noted = Arc::clone(&events);
        // Ends with the process at the other end.
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                if let Some(event) = message["event"].as_str() {
                    noted.note(event);
                } else if message.get("QMP").is_none() && sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut qmp = Self {
            stream,
            answers,
            events,
        };
        qmp.command("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Gives a command and awaits its answer.
    ///
    /// # Errors
    /// QEMU refuses it, or is gone: the reason.
    pub(super) fn command(&mut self, name: &str, arguments: &Value) -> Result<Value, String> {
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

    /// Gives a command and awaits an event that it brings.
    ///
    /// # Errors
    /// QEMU refuses the command, or the event does not come: the reason.
    pub(super) fn command_until(&mut self, name: &str, event: &str) -> Result<(), String> {
        let before = self.events.count(event);
        self.command(name, &json!({}))?;
        let is_awaited = |seen: &mut Vec<String>| count(seen, event) <= before;
        let waited = self
            .events
            .more
            .wait_timeout_while(self.events.seen(), ANSWER_LIMIT, is_awaited);
        if waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            return Err(format!("{name}: no {event} came"));
        }
        Ok(())
    }

    /// The number of such events so far.
    pub(super) fn events(&self, event: &str) -> usize {
        self.events.count(event)
    }
}

impl Events {
    fn seen(&self) -> MutexGuard<'_, Vec<String>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, event: &str) {
        self.seen().push(event.to_owned());
        self.more.notify_all();
    }

    fn count(&self, event: &str) -> usize {
        count(&self.seen(), event)
    }
}

fn count(seen: &[String], event: &str) -> usize {
    seen.iter().filter(|name| *name == event).count()
}
