//! Decides which hosts of a pool sleep and which are woken: docs/sleeping.md. A host is on while it is a node, while it is one of the warm
//! spares, and for a while after it was given back.
//!
//! Claims wake the hosts that they take; this keeps the rest of the pool as its InfraEnv names it.

use chrono::{Duration, NaiveTime};
use muster_api::host::HostStatus;
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::{Settings, Sleep, SleepCause, SleepStage};
use crate::rules::input::Invalid;
use crate::text::duration;

/// Hosts of a pool that are switched off or booted at the same time without a claim. Requests to BMCs have a deadline, within which they all
/// must have had their turn.
pub const AT_ONCE: usize = 256;

/// A host that could not be put to sleep is not tried again before.
pub const RETRY_AFTER: Duration = Duration::hours(6);

/// The same of one that sleeps and was not woken for a reason that is not its own; a claim wakes it nevertheless.
pub const WAKE_RETRY_AFTER: Duration = Duration::minutes(30);

/// A host that is in discovery for less time is about to be ready: it has just booted.
pub const DISCOVERY: Duration = Duration::minutes(10);

/// Shortest time after which a host is idle: machines that follow one another take the same host.
const SHORTEST_IDLE: Duration = Duration::minutes(1);

/// Most warm spares: as many hosts as an InfraEnv may have.
const MOST_SPARES: i64 = 1_000_000;

/// A part of each day (UTC) in which no spares are kept warm. It may span midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    from: NaiveTime,
    to: NaiveTime,
}

impl QuietHours {
    /// `20:00-06:00`; `None`: it is nothing of the kind, or empty.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let time = |text: &str| NaiveTime::parse_from_str(text.trim(), "%H:%M").ok();
        let (from, to) = (time(from)?, time(to)?);
        (from != to).then_some(Self { from, to })
    }

    /// True at that time of day; the end does not belong to it.
    pub fn include(&self, at: Timestamp) -> bool {
        let at = at.time();
        match self.from < self.to {
            true => self.from <= at && at < self.to,
            false => self.from <= at || at < self.to,
        }
    }
}

/// The settings of an InfraEnv about sleep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SleepRules {
    /// `None`: nothing is put to sleep, and what sleeps is woken.
    pub idle_after: Option<Duration>,
    pub warm_spares: usize,
    pub quiet_hours: Option<QuietHours>,
}

impl SleepRules {
    /// The rules of settings that [`check`] has accepted.
    pub fn of(settings: &Settings) -> Self {
        Self {
            idle_after: duration(&settings.idle_after),
            warm_spares: settings
                .warm_spares
                .and_then(|spares| usize::try_from(spares).ok())
                .unwrap_or_default(),
            quiet_hours: QuietHours::parse(&settings.quiet_hours),
        }
    }

    /// The hosts that are kept awake for machines to come.
    pub fn spares(&self, now: Timestamp) -> usize {
        match self.quiet_hours {
            Some(quiet) if quiet.include(now) => 0,
            Some(_) | None => self.warm_spares,
        }
    }
}

/// Checks the settings about sleep together.
///
/// # Errors
/// Names the wrong one, with what to write.
pub(crate) fn check(settings: &Settings) -> Result<(), Invalid> {
    let idle_after = settings.idle_after.as_str();
    let is_valid = duration(idle_after).is_some_and(|time| time >= SHORTEST_IDLE);
    if !idle_after.is_empty() && !is_valid {
        return Err(Invalid::new(
            "idle_after",
            format!(
                "{idle_after:?} is no duration of at least one minute; write 30m or 2h, or nothing for hosts that never sleep"
            ),
        ));
    }
    if settings
        .warm_spares
        .is_some_and(|spares| !(0..=MOST_SPARES).contains(&spares))
    {
        return Err(Invalid::new(
            "warm_spares",
            "must be a number of hosts, 0 or more",
        ));
    }
    let quiet = settings.quiet_hours.as_str();
    if !quiet.is_empty() && QuietHours::parse(quiet).is_none() {
        return Err(Invalid::new(
            "quiet_hours",
            format!(
                "{quiet:?} is no part of a day; write the first and the last time in UTC, such as 20:00-06:00"
            ),
        ));
    }
    let is_useless =
        idle_after.is_empty() && (settings.warm_spares.is_some_and(|spares| spares > 0) || !quiet.is_empty());
    if is_useless {
        return Err(Invalid::new(
            "idle_after",
            "is not set, so that no host sleeps and warm_spares and quiet_hours have no effect; set idle_after, too, such as 30m, or warm_spares to 0 and quiet_hours to \"\"",
        ));
    }
    Ok(())
}

/// A host of a pool as decisions see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub id: HostId,
    pub power: Power,
    /// Machines may take it: it is fit, approved and not in quarantine.
    pub is_ready: bool,
    /// It has just booted, and is ready as soon as it is checked.
    pub is_coming: bool,
    /// Its BMC can switch it off and wake it, and nothing keeps it awake.
    pub may_sleep: bool,
    /// It was not woken in vain a moment ago.
    pub may_wake: bool,
    /// It became free then.
    pub idle_since: Timestamp,
}

/// The power of a host, as far as its sleep is concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Power {
    #[default]
    Awake,
    Falling,
    Asleep(SleepCause),
    Waking,
    /// It did not wake.
    Lost,
}

impl Power {
    /// `None`: the host is awake.
    pub fn of(sleep: Option<&Sleep>) -> Self {
        let Some(sleep) = sleep else {
            return Self::Awake;
        };
        match &sleep.stage {
            SleepStage::Falling => Self::Falling,
            SleepStage::Asleep { .. } => Self::Asleep(sleep.cause),
            SleepStage::Waking(_) => Self::Waking,
            SleepStage::DidNotWake { .. } => Self::Lost,
        }
    }

    /// The stage by its name on the wire, in searches and lists; empty: it is awake.
    pub fn word(self) -> &'static str {
        match self {
            Self::Awake => "",
            Self::Falling => "falling-asleep",
            Self::Asleep(_) => "asleep",
            Self::Waking => "waking",
            Self::Lost => "did-not-wake",
        }
    }
}

/// True for hosts that may be put to sleep in this state.
pub fn sleeps_in(status: HostStatus) -> bool {
    status == HostStatus::KnownUnbound
}

/// The hosts that change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// To be switched off, in this order.
    pub sleep: Vec<HostId>,
    /// To be woken, in this order.
    pub wake: Vec<HostId>,
}

/// Decides about the unbound hosts of a pool at the time `now`. What is under way counts as done, so that a decision that is made again
/// changes nothing more. The order of `members` does not matter.
pub fn decide(rules: &SleepRules, members: &[Member], now: Timestamp) -> Changes {
    let count = |is_it: fn(&Member) -> bool| members.iter().filter(|one| is_it(one)).count();
    let ready = count(|one| one.is_ready && one.power == Power::Awake);
    let waking = count(|one| one.power == Power::Waking);
    let coming = count(|one| one.is_coming && one.power == Power::Awake);
    let falling = count(|one| one.power == Power::Falling);
    let Some(idle_after) = rules.idle_after else {
        return Changes {
            sleep: Vec::new(),
            wake: first(asleep(members), AT_ONCE.saturating_sub(waking)),
        };
    };
    let spares = rules.spares(now);
    let have = ready + waking + coming;
    if have < spares {
        let wanted = (spares - have).min(AT_ONCE.saturating_sub(waking));
        return Changes {
            sleep: Vec::new(),
            wake: first(asleep(members), wanted),
        };
    }
    let idle = members.iter().filter(|one| {
        one.power == Power::Awake && one.is_ready && one.may_sleep && one.idle_since + idle_after <= now
    });
    // A host that is being woken is a spare only when it is there.
    let surplus = ready.saturating_sub(spares);
    Changes {
        sleep: first(idle.collect(), surplus.min(AT_ONCE.saturating_sub(falling))),
        wake: Vec::new(),
    }
}

/// The hosts that may be woken without a claim. Those that a person put to sleep are not.
fn asleep(members: &[Member]) -> Vec<&Member> {
    let asleep = |one: &&Member| one.is_ready && one.may_wake && one.power == Power::Asleep(SleepCause::Idle);
    members.iter().filter(asleep).collect()
}

/// The first of them, those first that have been idle the longest.
fn first(mut members: Vec<&Member>, most: usize) -> Vec<HostId> {
    members.sort_unstable_by_key(|one| (one.idle_since, one.id));
    members.into_iter().take(most).map(|one| one.id).collect()
}
