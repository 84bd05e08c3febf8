//! Tracks since when polls are received without a gap, so that outages of the service do not count against hosts.
//!
//! A replica beats every few seconds: it writes to the database that it receives polls and can write. If more time than
//! expected lies between two beats, by either clock, then this replica was stopped, its database was unavailable, its
//! computer was suspended or its clock was set forward. That [deaf time](DeafTime) is stored for all replicas: silence
//! counts from its end, and waits for hosts are extended by it. Between a gap and the beat that finds it, decisions use
//! the present as its end. A replica that does not beat any more may still be the one that hosts try to reach: the
//! others judge no silence until it is back or given up.
//!
//! On PostgreSQL the time of the service is that of the server, so that a replica with a wrong clock judges as the
//! others do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chrono::TimeDelta;
use muster_api::time::{Timestamp, whole_micros};
use muster_core::record::DeafTime;
use muster_store::{Beats, Replica, Store, StoreError};

use crate::hosts::check_ins::CheckIns;
use crate::random;
use crate::time::clock::Clock;

/// A clock that moves by more than this between two beats, beyond the time that passed, was set.
const STEP: TimeDelta = TimeDelta::seconds(5);

/// A smaller difference from the server's clock is ignored.
const SKEW: TimeDelta = TimeDelta::seconds(1);

/// Deaf times are kept for this long; waits for hosts are shorter.
const KEPT: TimeDelta = TimeDelta::days(14);

/// The interval of beats, and the limits that follow from it.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Interval between two beats.
    pub interval: Duration,
    /// Without a beat for this long, the time since the last one was deaf.
    gap: TimeDelta,
    /// A replica without a beat for this long is given up.
    given_up: TimeDelta,
}

impl Pace {
    /// The pace for hosts that may be silent for `silence`.
    pub fn of(silence: TimeDelta) -> Self {
        let interval = (silence / 18).clamp(TimeDelta::milliseconds(500), TimeDelta::seconds(10));
        Self {
            interval: interval.to_std().unwrap_or_default(),
            gap: (interval * 3).max((silence / 2).min(TimeDelta::seconds(5))),
            given_up: silence * 3 + TimeDelta::minutes(1),
        }
    }
}

/// Facts for decisions about hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Polls of all hosts were received since then.
    pub since: Timestamp,
    /// Times in which they were not.
    pub deaf: Arc<[DeafTime]>,
    /// Total time by which the clock was set forward, or back, since the start of this replica.
    pub clock_set_by: TimeDelta,
    /// The same before the last change of the clock.
    pub clock_was_set_by: TimeDelta,
}

/// The times in which this replica received no polls.
pub struct Outages {
    clock: Arc<dyn Clock>,
    check_ins: Arc<CheckIns>,
    pace: Pace,
    replica: String,
    /// True if there is one process at a time, as on SQLite: other replicas are its predecessors.
    alone: bool,
    state: Mutex<State>,
    /// Held during a beat.
    beating: tokio::sync::Mutex<()>,
    /// True while polls cannot be written, so that other replicas do not receive them.
    unwritten: AtomicBool,
}

struct State {
    /// Time by which the server's clock is ahead of this computer's.
    ahead: TimeDelta,
    beat: Moment,
    /// False before the first beat.
    has_beaten: bool,
    heard: Heard,
    /// Time since which another replica does not beat.
    missing_since: Option<Timestamp>,
}

/// One time by both clocks.
#[derive(Debug, Clone, Copy)]
struct Moment {
    wall: Timestamp,
    monotonic: Duration,
}

impl Moment {
    fn of(clock: &dyn Clock, ahead: TimeDelta) -> Self {
        Self {
            wall: whole_micros(clock.wall() + ahead),
            monotonic: clock.monotonic(),
        }
    }

    /// Time that has passed since `before`.
    fn passed(&self, before: &Self) -> TimeDelta {
        let passed = self.monotonic.saturating_sub(before.monotonic);
        TimeDelta::from_std(passed).unwrap_or(TimeDelta::MAX)
    }

    /// The time by which the wall clock was set since `before`.
    fn step(&self, before: &Self) -> TimeDelta {
        self.wall - before.wall - self.passed(before)
    }
}

impl Outages {
    /// The reception of a replica since `since`. `alone`: no other replica uses the same database.
    pub fn new(
        (clock, check_ins): (Arc<dyn Clock>, Arc<CheckIns>),
        alone: bool,
        silence: TimeDelta,
        since: Timestamp,
    ) -> Self {
        let beat = Moment::of(&*clock, TimeDelta::zero());
        let heard = Heard {
            since,
            deaf: Arc::default(),
            clock_set_by: TimeDelta::zero(),
            clock_was_set_by: TimeDelta::zero(),
        };
        Self {
            clock,
            check_ins,
            pace: Pace::of(silence),
            replica: random::token(),
            alone,
            state: Mutex::new(State {
                ahead: TimeDelta::zero(),
                beat,
                has_beaten: false,
                heard,
                missing_since: None,
            }),
            beating: tokio::sync::Mutex::default(),
            unwritten: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no code panics while it holds the state")
    }

    /// The present time of all replicas. A clock that was just set is used from the next beat on.
    pub fn now(&self) -> Timestamp {
        self.time(&self.state()).0
    }

    /// The present time, and both clocks.
    fn time(&self, state: &State) -> (Timestamp, Moment) {
        let present = Moment::of(&*self.clock, state.ahead);
        let was_set = present.step(&state.beat).abs() > STEP;
        let believed = if was_set {
            state.beat.wall + present.passed(&state.beat)
        } else {
            present.wall
        };
        (believed, present)
    }

    /// The id of this replica.
    pub fn replica(&self) -> &str {
        &self.replica
    }

    /// See [`Pace`].
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// The facts of this moment.
    pub fn heard(&self) -> Heard {
        let state = self.state();
        let (now, present) = self.time(&state);
        let gap = self.is_gap(&present, &state.beat).then_some(state.beat.wall);
        let Some(deaf_since) = earliest(gap, state.missing_since) else {
            return state.heard.clone();
        };
        let mut deaf = state.heard.deaf.to_vec();
        deaf.push(DeafTime {
            from: deaf_since.min(now),
            to: now,
        });
        Heard {
            since: now,
            deaf: DeafTime::merged(deaf).into(),
            clock_set_by: state.heard.clock_set_by,
            clock_was_set_by: state.heard.clock_was_set_by,
        }
    }

    /// True if a beat is due before anything else: there was a gap.
    pub fn is_in_doubt(&self) -> bool {
        let state = self.state();
        self.is_gap(&Moment::of(&*self.clock, state.ahead), &state.beat)
    }

    fn is_gap(&self, present: &Moment, beat: &Moment) -> bool {
        present.passed(beat) > self.pace.gap || present.step(beat).abs() > STEP
    }

    /// Records if polls can be written for other replicas. While they cannot, there is no beat.
    pub fn polls_are_written(&self, written: bool) {
        self.unwritten.store(!written, Ordering::Relaxed);
    }

    /// Writes that this replica receives polls, and determines if it did all the time since the last beat.
    ///
    /// # Errors
    /// If the database fails; then this replica does not beat.
    pub async fn beat(&self, store: &Store) -> Result<(), StoreError> {
        let _one = self.beating.lock().await;
        if self.unwritten.load(Ordering::Relaxed) {
            return Ok(());
        }
        let ahead = self.ahead_of_clock(store.server_time().await?);
        let (mut last, has_beaten) = {
            let state = self.state();
            (state.beat, state.has_beaten)
        };
        if !has_beaten {
            // The server's time was not known at that beat.
            last.wall += ahead;
        }
        let present = Moment::of(&*self.clock, ahead);
        let (passed, step) = (present.passed(&last), present.step(&last));
        if step < -STEP {
            tracing::warn!(
                seconds = -step.num_seconds(),
                "the clock was set back; waits for hosts go on from now"
            );
            self.check_ins.bring_back(present.wall, -step);
            let by = (-step).to_std().unwrap_or_default();
            store.clock_set_back(present.wall, by).await?;
        }
        let deaf = (passed > self.pace.gap || step > STEP).then(|| DeafTime {
            from: if step < -STEP {
                present.wall - passed
            } else {
                last.wall
            },
            to: present.wall,
        });
        if let Some(deaf) = deaf {
            tracing::warn!(
                seconds = (deaf.to - deaf.from).num_seconds(),
                stopped_seconds = passed.num_seconds(),
                clock_moved_seconds = step.num_seconds(),
                "nothing was received from hosts for a time: it is counted against none of them"
            );
        }
        let beats = store
            .beat(&self.replica, present.wall, deaf, present.wall - KEPT)
            .await?;
        let found = self.of_others(store, &beats, &present, has_beaten).await?;
        self.learn(ahead, present, step, beats, found);
        Ok(())
    }

    fn ahead_of_clock(&self, server: Option<Timestamp>) -> TimeDelta {
        let skew = server.map_or(TimeDelta::zero(), |server| server - self.clock.wall());
        if skew.abs() > SKEW {
            skew
        } else {
            TimeDelta::zero()
        }
    }

    /// Checks the other replicas: gives up those that are gone, and finds the one that is missing longest.
    async fn of_others(
        &self,
        store: &Store,
        beats: &Beats,
        present: &Moment,
        has_beaten: bool,
    ) -> Result<Others, StoreError> {
        let others = || beats.replicas.iter().filter(|other| other.id != self.replica);
        let age = |other: &Replica| present.wall - other.beat_at;
        let lives = |other: &&Replica| !self.alone && !other.has_left && age(other) <= self.pace.gap;
        let mut found = Others::default();
        if !has_beaten && !others().any(|other| lives(&other)) {
            // No replica received polls from the last beat of the last replica until this start.
            let last = others().map(|other| other.beat_at).max();
            let from = last.filter(|at| present.wall - *at > self.pace.gap);
            found.deaf.extend(from.map(|from| DeafTime {
                from,
                to: present.wall,
            }));
        }
        for other in others().filter(|other| !lives(other)) {
            if self.alone || other.has_left || !has_beaten && !found.deaf.is_empty() {
                store.forget_replica(other, found.deaf.first().copied()).await?;
            } else if age(other) > self.pace.given_up {
                let deaf = DeafTime {
                    from: other.beat_at,
                    to: present.wall,
                };
                tracing::warn!(
                    replica = other.id,
                    "a replica has not been seen for long and is given up"
                );
                store.forget_replica(other, Some(deaf)).await?;
                found.deaf.push(deaf);
            } else {
                found.missing_since = earliest(found.missing_since, Some(other.beat_at));
            }
        }
        Ok(found)
    }

    fn learn(&self, ahead: TimeDelta, present: Moment, step: TimeDelta, beats: Beats, found: Others) {
        let mut deaf = beats.deaf;
        deaf.extend(found.deaf);
        let mut state = self.state();
        if step.abs() > STEP {
            state.heard.clock_was_set_by = state.heard.clock_set_by;
            state.heard.clock_set_by += step;
            // Before the change, the clock showed other times.
            state.heard.since = state.heard.since.min(present.wall);
        }
        let ends = deaf.iter().map(|deaf| deaf.to);
        state.heard.since = ends.fold(state.heard.since, Timestamp::max).min(present.wall);
        if step < -STEP {
            state.heard.since = present.wall;
        }
        state.heard.deaf = DeafTime::merged(deaf).into();
        state.missing_since = found.missing_since;
        (state.ahead, state.beat, state.has_beaten) = (ahead, present, true);
    }

    /// Records that this replica stops in an orderly way: no host waits for it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn leave(&self, store: &Store) -> Result<(), StoreError> {
        let _one = self.beating.lock().await;
        if !self.is_in_doubt() {
            store.leave(&self.replica, self.now()).await?;
        }
        Ok(())
    }
}

/// Findings about the other replicas.
#[derive(Default)]
struct Others {
    deaf: Vec<DeafTime>,
    missing_since: Option<Timestamp>,
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
