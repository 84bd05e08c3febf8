//! Decides the next step of a remediation, from what is recorded in its status and what the Agent answered.

use chrono::TimeDelta;
use muster_api::time::Timestamp;
use muster_core::text::{duration, spoken};
use muster_resources::{AgentRemediationSpec, RemediationType};

/// Shortest time for a Machine to become healthy: a reboot takes longer.
const SHORTEST: TimeDelta = TimeDelta::minutes(1);

/// Most reboots of one Machine: those that fail follow each other at once.
const MOST_REBOOTS: i64 = 100;

/// The steps before the Machine is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Number of reboots.
    pub reboots: i64,
    /// Time for the Machine to become healthy after each.
    pub timeout: TimeDelta,
}

impl Plan {
    /// The plan of a spec.
    ///
    /// # Errors
    /// The member that cannot be used, with the reason.
    pub fn of(spec: &AgentRemediationSpec) -> Result<Self, String> {
        let strategy = spec.strategy.clone().unwrap_or_default();
        // The only one.
        let RemediationType::Reboot = strategy.type_;
        let timeout = duration(&strategy.timeout).ok_or_else(|| {
            format!(
                "spec.strategy.timeout: {:?} is no time; write it as 10m or 1h30m",
                strategy.timeout
            )
        })?;
        if timeout < SHORTEST {
            return Err("spec.strategy.timeout must be at least 1m".to_owned());
        }
        if strategy.retry_limit > MOST_REBOOTS {
            return Err(format!("spec.strategy.retryLimit must be at most {MOST_REBOOTS}"));
        }
        Ok(Self {
            reboots: strategy.retry_limit,
            timeout,
        })
    }
}

/// The steps that were taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// Number of reboots that were requested.
    pub reboots: i64,
    /// Time of the last request, whole seconds.
    pub last: Option<Timestamp>,
}

/// The answer of the Agent to the last request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The Agent does not have the request.
    NotRequested,
    /// The Agent has the request, and no answer.
    None,
    /// The reboot is under way; the way.
    Pending(String),
    /// The host reboots; the way.
    Done(String),
    /// It was tried. The reason, as the end of a sentence.
    Failed(String),
    /// Nothing can reboot the host, or nothing may. The reason, as the end of a sentence.
    Refused(String),
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Record and send another request of that time.
    Reboot { at: Timestamp },
    /// Send the request that was recorded: an interruption came between.
    Request { at: Timestamp },
    /// Nothing until then.
    Wait { until: Timestamp },
    /// Leave the Machine to its owner. The reason, as a sentence.
    Replace { why: String },
}

/// Returns the next step. `host`: the answer of the Agent to the last request, or the reason why the Machine has no host to reboot.
pub fn decide(plan: Plan, past: Past, host: Result<&Answer, &str>, now: Timestamp) -> Action {
    let answer = match host {
        Ok(answer) => answer,
        Err(why) => {
            return Action::Replace {
                why: format!("Nothing can be rebooted: {why}"),
            };
        }
    };
    let Some(at) = past.last else {
        return match plan.reboots > 0 {
            true => Action::Reboot { at: whole(now) },
            false => Action::Replace {
                why: "spec.strategy.retryLimit is 0".to_owned(),
            },
        };
    };
    let until = at + plan.timeout;
    let again = |why: String| match past.reboots < plan.reboots {
        // Two requests never have the same time.
        true => Action::Reboot {
            at: whole(now).max(at + TimeDelta::seconds(1)),
        },
        false => Action::Replace { why },
    };
    match answer {
        Answer::Refused(why) => Action::Replace {
            why: format!("The host cannot be rebooted: {why}"),
        },
        Answer::Failed(why) => again(format!("The host was not rebooted: {why}")),
        Answer::NotRequested if now < until => Action::Request { at },
        Answer::None | Answer::Pending(_) | Answer::Done(_) if now < until => Action::Wait { until },
        Answer::Done(by) => again(format!(
            "The host was rebooted by {by}, and the Machine did not become healthy within {}",
            spoken(plan.timeout)
        )),
        Answer::NotRequested | Answer::None | Answer::Pending(_) => again(format!(
            "The request to reboot the host was not carried out within {}",
            spoken(plan.timeout)
        )),
    }
}

/// The time without parts of a second: statuses have none.
fn whole(now: Timestamp) -> Timestamp {
    Timestamp::from_timestamp(now.timestamp(), 0).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use muster_resources::RemediationStrategy;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
    }

    fn plan(reboots: i64) -> Plan {
        Plan {
            reboots,
            timeout: TimeDelta::seconds(600),
        }
    }

    fn after(reboots: i64, last: i64) -> Past {
        Past {
            reboots,
            last: Some(at(last)),
        }
    }

    #[test]
    fn each_state_has_its_next_step() {
        let by = || "BMC r1u7".to_owned();
        let why = || "no power".to_owned();
        let none = Past::default();
        let reboot = |seconds| Action::Reboot { at: at(seconds) };
        let wait = Action::Wait { until: at(600) };
        for (reboots, past, answer, now, wanted) in [
            (1, none, Answer::NotRequested, 7, reboot(7)),
            (
                1,
                after(1, 0),
                Answer::NotRequested,
                5,
                Action::Request { at: at(0) },
            ),
            (1, after(1, 0), Answer::None, 5, wait.clone()),
            (1, after(1, 0), Answer::Pending(by()), 599, wait.clone()),
            (1, after(1, 0), Answer::Done(by()), 599, wait.clone()),
            (2, after(1, 0), Answer::Done(by()), 600, reboot(600)),
            (2, after(1, 0), Answer::None, 700, reboot(700)),
            (2, after(1, 0), Answer::NotRequested, 700, reboot(700)),
            // A failure is followed by the next reboot at once, as another request.
            (2, after(1, 0), Answer::Failed(why()), 30, reboot(30)),
            (2, after(1, 30), Answer::Failed(why()), 30, reboot(31)),
        ] {
            let said = format!("{reboots} {past:?} {answer:?} {now}");
            assert_eq!(
                decide(plan(reboots), past, Ok(&answer), at(now)),
                wanted,
                "{said}"
            );
        }
    }

    #[test]
    fn a_machine_is_replaced_with_the_reason() {
        let replaced = |reboots, past, host: Result<&Answer, &str>, now| match decide(
            plan(reboots),
            past,
            host,
            at(now),
        ) {
            Action::Replace { why } => why,
            other => panic!("{other:?}"),
        };
        let done = Answer::Done("BMC r1u7".into());
        assert_eq!(
            replaced(1, after(1, 0), Ok(&done), 600),
            "The host was rebooted by BMC r1u7, and the Machine did not become healthy within 10 minutes"
        );
        assert_eq!(
            replaced(1, after(1, 0), Ok(&Answer::None), 600),
            "The request to reboot the host was not carried out within 10 minutes"
        );
        let failed = Answer::Failed("its BMC could not: no power".into());
        assert_eq!(
            replaced(1, after(1, 0), Ok(&failed), 5),
            "The host was not rebooted: its BMC could not: no power"
        );
        // Without a way to reboot it, further reboots are not tried.
        let refused = Answer::Refused("it has no BMC that can be used".into());
        assert_eq!(
            replaced(5, after(1, 0), Ok(&refused), 5),
            "The host cannot be rebooted: it has no BMC that can be used"
        );
        assert_eq!(
            replaced(5, Past::default(), Err("the Machine has no Agent"), 5),
            "Nothing can be rebooted: the Machine has no Agent"
        );
        assert_eq!(
            replaced(0, Past::default(), Ok(&Answer::NotRequested), 5),
            "spec.strategy.retryLimit is 0"
        );
    }

    #[test]
    fn the_time_of_a_request_has_no_parts_of_a_second() {
        let now = at(7) + TimeDelta::milliseconds(900);
        let action = decide(plan(1), Past::default(), Ok(&Answer::NotRequested), now);
        assert_eq!(action, Action::Reboot { at: at(7) });
    }

    #[test]
    fn a_spec_has_defaults_and_a_time_that_cannot_be_read_is_named() {
        let of = |strategy| Plan::of(&AgentRemediationSpec { strategy });
        let plain = Plan {
            reboots: 1,
            timeout: TimeDelta::minutes(10),
        };
        assert_eq!(of(None), Ok(plain));
        let strategy = |timeout: &str| RemediationStrategy {
            timeout: timeout.into(),
            ..RemediationStrategy::default()
        };
        assert_eq!(of(Some(strategy("10m0s"))), Ok(plain), "as Go writes it");
        let why = of(Some(strategy("soon"))).unwrap_err();
        assert!(why.starts_with("spec.strategy.timeout: \"soon\""), "{why}");
    }

    #[test]
    fn reboots_do_not_follow_each_other_for_ever() {
        let of = |timeout: &str, retry_limit: i64| {
            let strategy = RemediationStrategy {
                timeout: timeout.into(),
                retry_limit,
                ..RemediationStrategy::default()
            };
            Plan::of(&AgentRemediationSpec {
                strategy: Some(strategy),
            })
        };
        assert!(of("1m", 100).is_ok());
        assert!(of("59s", 1).unwrap_err().starts_with("spec.strategy.timeout "));
        assert!(
            of("1m", 101)
                .unwrap_err()
                .starts_with("spec.strategy.retryLimit ")
        );
    }
}
