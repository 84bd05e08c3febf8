//! Registers machines that boot.

use std::sync::Arc;

use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host;
use muster_core::lifecycle::host::{HostEvent, Machine, key};
use muster_core::record::{Host, InfraEnv};
use muster_core::rules::identity;
use muster_core::rules::identity::{Comparison, Duplicate};
use muster_store::{HistoryEntry, StoreError, Subject};

use super::Hosts;
use super::apply::must_decide_again;
use crate::check_ins::Seen;
use crate::error::unless_missing;
use crate::retry::retry;
use crate::{OperationError, Result, request_id};

/// The outcome of a registration.
#[derive(Debug)]
pub enum Registration {
    /// The machine is new.
    New(Host),
    /// It had registered before.
    Again(Host),
}

impl Hosts {
    /// Registers a machine that has booted: a new one is stored, a known one starts again. A second machine that claims the
    /// id of another gets an id of its own, which is in the answer.
    pub async fn register(
        &self,
        infra_env_id: InfraEnvId,
        claimed: HostId,
        agent_version: &str,
        machine: Machine,
    ) -> Result<Registration> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let subject = Subject::Host {
            infra_env_id,
            id: claimed,
        };
        retry(subject, || {
            Box::pin(self.try_register(&infra_env, claimed, agent_version, &machine))
        })
        .await
    }

    async fn try_register(
        &self,
        infra_env: &Arc<InfraEnv>,
        claimed: HostId,
        agent_version: &str,
        machine: &Machine,
    ) -> Result<Option<Registration>> {
        let claim = self
            .claim(infra_env.id, claimed, machine.fingerprint.as_ref())
            .await?;
        if claim.known {
            self.check_key(infra_env, claim.id, machine).await?;
        }
        let seen = Seen {
            at: self.now(),
            host_clock: None,
            agent_version: (!agent_version.is_empty()).then(|| agent_version.to_owned()),
        };
        self.check_ins.note((infra_env.id, claim.id), seen);
        let registration = if claim.known {
            let event = HostEvent::Registered {
                agent_version: agent_version.to_owned(),
                fingerprint: machine.fingerprint.clone(),
                public_key: machine.public_key.clone(),
            };
            match self.apply(infra_env.id, claim.id, event).await {
                // Deleted in between, so it is new now. Agents of other vendors stop for ever on a 404.
                Err(error) if error.is_missing() => return Ok(None),
                outcome => Registration::Again(outcome?),
            }
        } else {
            match self.insert(infra_env, claim.id, agent_version, machine).await? {
                Some(inserted) => Registration::New(inserted),
                None => return Ok(None),
            }
        };
        if let Some(twin) = claim.twin {
            self.report_duplicate(infra_env.id, claimed, *twin).await?;
        }
        Ok(Some(registration))
    }

    /// Checks that the machine may take the place of the one that registered under this id: see [`key`].
    ///
    /// # Errors
    /// [`OperationError::KeyInUse`] while that one is still heard.
    async fn check_key(&self, infra_env: &InfraEnv, id: HostId, machine: &Machine) -> Result<()> {
        let Some(found) = self.store.find_host_brief(infra_env.id, id).await? else {
            return Ok(());
        };
        let polled = self.check_ins.last((infra_env.id, id)).map(|seen| seen.at);
        // Nobody could be heard before the end of a time that was the service's own.
        let since = found.checked_in_at.max(self.hearing.heard().since);
        let heard = polled.map_or(since, |polled| polled.max(since));
        let now = self.now();
        if key::may_register(&found.state, &found.data, &machine.public_key, heard, now) {
            return Ok(());
        }
        let refused = OperationError::KeyInUse {
            infra_env_id: infra_env.id,
            id,
        };
        tracing::warn!(host.id = %id, infra_env.id = %infra_env.id, "{refused}");
        let event = host::events::key_in_use(id, infra_env, &refused.to_string(), now);
        request_id::naming(&self.store).insert_events(&[event]).await?;
        Err(refused)
    }

    /// The id under which a machine that claims `claimed` is kept.
    async fn claim(
        &self,
        infra_env_id: InfraEnvId,
        claimed: HostId,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<Claim, StoreError> {
        let Some(first) = self.store.find_host(infra_env_id, claimed).await? else {
            return Ok(Claim::of(claimed, false));
        };
        let twin = match fingerprint.map(|fingerprint| identity::compare(&first, fingerprint)) {
            Some(Comparison::Different(twin)) => twin,
            Some(Comparison::Same) | None => return Ok(Claim::of(claimed, true)),
        };
        if self.exists(infra_env_id, twin.id).await? {
            return Ok(Claim {
                id: twin.id,
                known: true,
                twin: Some(twin),
            });
        }
        // Its parts may have changed since it got an id of its own. As many are read as findings are kept.
        for id in identity::duplicates(&first)
            .into_iter()
            .take(identity::MOST_DUPLICATES)
        {
            let host = self.store.find_host_brief(infra_env_id, id).await?;
            let known = host.as_ref().and_then(|host| host.data.fingerprint.as_ref());
            let same =
                |known: &Fingerprint| fingerprint.is_some_and(|new| identity::is_same_machine(known, new));
            if known.is_some_and(same) {
                return Ok(Claim::of(id, true));
            }
        }
        Ok(Claim {
            id: twin.id,
            known: false,
            twin: Some(twin),
        })
    }

    /// Records on both machines of one id that the other exists. Repeating it changes nothing.
    async fn report_duplicate(&self, infra_env_id: InfraEnvId, first: HostId, twin: Duplicate) -> Result<()> {
        for (id, finding) in [(first, twin.on_first), (twin.id, twin.on_second)] {
            // One that was deleted in between leaves one machine of that id.
            unless_missing(self.apply(infra_env_id, id, HostEvent::IdClaimed(finding)).await)?;
        }
        Ok(())
    }

    /// True when an InfraEnv takes no more hosts. One that was less than half full a moment ago is not: to count all hosts for each that
    /// registers would make a crowd of them slower the larger it is.
    async fn is_full(&self, id: InfraEnvId) -> Result<bool, StoreError> {
        let most = i64::from(self.settings.max_hosts);
        if self.counts.get(&id).is_some_and(|count| count < most / 2) {
            return Ok(false);
        }
        let count = self.store.count_hosts(id).await?;
        self.counts.insert(id, count);
        Ok(count >= most)
    }

    /// Stores a new host; `None` when it exists by now, or its cluster was just deleted.
    async fn insert(
        &self,
        infra_env: &Arc<InfraEnv>,
        id: HostId,
        agent_version: &str,
        machine: &Machine,
    ) -> Result<Option<Host>> {
        let now = self.now();
        let most = self.settings.max_hosts;
        if self.is_full(infra_env.id).await? {
            let refused = host::full(infra_env, most);
            let event = host::events::infra_env_is_full(id, infra_env, &refused, now);
            request_id::naming(&self.store).insert_events(&[event]).await?;
            return Err(refused.into());
        }
        let environment = self
            .environment(infra_env, infra_env.cluster_id, id, None, None)
            .await?;
        let facts = self.facts(&environment);
        let step = match host::register(id, infra_env.id, agent_version, machine.clone(), &facts, now) {
            Ok(step) => step,
            Err(refused) => {
                let event = host::events::registration_refused(id, infra_env, &refused, now);
                request_id::naming(&self.store).insert_events(&[event]).await?;
                return Err(refused.into());
            }
        };
        let mut inserted = step.host;
        let history = HistoryEntry {
            at: now,
            who: "agent".into(),
            event: "registration".into(),
            from: None,
            to: inserted.state.status(),
            reason: inserted.data.status_info.clone(),
        };
        let written = request_id::naming(&self.store)
            .insert_host(&inserted, &history, &step.events)
            .await;
        match written {
            Ok(version) => {
                inserted.version = version;
                tracing::info!(host.id = %id, infra_env.id = %infra_env.id, to = inserted.state.status().name(), "host registered");
                Ok(Some(inserted))
            }
            Err(error) if must_decide_again(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The id under which a machine is kept.
struct Claim {
    id: HostId,
    /// True when it has registered under that id before.
    known: bool,
    /// Set when it is a second machine of the id that it claims.
    twin: Option<Box<Duplicate>>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use muster_store::EventQuery;

    #[tokio::test]
    async fn a_full_infra_env_refuses_new_hosts_with_one_event_and_keeps_those_it_has() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let hosts = &world.operations.hosts;
        let register = |id| hosts.register(pooled.infra_env_id, id, "agent", Machine::default());
        register(HostId::random()).await.unwrap();
        for _ in 0..3 {
            let refused = register(HostId::random()).await.unwrap_err();
            assert!(refused.to_string().contains("--max-hosts"), "{refused}");
        }
        register(pooled.id).await.unwrap();
        let events = world
            .operations
            .store
            .list_events(&EventQuery::default())
            .await
            .unwrap();
        let refusals = events
            .events
            .iter()
            .filter(|event| event.name == "host_registration_failed");
        assert_eq!(refusals.count(), 1);
    }
}
