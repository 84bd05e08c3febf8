//! Sends continuously the requests that others need: each on a connection of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::victim::Victim;
use crate::condition::LEAST_LIMIT;
use crate::process::resident;

/// Pause between two rounds of requests.
const PAUSE: Duration = Duration::from_millis(200);

/// A request that waits longer counts as unanswered: only a hang makes it wait.
const PATIENCE: Duration = LEAST_LIMIT;

/// A request: port, head, and the beginning of its response.
#[derive(Debug, Clone)]
pub struct Question {
    pub name: &'static str,
    pub port: u16,
    pub head: String,
    pub status: u16,
}

/// Sends requests in a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Probe {
    shared: Arc<Shared>,
    asking: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ends: AtomicBool,
    noticed: Mutex<Noticed>,
}

/// The responses to a probe.
#[derive(Debug, Clone, Default)]
pub struct Noticed {
    pub questions: BTreeMap<&'static str, Seen>,
    /// Memory of the service, bytes: before, and the peak.
    before: u64,
    most: u64,
}

/// Responses to one request.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub answered: usize,
    pub failures: Vec<String>,
    pub worst: Duration,
    /// Time of the request, from the beginning of the attack.
    pub worst_at: Duration,
}

impl Probe {
    /// Requests a host's instructions, 4 KiB of the discovery ISO as a BMC does, and the service's health.
    pub fn of(victim: &Victim) -> Self {
        let (questions, service) = (victim.questions(), victim.service.id());
        let before = resident(service);
        let shared = Arc::new(Shared {
            ends: AtomicBool::new(false),
            noticed: Mutex::new(Noticed {
                before,
                most: before,
                ..Noticed::default()
            }),
        });
        let told = Arc::clone(&shared);
        let asking = std::thread::spawn(move || {
            let attack = Instant::now();
            while !told.ends.load(Ordering::Relaxed) {
                for question in &questions {
                    let began = Instant::now();
                    let answer = ask(question);
                    told.noticed()
                        .note(question, answer, began - attack, began.elapsed());
                }
                let now = resident(service);
                let mut noticed = told.noticed();
                noticed.most = noticed.most.max(now);
                drop(noticed);
                std::thread::sleep(PAUSE);
            }
        });
        Self {
            shared,
            asking: Some(asking),
        }
    }

    /// The observations until now.
    pub fn noticed(&self) -> Noticed {
        self.shared.noticed().clone()
    }

    /// Ends the probe.
    pub fn end(mut self) -> Noticed {
        self.stop();
        self.noticed()
    }

    fn stop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(asking) = self.asking.take() {
            // It fails together with the service, which reports the reason.
            let _ = asking.join();
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn noticed(&self) -> MutexGuard<'_, Noticed> {
        self.noticed.lock().expect("nothing panics with the lock")
    }
}

impl Noticed {
    /// Records a response to a request; `at`: its time since the beginning of the attack.
    fn note(&mut self, question: &Question, answer: Result<(), String>, at: Duration, took: Duration) {
        let seen = self.questions.entry(question.name).or_default();
        if took > seen.worst {
            (seen.worst, seen.worst_at) = (took, at);
        }
        match answer {
            Ok(()) => seen.answered += 1,
            Err(why) => seen.failures.push(format!("{why} after {} ms", took.as_millis())),
        }
    }

    /// The number of responses to each request.
    pub fn rounds(&self) -> usize {
        let answered = self.questions.values().map(|seen| seen.answered);
        answered.min().unwrap_or_default()
    }

    /// Peak of the growth of the service, MiB.
    pub fn grown_mib(&self) -> u64 {
        self.most.saturating_sub(self.before) >> 20
    }

    /// Memory of the service before, MiB.
    pub fn before_mib(&self) -> u64 {
        self.before >> 20
    }

    /// The slowest response.
    pub fn worst(&self) -> Duration {
        self.questions
            .values()
            .map(|seen| seen.worst)
            .max()
            .unwrap_or_default()
    }

    /// Asserts that each request was sent and always had a response.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn all_was_answered(&self, during: &str) {
        for (name, seen) in &self.questions {
            assert!(seen.answered > 0, "{during}: {name} was never answered");
            assert!(seen.failures.is_empty(), "{during}: {name}: {:#?}", seen.failures);
        }
    }
}

impl fmt::Display for Noticed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, seen) in &self.questions {
            write!(
                f,
                "{name}: {} answers, the slowest after {} ms (asked in second {}); ",
                seen.answered,
                seen.worst.as_millis(),
                seen.worst_at.as_secs()
            )?;
        }
        write!(f, "{} MiB more", self.grown_mib())
    }
}

fn ask(question: &Question) -> Result<(), String> {
    let text = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let address = ([127, 0, 0, 1], question.port).into();
    let mut stream =
        TcpStream::connect_timeout(&address, PATIENCE).map_err(|error| text("connect", error))?;
    let limit = |error| text("deadline", error);
    stream.set_read_timeout(Some(PATIENCE)).map_err(limit)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(limit)?;
    stream
        .write_all(question.head.as_bytes())
        .map_err(|error| text("write", error))?;
    let mut answer = Vec::new();
    stream
        .read_to_end(&mut answer)
        .map_err(|error| text("read", error))?;
    let expected = format!("HTTP/1.1 {} ", question.status);
    if answer.starts_with(expected.as_bytes()) {
        return Ok(());
    }
    let head: String = String::from_utf8_lossy(&answer).chars().take(200).collect();
    Err(format!("answered {head:?}"))
}
