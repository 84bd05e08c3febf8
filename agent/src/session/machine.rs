//! Decides the next request after a response of the service; does no I/O.
//!
//! Waits: a response that an administrator must act on (401, 403, 404, 409) slows the agent down, 5 → 10 → 20
//! → 30 min; everything else is retried soon, with growing delays. Nothing ends the loop.

use std::time::Duration;

use tokio::time::Instant;

use muster_api::steps::{PostStepAction, Step, Steps};

use crate::client::{Failure, Request};

/// First wait after a response that an administrator must act on; doubles up to [`SLOW_LAST`].
pub const SLOW_FIRST: Duration = Duration::from_secs(5 * 60);
/// Longest wait after a response that an administrator must act on.
pub const SLOW_LAST: Duration = Duration::from_secs(30 * 60);
/// First wait after a failed registration; doubles up to the interval.
pub const REGISTER_FIRST: Duration = Duration::from_secs(2);
/// First wait after a failed poll; grows by half up to [`POLL_LAST`].
pub const POLL_FIRST: Duration = Duration::from_millis(500);
/// Longest wait after a failed poll.
pub const POLL_LAST: Duration = Duration::from_secs(60);
/// Polls failing for this long end the session: the host registers again.
pub const GIVE_UP_POLLING: Duration = Duration::from_secs(15 * 60);
/// The wait after a `continue` of the service without a time, which would otherwise be a tight loop.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(5);
/// The shortest wait between two polls that a service can request.
pub const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The least wait before registering again on `exit`: unnoticeable, and yet no tight loop.
pub const EXIT_WAIT: Duration = Duration::from_millis(200);
/// The least wait after a poll, whatever the machine does: a flapping link must not flood the service.
pub const CHANGE_WAIT: Duration = Duration::from_secs(3);
/// The longest wait that a service can request, so that a mistake there does not lose the host.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// The state of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not registered yet, or to be registered again.
    Registering {
        /// Consecutive failures.
        failures: u32,
        /// Consecutive responses that an administrator must act on.
        refusals: u32,
    },
    /// Registered.
    Polling {
        /// Failures in a row.
        failures: u32,
        /// Consecutive responses that an administrator must act on.
        refusals: u32,
        /// Begin of the present series of failures.
        failing_since: Option<Instant>,
    },
}

impl State {
    pub const START: Self = Self::Registering {
        failures: 0,
        refusals: 0,
    };
    /// Registered, and nothing has failed.
    pub const POLLING: Self = Self::Polling {
        failures: 0,
        refusals: 0,
        failing_since: None,
    };
}

/// The result of the last request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Registration(Result<(), Failure>),
    Poll(Result<Steps, Failure>),
}

/// The decision for now and for the next request.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Steps to start at once.
    pub start: Vec<Step>,
    /// Wait this long, then send [`Action::request`].
    pub wait: Duration,
    /// The request after the wait.
    pub request: Request,
    /// Forget the sent replies: the service may have lost them, or no longer counts them.
    pub forget_replies: bool,
    /// End the steps that still run, after the wait.
    pub end_steps: bool,
    /// A change of the machine (network, disks) ends the wait early, once this much of it has passed: the
    /// failed request may succeed now, or the service lacks an address that came late.
    pub change_may_help: Option<Duration>,
}

/// The session's interval, and whether it may be interrupted.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Longest wait between two attempts to register.
    pub interval: Duration,
    /// An installation runs: registering again would fail it (docs/protocol/agent-protocol.md#3). Or disks are erased: a service that is
    /// away does not end that.
    pub installing: bool,
}

/// Returns the next state and action. `jitter` is uniform in `0.0..1.0`.
pub fn next(state: &State, outcome: Outcome, now: Instant, jitter: f64, context: Context) -> (State, Action) {
    match outcome {
        // In another cluster, or unbound again, the service starts without data.
        Outcome::Registration(Ok(())) => {
            let action = Action {
                forget_replies: true,
                ..go(Request::Poll, Duration::ZERO)
            };
            (State::POLLING, action)
        }
        Outcome::Registration(Err(failure)) => registration_failed(state, &failure, jitter, context),
        Outcome::Poll(Ok(steps)) => instructed(steps),
        Outcome::Poll(Err(failure)) => poll_failed(state, &failure, now, jitter, context),
    }
}

fn go(request: Request, wait: Duration) -> Action {
    Action {
        start: Vec::new(),
        wait,
        request,
        forget_replies: false,
        end_steps: false,
        change_may_help: None,
    }
}

fn registration_failed(state: &State, failure: &Failure, jitter: f64, context: Context) -> (State, Action) {
    let (failures, refusals) = counts(state);
    if failure.needs_a_person() {
        let state = State::Registering {
            failures,
            refusals: refusals.saturating_add(1),
        };
        let mut action = go(Request::Register, slow(refusals, jitter));
        action.change_may_help = Some(CHANGE_WAIT);
        return (state, action);
    }
    let wait = grown(REGISTER_FIRST, 2.0, failures, context.interval);
    let state = State::Registering {
        failures: failures.saturating_add(1),
        refusals: 0,
    };
    let mut action = go(Request::Register, spread(wait, 0.25, jitter));
    action.change_may_help = Some(Duration::ZERO);
    (state, action)
}

fn instructed(steps: Steps) -> (State, Action) {
    let asked = u64::try_from(steps.next_instruction_seconds).unwrap_or(0);
    let asked = Duration::from_secs(asked).min(LONGEST_WAIT);
    let mut action = match steps.post_step_action {
        PostStepAction::Exit => Action {
            end_steps: true,
            ..go(Request::Register, asked.max(EXIT_WAIT))
        },
        PostStepAction::Continue if asked.is_zero() => go(Request::Poll, DEFAULT_WAIT),
        PostStepAction::Continue => go(Request::Poll, asked.max(SHORTEST_WAIT)),
    };
    let state = match action.request {
        Request::Register => State::START,
        Request::Poll => {
            action.change_may_help = Some(CHANGE_WAIT);
            State::POLLING
        }
    };
    action.start = steps.instructions.unwrap_or_default();
    (state, action)
}

fn poll_failed(
    state: &State,
    failure: &Failure,
    now: Instant,
    jitter: f64,
    context: Context,
) -> (State, Action) {
    let (failures, refusals) = counts(state);
    let since = match state {
        State::Polling {
            failing_since: Some(since),
            ..
        } => *since,
        _ => now,
    };
    let mut action = go(Request::Poll, Duration::ZERO);
    action.forget_replies = true;
    let may_register = !context.installing;
    if failure.needs_a_person() {
        action.wait = slow(refusals, jitter);
        // On a machine with several networks another service may have responded, through the wrong card.
        action.change_may_help = Some(CHANGE_WAIT);
        // A host that the service no longer knows can only come back by registering; not at once, so that a
        // deleted host stays silent for a while.
        if may_register && matches!(failure, Failure::Status(404, _)) {
            action.request = Request::Register;
            action.end_steps = true;
            return (
                State::Registering {
                    failures: 0,
                    refusals: refusals.saturating_add(1),
                },
                action,
            );
        }
        let state = State::Polling {
            failures,
            refusals: refusals.saturating_add(1),
            failing_since: Some(since),
        };
        return (state, action);
    }
    if may_register && now.duration_since(since) >= GIVE_UP_POLLING {
        action.request = Request::Register;
        action.end_steps = true;
        return (State::START, action);
    }
    action.wait = spread(grown(POLL_FIRST, 1.5, failures, POLL_LAST), 0.5, jitter);
    action.change_may_help = Some(Duration::ZERO);
    let state = State::Polling {
        failures: failures.saturating_add(1),
        refusals: 0,
        failing_since: Some(since),
    };
    (state, action)
}

fn counts(state: &State) -> (u32, u32) {
    match state {
        State::Registering { failures, refusals }
        | State::Polling {
            failures, refusals, ..
        } => (*failures, *refusals),
    }
}

fn slow(refusals: u32, jitter: f64) -> Duration {
    spread(grown(SLOW_FIRST, 2.0, refusals, SLOW_LAST), 0.1, jitter)
}

fn grown(first: Duration, factor: f64, times: u32, last: Duration) -> Duration {
    let times = i32::try_from(times.min(32)).unwrap_or(32);
    first.mul_f64(factor.powi(times)).min(last)
}

/// `wait` ± `part`, so that the machines of a rack do not all send at once.
fn spread(wait: Duration, part: f64, jitter: f64) -> Duration {
    wait.mul_f64(1.0 - part + 2.0 * part * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
