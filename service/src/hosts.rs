//! The one writer of hosts: load, decide, store if unchanged, tell. Nothing else sets a status.

use std::sync::Arc;

use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::steps::Steps;
use muster_api::time::Timestamp;
use muster_core::host::identity::{self, Judgement, Twin};
use muster_core::host::{self, Host, HostEvent, HostFacts, HostReports, Step};
use muster_core::infra_env::InfraEnv;
use muster_store::{HistoryEntry, HostBrief, Store, StoreError};

use crate::app::App;
use crate::check_ins::{HostKey, Seen};
use crate::clusters::Around;
use crate::http::problem::{Problem, unless_gone};
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

    /// A machine has booted. A new one is stored, a known one starts anew. A second machine that claims the id of another is kept
    /// under an id of its own, which is the one in what is answered.
    pub async fn register(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        claimed: HostId,
        agent_version: &str,
        fingerprint: Option<Fingerprint>,
    ) -> Result<Registration, Problem> {
        let infra_env = app.infra_envs.get(infra_env_id).await?;
        for _ in 0..ATTEMPTS {
            let claim = self.claim(infra_env_id, claimed, fingerprint.as_ref()).await?;
            let now = app.now();
            note(app, (infra_env_id, claim.id), now, agent_version);
            let registration = if claim.known {
                let event = HostEvent::Registered {
                    agent_version: agent_version.to_owned(),
                    fingerprint: fingerprint.clone(),
                };
                match self.apply(app, infra_env_id, claim.id, event).await {
                    // Deleted in between, so it is new now. Agents of other makes stop for ever on a 404.
                    Err(problem) if problem.status() == http::StatusCode::NOT_FOUND => continue,
                    outcome => Registration::Again(outcome?),
                }
            } else {
                match self
                    .enter(
                        app,
                        &infra_env,
                        claim.id,
                        agent_version,
                        fingerprint.as_ref(),
                        now,
                    )
                    .await?
                {
                    Some(made) => Registration::New(made),
                    // Its twin request was quicker, so it is known by now.
                    None => continue,
                }
            };
            if let Some(twin) = claim.twin {
                self.tell_twins(app, infra_env_id, claimed, *twin).await?;
            }
            return Ok(registration);
        }
        Err(too_busy())
    }

    /// Under which id a machine is kept that claims `claimed`.
    async fn claim(
        &self,
        infra_env_id: InfraEnvId,
        claimed: HostId,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<Claim, StoreError> {
        let Some(first) = self.store.find_host(infra_env_id, claimed).await? else {
            return Ok(Claim::of(claimed, false));
        };
        let twin = match fingerprint.map(|fingerprint| identity::judge(&first, fingerprint)) {
            Some(Judgement::Different(twin)) => twin,
            Some(Judgement::Same) | None => return Ok(Claim::of(claimed, true)),
        };
        for id in identity::twins(&first) {
            let host = self.store.find_host(infra_env_id, id).await?;
            let known = host.as_ref().and_then(|host| host.data.fingerprint.as_ref());
            let same =
                |known: &Fingerprint| fingerprint.is_some_and(|new| identity::is_same_machine(known, new));
            if known.is_some_and(same) {
                return Ok(Claim::of(id, true));
            }
        }
        Ok(Claim {
            id: twin.id,
            known: self.exists(infra_env_id, twin.id).await?,
            twin: Some(twin),
        })
    }

    /// Both machines of one id are told of each other. Repeating it changes nothing.
    async fn tell_twins(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        first: HostId,
        twin: Twin,
    ) -> Result<(), Problem> {
        for (id, finding) in [(first, twin.on_first), (twin.id, twin.on_second)] {
            // One that was deleted in between leaves one machine of that id.
            unless_gone(
                self.apply(app, infra_env_id, id, HostEvent::IdClaimed(finding))
                    .await,
            )?;
        }
        Ok(())
    }

    /// Stores a new host; `None` when it is known by now, or its cluster was just deleted.
    async fn enter(
        &self,
        app: &App,
        infra_env: &Arc<InfraEnv>,
        id: HostId,
        agent_version: &str,
        fingerprint: Option<&Fingerprint>,
        now: Timestamp,
    ) -> Result<Option<Host>, Problem> {
        let around = self.around(app, infra_env.cluster_id, id).await?;
        let facts = facts(app, infra_env, around.as_ref(), None);
        let fingerprint = fingerprint.cloned();
        let step = match host::register(id, infra_env.id, agent_version, fingerprint, &facts, now) {
            Ok(step) => step,
            Err(refused) => {
                let news = host::news::registration_refused(id, infra_env, &refused, now);
                request_id::naming(&self.store).insert_events(&[news]).await?;
                return Err(refused.into());
            }
        };
        let mut made = step.host;
        let history = HistoryEntry {
            at: now,
            who: "agent".into(),
            event: "registration".into(),
            from: None,
            to: made.state.status(),
            reason: made.data.status_info.clone(),
        };
        match request_id::naming(&self.store)
            .insert_host(&made, &history, &step.events)
            .await
        {
            Ok(version) => {
                made.version = version;
                tracing::info!(host.id = %id, infra_env.id = %infra_env.id, to = made.state.status().name(), "host registered");
                Ok(Some(made))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            // The cluster was deleted since it was looked at: look again.
            Err(StoreError::Missing {
                table: "clusters", ..
            }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores a host that is known from elsewhere, and judges it anew. `None`: it is there by now, or its cluster or InfraEnv is gone.
    pub async fn restore(&self, app: &App, host: Host) -> Result<Option<Host>, Problem> {
        let (infra_env_id, id) = (host.infra_env_id, host.id);
        let history = HistoryEntry {
            at: app.now(),
            who: "agent".into(),
            event: "restoration".into(),
            from: None,
            to: host.state.status(),
            reason: host.data.status_info.clone(),
        };
        match request_id::naming(&self.store)
            .insert_host(&host, &history, &[])
            .await
        {
            Ok(_) => {}
            Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        tracing::info!(host.id = %id, infra_env.id = %infra_env_id, to = host.state.status().name(), "host restored from its Agent");
        self.apply(app, infra_env_id, id, HostEvent::FactsChanged)
            .await
            .map(Some)
    }

    /// The cluster around a host, if there is one.
    async fn around(
        &self,
        app: &App,
        cluster: Option<ClusterId>,
        host: HostId,
    ) -> Result<Option<Around>, StoreError> {
        match cluster {
            Some(cluster) => app.clusters.around(cluster, host).await,
            None => Ok(None),
        }
    }

    /// A host asks what to do. When it has nothing new to tell this writes nothing, and reads at most one row, or two when it is bound.
    pub async fn poll(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        id: HostId,
        seen: Seen,
    ) -> Result<Option<Steps>, Problem> {
        let Some(brief) = self.store.polled_host(infra_env_id, id).await? else {
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
            without_inventory(&brief)
        };
        let seen = app.check_ins.last((infra_env_id, id));
        let around = self.around(app, polled.cluster_id, id).await?;
        let facts = facts(app, &infra_env, around.as_ref(), seen.as_ref());
        if let Some(image) = host::instructions::upgrade(&polled, &facts) {
            // Once an hour is stored, whatever is asked for (`EventLimits`).
            let news = host::news::upgrade_agent_started(&polled, image, app.now());
            self.store.insert_events(&[news]).await?;
        }
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
            let cluster_id = match event {
                HostEvent::Bound { cluster_id } => Some(found.cluster_id.unwrap_or(cluster_id)),
                _ => found.cluster_id,
            };
            let around = self.around(app, cluster_id, id).await?;
            let facts = facts(app, &infra_env, around.as_ref(), seen.as_ref());
            let step = match host::advance(&found, &event, &facts, now) {
                Ok(step) => step,
                Err(refused) => {
                    if let Some(news) = host::news::of_refusal(&found, &event, &refused, now) {
                        request_id::naming(&self.store).insert_events(&[news]).await?;
                    }
                    return Err(refused.into());
                }
            };
            if !step.changed {
                return Ok(step.host);
            }
            match self.save(step, &event, now).await {
                Ok(saved) => return Ok(saved),
                Err(StoreError::Conflict { .. }) => {}
                // The cluster was deleted since it was looked at: look again.
                Err(StoreError::Missing {
                    table: "clusters", ..
                }) => {}
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
        saved.version = request_id::naming(&self.store)
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
            unless_gone(
                self.apply(app, infra_env_id, brief.id, HostEvent::FactsChanged)
                    .await,
            )?;
        }
        Ok(())
    }

    /// The cluster or hosts of it are others than before: its hosts are judged anew, or let go when it is deleted. Nobody else's.
    pub async fn cluster_changed(&self, app: &App, cluster_id: ClusterId) -> Result<(), Problem> {
        let Some(deleted) = app.clusters.is_deleted(cluster_id).await? else {
            return Ok(());
        };
        let mut failure = None;
        for (infra_env_id, id) in self.store.list_cluster_host_keys(cluster_id).await? {
            let outcome = if deleted {
                self.let_go(app, infra_env_id, id, cluster_id).await
            } else {
                self.apply(app, infra_env_id, id, HostEvent::PeersChanged)
                    .await
                    .map(drop)
            };
            // The others are not to wait for one that cannot be changed now.
            if let Err(problem) = unless_gone(outcome) {
                failure = Some(problem);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// A host's cluster is gone. Source: docs/protocol/rest-behaviour.md#6.
    async fn let_go(
        &self,
        app: &App,
        infra_env_id: InfraEnvId,
        id: HostId,
        cluster_id: ClusterId,
    ) -> Result<(), Problem> {
        let infra_env = app.infra_envs.get(infra_env_id).await?;
        if infra_env.cluster_id == Some(cluster_id) {
            return self.delete(app, infra_env_id, id).await;
        }
        self.apply(app, infra_env_id, id, HostEvent::Unbound)
            .await
            .map(drop)
    }

    /// Forgets a host.
    pub async fn delete(&self, app: &App, infra_env_id: InfraEnvId, id: HostId) -> Result<(), Problem> {
        let unknown = || Problem::not_found(format!("host {id} in infra_env {infra_env_id}"));
        let found = self.find(infra_env_id, id).await?.ok_or_else(unknown)?;
        let now = app.now();
        let news = [host::news::host_deregistered(&found, now)];
        if !request_id::naming(&self.store)
            .delete_host(infra_env_id, id, now, &news)
            .await?
        {
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

/// Under which id a machine is kept.
struct Claim {
    id: HostId,
    /// It has registered under that id before.
    known: bool,
    /// It is a second machine of the id that it claims.
    twin: Option<Box<Twin>>,
}

impl Claim {
    fn of(id: HostId, known: bool) -> Self {
        Self {
            id,
            known,
            twin: None,
        }
    }
}

fn facts<'a>(
    app: &'a App,
    infra_env: &'a Arc<InfraEnv>,
    around: Option<&'a Around>,
    seen: Option<&Seen>,
) -> HostFacts<'a> {
    HostFacts {
        infra_env,
        cluster: around.and_then(Around::facts),
        requirements: &app.requirements,
        last_seen: seen.map(|seen| seen.at),
        host_clock: seen.and_then(|seen| seen.host_clock),
        listening_since: Some(app.listening_since),
        agent_version: &app.agent_version,
        agent_image: app.agent_image.as_deref(),
        kube: infra_env.kube.is_some(),
        images: host::InstallImages::default(),
        boot_artifacts: None,
    }
}

fn without_inventory(brief: &HostBrief) -> Host {
    Host {
        id: brief.id,
        infra_env_id: brief.infra_env_id,
        cluster_id: brief.cluster_id,
        state: brief.state.clone(),
        version: brief.version,
        due_at: brief.due_at,
        checked_in_at: brief.checked_in_at,
        inventory: None,
        reports: HostReports::default(),
        data: brief.data.clone(),
    }
}
