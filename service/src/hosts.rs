//! The one writer of hosts: load, decide, store if unchanged, tell. Nothing else sets a status.

use std::sync::Arc;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::Steps;
use muster_api::time::Timestamp;
use muster_core::host::{self, Host, HostEvent, HostFacts, HostReports, Step};
use muster_core::infra_env::InfraEnv;
use muster_store::{HistoryEntry, HostBrief, Store, StoreError};

use crate::app::App;
use crate::check_ins::{HostKey, Seen};
use crate::http::problem::Problem;
use crate::http::request_id;
use crate::random;

/// Attempts at a change that others make at the same time.
const ATTEMPTS: usize = 8;

/// The hosts.
pub struct Hosts {
    store: Store,
}

/// What a registration did.
#[derive(Debug)]
pub enum Registration {
    /// The machine is new here.
    New(Host),
    /// It was here before.
    Again(Host),
}

impl Hosts {
    /// Those in `store`.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// The store, for a write whose events are to name the request that causes them.
    fn writing(&self) -> Store {
        match request_id::current() {
            Some(id) => self.store.on_behalf_of(id),
            None => self.store.clone(),
        }
    }

    /// One host, with its inventory.
    pub async fn find(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<Host>, StoreError> {
        self.store.find_host(infra_env_id, id).await
    }

    /// Whether there is such a host.
    pub async fn exists(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<bool, StoreError> {
        Ok(self.store.find_host_brief(infra_env_id, id).await?.is_some())
    }

    /// All hosts of an InfraEnv, with their inventories.
    pub async fn list(&self, infra_env_id: InfraEnvId) -> Result<Vec<Host>, StoreError> {
        self.store.list_hosts(infra_env_id).await
    }

    /// A machine has booted. A new one is stored, a known one starts anew.
    pub async fn register(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        id: HostId,
        agent_version: &str,
    ) -> Result<Registration, Problem> {
        let infra_env = app.infra_envs.get(infra_env_id).await?;
        for _ in 0..ATTEMPTS {
            let now = app.now();
            note(app, (infra_env_id, id), now, agent_version);
            if self.exists(infra_env_id, id).await? {
                let event = HostEvent::Registered {
                    agent_version: agent_version.to_owned(),
                    fingerprint: None,
                };
                match self.apply(app, infra_env_id, id, event).await {
                    // Deleted in between, so it is new now. Agents of other makes stop for ever on a 404.
                    Err(problem) if problem.status() == http::StatusCode::NOT_FOUND => continue,
                    outcome => return outcome.map(Registration::Again),
                }
            }
            let step = host::register(
                id,
                infra_env_id,
                agent_version,
                None,
                &facts(app, &infra_env, None),
                now,
            )?;
            let mut made = step.host;
            let history = HistoryEntry {
                at: now,
                who: "agent".into(),
                event: "registration".into(),
                from: None,
                to: made.state.status(),
                reason: made.data.status_info.clone(),
            };
            match self.writing().insert_host(&made, &history, &step.events).await {
                Ok(version) => {
                    made.version = version;
                    tracing::info!(host.id = %id, infra_env.id = %infra_env_id, to = made.state.status().name(), "host registered");
                    return Ok(Registration::New(made));
                }
                // Its twin request was quicker, so it is known by now.
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(too_busy())
    }

    /// A host asks what to do. When it has nothing new to tell this reads one row and writes none.
    pub async fn poll(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        id: HostId,
        seen: Seen,
    ) -> Result<Option<Steps>, Problem> {
        let Some(brief) = self.store.find_host_brief(infra_env_id, id).await? else {
            return Ok(None);
        };
        let Some(infra_env) = app.infra_envs.find(infra_env_id).await? else {
            return Ok(None);
        };
        app.check_ins.note((infra_env_id, id), seen);
        let polled = if brief.state.waits_for_poll() {
            self.apply(app, infra_env_id, id, HostEvent::CheckedIn).await?
        } else if host::instructions::needs_inventory(&brief.state) {
            match self.find(infra_env_id, id).await? {
                Some(whole) => whole,
                None => return Ok(None),
            }
        } else {
            without_inventory(brief)
        };
        let seen = app.check_ins.last((infra_env_id, id));
        let facts = facts(app, &infra_env, seen.as_ref());
        let mut step_id =
            |step: muster_api::steps::StepType| format!("{}-{}", step.name(), random::step_suffix());
        Ok(Some(host::instructions(&polled, &facts, &mut step_id)))
    }

    /// Something happened to a host: decides, and stores what follows together with history, events and outbox.
    pub async fn apply(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        id: HostId,
        event: HostEvent,
    ) -> Result<Host, Problem> {
        let infra_env = app.infra_envs.get(infra_env_id).await?;
        for _ in 0..ATTEMPTS {
            let found = self.store.find_host(infra_env_id, id).await?;
            let found =
                found.ok_or_else(|| Problem::not_found(format!("host {id} in infra_env {infra_env_id}")))?;
            let now = app.now();
            let seen = app.check_ins.last((infra_env_id, id));
            let step = host::advance(&found, &event, &facts(app, &infra_env, seen.as_ref()), now)?;
            if !step.changed {
                return Ok(step.host);
            }
            match self.save(step, &event, now).await {
                Ok(saved) => return Ok(saved),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(too_busy())
    }

    async fn save(&self, step: Step, event: &HostEvent, now: Timestamp) -> Result<Host, StoreError> {
        let mut saved = step.host;
        let history = step.transition.as_ref().map(|(from, to, reason)| HistoryEntry {
            at: now,
            who: event.origin().into(),
            event: event.name().into(),
            from: Some(*from),
            to: *to,
            reason: reason.clone(),
        });
        saved.version = self
            .writing()
            .save_host(&saved, history.as_ref(), &step.events)
            .await?;
        if let Some((from, to, reason)) = step.transition {
            tracing::info!(host.id = %saved.id, infra_env.id = %saved.infra_env_id, from = from.name(), to = to.name(), reason, "host moved");
            metrics::counter!("muster_host_transitions_total", "from" => from.name(), "to" => to.name())
                .increment(1);
        }
        Ok(saved)
    }

    /// The settings that findings depend on may have changed: each host of the InfraEnv is judged anew.
    pub async fn infra_env_changed(&self, app: &App, infra_env_id: InfraEnvId) -> Result<(), Problem> {
        for brief in self.store.list_host_briefs(Some(infra_env_id)).await? {
            match self
                .apply(app, infra_env_id, brief.id, HostEvent::FactsChanged)
                .await
            {
                Ok(_) => {}
                Err(problem) if problem.status() == http::StatusCode::NOT_FOUND => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    /// Forgets a host.
    pub async fn delete(&self, app: &App, infra_env_id: InfraEnvId, id: HostId) -> Result<(), Problem> {
        let unknown = || Problem::not_found(format!("host {id} in infra_env {infra_env_id}"));
        let found = self.find(infra_env_id, id).await?.ok_or_else(unknown)?;
        let now = app.now();
        let news = [host::news::host_deregistered(&found, now)];
        if !self.writing().delete_host(infra_env_id, id, now, &news).await? {
            return Err(unknown());
        }
        app.check_ins.forget((infra_env_id, id));
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, "host deleted");
        Ok(())
    }
}

fn too_busy() -> Problem {
    Problem::unavailable("the host is being changed by others again and again; try again")
}

fn note(app: &App, host: HostKey, at: Timestamp, agent_version: &str) {
    let agent_version = (!agent_version.is_empty()).then(|| agent_version.to_owned());
    app.check_ins.note(
        host,
        Seen {
            at,
            host_clock: None,
            agent_version,
        },
    );
}

fn facts<'a>(app: &'a App, infra_env: &'a Arc<InfraEnv>, seen: Option<&Seen>) -> HostFacts<'a> {
    HostFacts {
        infra_env,
        cluster: None,
        requirements: &app.requirements,
        last_seen: seen.map(|seen| seen.at),
        host_clock: seen.and_then(|seen| seen.host_clock),
        listening_since: Some(app.listening_since),
        agent_version: &app.agent_version,
        agent_image: None,
        kube: false,
        images: host::InstallImages::default(),
        boot_artifacts: None,
    }
}

fn without_inventory(brief: HostBrief) -> Host {
    Host {
        id: brief.id,
        infra_env_id: brief.infra_env_id,
        cluster_id: brief.cluster_id,
        state: brief.state,
        version: brief.version,
        due_at: brief.due_at,
        checked_in_at: brief.checked_in_at,
        inventory: None,
        reports: HostReports::default(),
        data: brief.data,
    }
}
