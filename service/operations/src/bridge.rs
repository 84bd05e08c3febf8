//! Holds the state of the custom-resource bridge, for `/ready` and the outbox.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use muster_api::time::Timestamp;

use crate::watch_health::WatchHealth;

/// The state of the bridge in this replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeStatus {
    /// No bridge is configured.
    Off,
    /// Other replicas have it, and their controllers.
    Elsewhere,
    /// The API server has not answered yet.
    Starting,
    /// Somebody else runs such controllers: who and what to do.
    Waiting(String),
    /// The API server lacks kinds of ours.
    LacksKinds(String),
    /// Controllers run here.
    Leading,
    /// Controllers run here, and something is wrong: watches that fail, hosts without an InfraEnv.
    LeadingBut(String),
    /// They run in another replica, named here.
    Following(String),
    /// The API server does not answer.
    Unreachable { since: Timestamp, why: String },
}

impl fmt::Display for BridgeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => write!(f, "off"),
            Self::Elsewhere => write!(f, "left to other replicas"),
            Self::Starting => write!(f, "starting"),
            Self::LacksKinds(what) | Self::Waiting(what) => write!(f, "{what}"),
            Self::Leading => write!(f, "ok, leading"),
            Self::LeadingBut(why) => write!(f, "leading, but {why}"),
            Self::Following(leader) => write!(f, "ok, {leader} leads"),
            Self::Unreachable { since, why } => {
                let since = since.format("%Y-%m-%dT%H:%M:%SZ");
                write!(f, "no answer since {since}: {why}, trying again")
            }
        }
    }
}

/// Shared between the bridge and the rest of the service.
pub struct BridgeState {
    status: Mutex<BridgeStatus>,
    in_database: bool,
    watches: WatchHealth,
    /// What else users should know while the controllers run here.
    remarks: Mutex<BTreeMap<&'static str, String>>,
}

impl BridgeState {
    /// `in_database`: the Kubernetes API is kept in the service's database.
    pub fn new(status: BridgeStatus, in_database: bool) -> Self {
        Self {
            status: Mutex::new(status),
            in_database,
            watches: WatchHealth::default(),
            remarks: Mutex::default(),
        }
    }

    /// Sets what else users should know about `subject` while the controllers run here; `None`: nothing.
    pub fn remark(&self, subject: &'static str, remark: Option<String>) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        match remark {
            Some(remark) => remarks.insert(subject, remark),
            None => remarks.remove(subject),
        };
    }

    /// True when the Kubernetes API is kept in the service's database, and is unavailable with it.
    pub fn is_in_database(&self) -> bool {
        self.in_database
    }

    pub fn status(&self) -> BridgeStatus {
        let status = self.lock().clone();
        if status != BridgeStatus::Leading {
            return status;
        }
        let remarks = self
            .remarks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let watches = self.watches.report(Instant::now());
        let all: Vec<String> = watches.into_iter().chain(remarks.into_values()).collect();
        if all.is_empty() {
            status
        } else {
            BridgeStatus::LeadingBut(all.join("; "))
        }
    }

    /// The watches of the controllers.
    pub fn watches(&self) -> &WatchHealth {
        &self.watches
    }

    /// True when there is a bridge, here or in other replicas: then changes of hosts are for the replica that leads.
    pub fn is_on(&self) -> bool {
        *self.lock() != BridgeStatus::Off
    }

    pub fn set(&self, standing: BridgeStatus) {
        *self.lock() = standing;
    }

    /// The API server does not answer, perhaps for some time already.
    pub fn unreachable(&self, now: Timestamp, why: String) {
        let mut status = self.lock();
        let since = match &*status {
            BridgeStatus::Unreachable { since, .. } => *since,
            _ => now,
        };
        *status = BridgeStatus::Unreachable { since, why };
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BridgeStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_its_beginning() {
        let state = BridgeState::new(BridgeStatus::Starting, false);
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        state.unreachable(at(0), "refused".into());
        state.unreachable(at(9), "timed out".into());
        assert_eq!(
            state.status().to_string(),
            "no answer since 2026-11-18T11:06:40Z: timed out, trying again"
        );
        state.set(BridgeStatus::Leading);
        state.remark("orphans", Some("3 hosts have no Agents".into()));
        assert_eq!(state.status().to_string(), "leading, but 3 hosts have no Agents");
        state.remark("orphans", None);
        assert_eq!(state.status().to_string(), "ok, leading");
        state.set(BridgeStatus::Following("a-1".into()));
        assert_eq!(state.status().to_string(), "ok, a-1 leads");
        state.unreachable(at(20), "refused".into());
        assert!(state.status().to_string().contains("11:07:00Z"));
    }
}
