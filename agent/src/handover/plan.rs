//! Keeps the programs that were tried, and the one that is to take over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_api::ids::{HostId, InfraEnvId};
use tokio::sync::watch;

use super::build;
use super::successor::Successor;
use crate::host::inherited::{self, Inherited};
use crate::host::key;

/// The state of the handover, shared by the session and its step.
pub struct Handover {
    own: &'static str,
    infra_env_id: InfraEnvId,
    /// Digests of programs that do not take over, with the reason.
    tried: Mutex<HashMap<String, String>>,
    host: Mutex<Option<HostId>>,
    ready: watch::Sender<Option<Arc<Successor>>>,
}

impl Handover {
    /// `None` if the digest of the running program is unknown. Blocks.
    pub fn new(infra_env_id: InfraEnvId) -> Option<Arc<Self>> {
        let own = build::own()?;
        let before = inherited::state().map(|state| state.builds.clone());
        let tried = before.unwrap_or_default().into_iter();
        let tried = tried.map(|build| (build, "the agent was that program before".to_owned()));
        Some(Arc::new(Self {
            own,
            infra_env_id,
            tried: Mutex::new(tried.collect()),
            host: Mutex::default(),
            ready: watch::Sender::default(),
        }))
    }

    /// SHA-256 of the running program, hexadecimal.
    pub fn build(&self) -> &str {
        self.own
    }

    /// The host and version that the previous program has left, in this InfraEnv.
    pub fn inherited(&self) -> Option<&'static Inherited> {
        inherited::state().filter(|state| state.infra_env_id == self.infra_env_id)
    }

    fn tried(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason against this program.
    pub fn objection(&self, sha256: &str) -> Option<String> {
        if sha256 == self.own {
            return Some("it runs already".to_owned());
        }
        self.tried().get(sha256).cloned()
    }

    /// Never tries this program again.
    pub fn give_up(&self, sha256: &str, reason: String) {
        self.withdraw();
        self.tried().insert(sha256.to_owned(), reason);
    }

    /// Withdraws the program that was to take over; it may be proposed again.
    pub fn withdraw(&self) {
        self.ready.send_replace(None);
    }

    /// Stores the id of the host at the service.
    pub fn know_host(&self, id: HostId) {
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    /// The host's id at the service; `None` before it is registered.
    pub fn host(&self) -> Option<HostId> {
        *self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the session hand over to this program as soon as no step runs.
    pub fn propose(&self, successor: Successor) {
        self.ready.send_replace(Some(Arc::new(successor)));
    }

    /// The program that is to take over.
    pub fn proposed(&self) -> Option<Arc<Successor>> {
        self.ready.borrow().clone()
    }

    /// Waits for a proposal.
    pub async fn await_proposal(&self) {
        // `self` holds its sender.
        let _ = self.ready.subscribe().wait_for(Option::is_some).await;
    }

    /// The identity for the next program.
    pub fn bequest(&self, host_id: HostId, version: &str) -> Inherited {
        let mut builds: Vec<String> = self.tried().keys().cloned().collect();
        builds.push(self.own.to_owned());
        Inherited {
            infra_env_id: self.infra_env_id,
            host_id,
            version: version.to_owned(),
            host_key: key::own().secret(),
            builds,
        }
    }
}
