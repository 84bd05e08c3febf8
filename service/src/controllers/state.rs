//! How the bridge is, for `/ready` and for those who work with it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use muster_api::time::Timestamp;

use super::Pushed;
use crate::kubernetes::Source;

/// What the bridge is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There is none.
    Off,
    /// It has not heard of the API server yet.
    Starting,
    /// The API server lacks kinds of ours.
    LacksKinds(String),
    /// Controllers run here.
    Leading,
    /// They run in another replica, named here.
    Following(String),
    /// The API server does not answer.
    Unheard {
        /// Since when.
        since: Timestamp,
        /// Why.
        why: String,
    },
}

/// In words, for `/ready`.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => write!(f, "off"),
            Self::Starting => write!(f, "starting"),
            Self::LacksKinds(what) => write!(f, "{what}"),
            Self::Leading => write!(f, "ok, leading"),
            Self::Following(leader) => write!(f, "ok, {leader} leads"),
            Self::Unheard { since, why } => {
                let since = since.format("%Y-%m-%dT%H:%M:%SZ");
                write!(f, "no answer since {since}: {why}, trying again")
            }
        }
    }
}

/// Shared between the bridge and the rest of the service.
pub struct BridgeState {
    standing: Mutex<Standing>,
    in_database: bool,
    pushed: Pushed,
}

impl BridgeState {
    /// Of a service that reaches its Kubernetes API so.
    pub fn new(source: &Source) -> Self {
        let standing = match source {
            Source::Off => Standing::Off,
            Source::Builtin | Source::Cluster(_) => Standing::Starting,
        };
        Self {
            standing: Mutex::new(standing),
            in_database: *source == Source::Builtin,
            pushed: Pushed::default(),
        }
    }

    /// Whether the Kubernetes API is kept in the service's database, and is away with it.
    pub fn is_in_database(&self) -> bool {
        self.in_database
    }

    /// How it is.
    pub fn standing(&self) -> Standing {
        self.lock().clone()
    }

    /// Whether there is a bridge: then changes of hosts are for the replica that leads.
    pub fn is_on(&self) -> bool {
        *self.lock() != Standing::Off
    }

    /// What changed in the database, for controllers.
    pub fn pushed(&self) -> &Pushed {
        &self.pushed
    }

    pub(super) fn set(&self, standing: Standing) {
        *self.lock() = standing;
    }

    /// The API server does not answer, perhaps for some time already.
    pub(super) fn unheard(&self, now: Timestamp, why: String) {
        let mut standing = self.lock();
        let since = match &*standing {
            Standing::Unheard { since, .. } => *since,
            _ => now,
        };
        *standing = Standing::Unheard { since, why };
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_its_beginning() {
        let state = BridgeState::new(&Source::Cluster(None));
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        state.unheard(at(0), "refused".into());
        state.unheard(at(9), "timed out".into());
        assert_eq!(
            state.standing().to_string(),
            "no answer since 2026-11-18T11:06:40Z: timed out, trying again"
        );
        state.set(Standing::Following("a-1".into()));
        assert_eq!(state.standing().to_string(), "ok, a-1 leads");
        state.unheard(at(20), "refused".into());
        assert!(state.standing().to_string().contains("11:07:00Z"));
    }
}
