//! Counts and times requests while the fleet runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use crate::faults::Fault;

/// Longer responses count as this long: 5 minutes.
const LONGEST_MICROS: u64 = 300_000_000;

/// Operations of the agent protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Register,
    Poll,
    Reply,
    Progress,
    Logs,
    Download,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Poll => "poll",
            Self::Reply => "reply",
            Self::Progress => "progress",
            Self::Logs => "logs",
            Self::Download => "download",
        }
    }
}

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// With this status.
    Status(u16),
    /// Without a response, for this reason.
    NoAnswer(&'static str),
    /// With a response that does not follow the protocol.
    Malformed,
}

impl Ending {
    /// 2xx.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Status(200..300))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::NoAnswer(why) => write!(f, "no answer: {why}"),
            Self::Malformed => f.write_str("malformed answer"),
        }
    }
}

/// Activity of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    NotStarted,
    Registering,
    /// Refused permanently (401, 403, 404 or 409): like other agents it stops.
    Blocked,
    Polling,
    /// Its poll got 404: like other agents it stops.
    Frozen,
    Silent,
    Installing,
    Rebooted,
}

impl Phase {
    const ALL: [Self; 8] = [
        Self::NotStarted,
        Self::Registering,
        Self::Blocked,
        Self::Polling,
        Self::Frozen,
        Self::Silent,
        Self::Installing,
        Self::Rebooted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::NotStarted => "not started",
            Self::Registering => "registering",
            Self::Blocked => "blocked",
            Self::Polling => "polling",
            Self::Frozen => "frozen",
            Self::Silent => "silent",
            Self::Installing => "installing",
            Self::Rebooted => "rebooted into the installed system",
        }
    }

    /// True if the service refused the agent for good.
    pub fn is_refused(self) -> bool {
        matches!(self, Self::Blocked | Self::Frozen)
    }

    /// True if the agent requests nothing more.
    fn is_end(self) -> bool {
        self.is_refused() || matches!(self, Self::Silent | Self::Rebooted)
    }
}

/// The requests of one operation.
#[derive(Debug)]
pub struct Timed {
    /// Microseconds from the request to the end of its response, of those with a response.
    pub micros: Histogram<u64>,
    pub endings: BTreeMap<Ending, u64>,
}

impl Timed {
    fn new() -> Self {
        Self {
            micros: Histogram::new_with_max(LONGEST_MICROS, 3).expect("three digits are allowed"),
            endings: BTreeMap::new(),
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.endings.values().sum()
    }
}

/// Outcomes of requests that belong to a fault, by attempt.
pub type Met = BTreeMap<(Fault, String), BTreeMap<Ending, u64>>;

/// The period in which something happened.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub first: Instant,
    pub last: Instant,
}

impl Span {
    fn with(span: Option<Self>, first: Instant, last: Instant) -> Self {
        Self {
            first: span.map_or(first, |span| span.first.min(first)),
            last: span.map_or(last, |span| span.last.max(last)),
        }
    }

    pub fn seconds(self) -> f64 {
        (self.last - self.first).as_secs_f64()
    }
}

/// Everything except the agents' phases.
#[derive(Debug, Default)]
pub struct Counts {
    pub operations: BTreeMap<Operation, Timed>,
    pub met: Met,
    /// Hosts that were registered for the first time in this run.
    pub registered: u64,
    pub registering: Option<Span>,
    /// Hosts with an accepted inventory.
    pub with_inventory: u64,
    pub last_inventory: Option<Instant>,
    pub polling: Option<Span>,
}

/// Shared by all agents.
#[derive(Debug)]
pub struct Measure {
    pub started: Instant,
    counts: Mutex<Counts>,
    phases: Vec<AtomicU8>,
}

impl Measure {
    pub fn new(hosts: usize) -> Self {
        Self {
            started: Instant::now(),
            counts: Mutex::default(),
            phases: (0..hosts)
                .map(|_| AtomicU8::new(Phase::NotStarted as u8))
                .collect(),
        }
    }

    /// Reads the counts, or changes them.
    pub fn counts<T>(&self, read: impl FnOnce(&mut Counts) -> T) -> T {
        read(&mut self.counts.lock().expect("nothing panics while it counts"))
    }

    /// Counts a finished request.
    pub fn asked(&self, operation: Operation, began: Instant, ending: Ending) {
        let now = Instant::now();
        let took: Duration = now - began;
        self.counts(|counts| {
            let timed = counts.operations.entry(operation).or_insert_with(Timed::new);
            *timed.endings.entry(ending).or_default() += 1;
            if matches!(ending, Ending::Status(_)) {
                timed
                    .micros
                    .saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
            }
            if operation == Operation::Poll {
                counts.polling = Some(Span::with(counts.polling, began, now));
            }
        });
    }

    /// Counts a finished request that belongs to a fault.
    pub fn met(&self, fault: Fault, what: &str, ending: Ending) {
        self.counts(|counts| {
            let endings = counts.met.entry((fault, what.to_owned())).or_default();
            *endings.entry(ending).or_default() += 1;
        });
    }

    /// Counts a host that was registered for the first time.
    pub fn registered(&self, began: Instant) {
        self.counts(|counts| {
            counts.registered += 1;
            counts.registering = Some(Span::with(counts.registering, began, Instant::now()));
        });
    }

    /// Counts a host with its first accepted inventory.
    pub fn inventory_taken(&self) {
        self.counts(|counts| {
            counts.with_inventory += 1;
            counts.last_inventory = Some(Instant::now());
        });
    }

    /// Records the new activity of the agent of that number.
    pub fn enter(&self, number: u32, phase: Phase) {
        if let Some(slot) = self.phases.get(number as usize) {
            slot.store(phase as u8, Ordering::Relaxed);
        }
    }

    /// Number of agents by activity.
    pub fn phases(&self) -> BTreeMap<Phase, u64> {
        let mut found = BTreeMap::new();
        for slot in &self.phases {
            let phase = Phase::ALL[usize::from(slot.load(Ordering::Relaxed)) % Phase::ALL.len()];
            *found.entry(phase).or_default() += 1;
        }
        found
    }

    /// True if no agent goes on, and the service lost one at least for good, as where all hosts were deleted. Agents that ended on purpose
    /// alone (silent, rebooted) are not lost.
    pub fn is_lost(&self) -> bool {
        let phases = self.phases();
        phases.keys().all(|phase| phase.is_end()) && phases.keys().any(|phase| phase.is_refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn times_and_endings_are_kept_by_operation() {
        let measure = Measure::new(2);
        for (milliseconds, ending) in [
            (1, Ending::Status(200)),
            (3, Ending::Status(200)),
            (90, Ending::Status(503)),
            (60_000, Ending::NoAnswer("timeout")),
        ] {
            let began = Instant::now();
            tokio::time::advance(Duration::from_millis(milliseconds)).await;
            measure.asked(Operation::Poll, began, ending);
        }
        measure.counts(|counts| {
            let polls = &counts.operations[&Operation::Poll];
            assert_eq!(polls.count(), 4);
            assert_eq!(polls.endings[&Ending::Status(200)], 2);
            assert_eq!(polls.micros.len(), 3, "what was not answered has no latency");
            assert!(
                (89_000..91_000).contains(&polls.micros.max()),
                "{}",
                polls.micros.max()
            );
            assert!(counts.polling.unwrap().seconds() > 60.0);
        });
    }

    #[test]
    fn phases_are_those_that_were_entered_last() {
        for (at, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, at);
        }
        let measure = Measure::new(3);
        measure.enter(1, Phase::Polling);
        measure.enter(1, Phase::Silent);
        assert_eq!(
            measure.phases(),
            BTreeMap::from([(Phase::NotStarted, 2), (Phase::Silent, 1)])
        );
    }

    #[test]
    fn a_fleet_is_lost_when_no_agent_goes_on_and_one_was_refused() {
        let measure = Measure::new(3);
        measure.enter(0, Phase::Silent);
        measure.enter(1, Phase::Rebooted);
        measure.enter(2, Phase::Polling);
        assert!(!measure.is_lost());
        measure.enter(2, Phase::Silent);
        assert!(!measure.is_lost(), "these agents end on purpose");
        for refused in [Phase::Frozen, Phase::Blocked] {
            measure.enter(2, refused);
            assert!(measure.is_lost(), "{refused:?}");
        }
        measure.enter(0, Phase::NotStarted);
        assert!(!measure.is_lost());
    }
}
