//! Asks the service all the time what others need of it: each question on a connection of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::victim::Victim;
use crate::condition::LEAST_LIMIT;
use crate::process::resident;

/// Pause between two rounds of questions.
const PAUSE: Duration = Duration::from_millis(200);

/// A question that waits so long counts as unanswered: only a hang makes it wait.
const PATIENCE: Duration = LEAST_LIMIT;

/// What each question is asked of: port, head of the request, and how its answer begins.
#[derive(Debug, Clone)]
pub struct Question {
    pub name: &'static str,
    pub port: u16,
    pub head: String,
    pub status: u16,
}

/// Asks in a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Probe {
    ends: Arc<AtomicBool>,
    /// So often each question has had its answer.
    rounds: Arc<AtomicUsize>,
    asking: Option<JoinHandle<Noticed>>,
}

/// The answers that a probe had.
#[derive(Debug, Default)]
pub struct Noticed {
    pub questions: BTreeMap<&'static str, Seen>,
    /// Memory of the service, bytes: before, and the most.
    before: u64,
    most: u64,
}

/// Answers to one question.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub answered: usize,
    pub failures: Vec<String>,
    pub worst: Duration,
    /// When it was asked, from the beginning of the attack.
    pub worst_at: Duration,
}

impl Probe {
    /// Asks for a host's instructions, for 4 KiB of the discovery ISO as a BMC does, and for the service's health.
    pub fn of(victim: &Victim) -> Self {
        let (questions, service) = (victim.questions(), victim.service.id());
        let (ends, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (has_ended, answered) = (ends.clone(), rounds.clone());
        let before = resident(service);
        let asking = std::thread::spawn(move || {
            let mut noticed = Noticed {
                before,
                most: before,
                ..Noticed::default()
            };
            let began = Instant::now();
            while !has_ended.load(Ordering::Relaxed) {
                for question in &questions {
                    noticed.ask(question, began);
                }
                answered.store(noticed.rounds(), Ordering::Relaxed);
                noticed.most = noticed.most.max(resident(service));
                std::thread::sleep(PAUSE);
            }
            noticed.most = noticed.most.max(resident(service));
            noticed
        });
        Self {
            ends,
            rounds,
            asking: Some(asking),
        }
    }

    /// How often each question was answered until now.
    pub fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Ends it.
    pub fn end(mut self) -> Noticed {
        self.ends.store(true, Ordering::Relaxed);
        let asking = self.asking.take().expect("it is ended once");
        asking.join().expect("the probe ends")
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

impl Noticed {
    /// Asks during an attack that began then.
    fn ask(&mut self, question: &Question, attack: Instant) {
        let began = Instant::now();
        let answer = ask(question);
        let took = began.elapsed();
        let seen = self.questions.entry(question.name).or_default();
        if took > seen.worst {
            (seen.worst, seen.worst_at) = (took, began - attack);
        }
        match answer {
            Ok(()) => seen.answered += 1,
            Err(why) => seen.failures.push(format!("{why} after {} ms", took.as_millis())),
        }
    }

    /// How often each question was answered.
    fn rounds(&self) -> usize {
        let answered = self.questions.values().map(|seen| seen.answered);
        answered.min().unwrap_or_default()
    }

    /// MiB that the service grew by at most.
    pub fn grown_mib(&self) -> u64 {
        self.most.saturating_sub(self.before) >> 20
    }

    /// MiB of the service before.
    pub fn before_mib(&self) -> u64 {
        self.before >> 20
    }

    /// The slowest of all answers.
    pub fn worst(&self) -> Duration {
        self.questions
            .values()
            .map(|seen| seen.worst)
            .max()
            .unwrap_or_default()
    }

    /// Asserts that each question was asked and always answered.
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
