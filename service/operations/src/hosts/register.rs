//! Registers machines that boot.

use std::sync::Arc;

use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host;
use muster_core::lifecycle::host::{HostEvent, Machine, Step, key};
use muster_core::record::{Host, InfraEnv};
use muster_core::rules::identity;
use muster_core::rules::identity::{Comparison, Duplicate};
use muster_store::{HistoryEntry, StoreError, Subject};
use tokio::sync::OwnedMutexGuard;

use super::Hosts;
use super::apply::must_decide_again;
use crate::error::unless_missing;
use crate::hosts::check_ins::Seen;
use crate::retry::retry;
use crate::{OperationError, Result, request_id};

/// Smaller limits are kept exactly by each replica: so few hosts are counted quickly. Larger ones can be exceeded by
/// concurrent registrations.
const COUNTED_BELOW: u32 = 1000;

/// The outcome of a registration.
#[derive(Debug)]
pub enum Registration {
    /// The machine is new.
    New(Host),
    /// It had registered before.
    Again(Host),
}

impl Hosts {
    /// Registers a machine that has booted: a new one is stored, a known one starts again. A second machine that claims
    /// the id of another gets an id of its own, which is in the response.
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
        let fingerprint = machine.fingerprint.as_ref();
        let mut claim = self.claim(infra_env.id, claimed, fingerprint).await?;
        if !claim.known {
            claim = self
                .claim_elsewhere(infra_env, claim, agent_version, machine)
                .await?;
        }
        if claim.known {
            self.check_key(infra_env, claim.id, machine).await?;
        }
        let registration = if claim.known {
            let event = HostEvent::Registered {
                agent_version: agent_version.to_owned(),
                fingerprint: machine.fingerprint.clone(),
                public_key: machine.public_key.clone(),
            };
            match self.apply(infra_env.id, claim.id, event).await {
                // Deleted in between, so it is new now. Agents of other vendors stop forever on a 404.
                Err(error) if error.is_missing() => return Ok(None),
                outcome => Registration::Again(outcome?),
            }
        } else {
            match self.insert(infra_env, claim.id, agent_version, machine).await? {
                Some(inserted) => Registration::New(inserted),
                None => return Ok(None),
            }
        };
        // Not before: any host can be named by holders of the token.
        let seen = Seen {
            at: self.now(),
            host_clock: None,
            agent_version: (!agent_version.is_empty()).then(|| agent_version.to_owned()),
        };
        self.check_ins.note((infra_env.id, claim.id), seen);
        if let Some((first_in, twin)) = claim.twin {
            self.report_duplicate((first_in, claimed), (infra_env.id, twin))
                .await?;
        }
        Ok(Some(registration))
    }

    /// Checks that the machine may take the place of the one that registered under this id: see [`key`].
    ///
    /// # Errors
    /// [`OperationError::KeyInUse`] while that machine still polls.
    async fn check_key(&self, infra_env: &InfraEnv, id: HostId, machine: &Machine) -> Result<()> {
        let Some(found) = self.store.find_host_brief(infra_env.id, id).await? else {
            return Ok(());
        };
        let heard = self.heard((infra_env.id, id), found.checked_in_at);
        let now = self.now();
        if key::may_register(&found.state, &found.data, machine, heard, now) {
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

    /// The last request of a host, or the earliest time from which on one could have been received: not before the end
    /// of an outage of the service.
    fn heard(&self, host: (InfraEnvId, HostId), checked_in_at: Timestamp) -> Timestamp {
        let since = checked_in_at.max(self.outages.heard().since);
        let polled = self.check_ins.last(host).map(|seen| seen.at);
        polled.map_or(since, |polled| polled.max(since))
    }

    /// The claim of a machine that is new in its InfraEnv, where other InfraEnvs of the namespace may have hosts of its id: the id is the name
    /// of one Agent there. A host that [`stays`](key::stays) keeps it, and the machine gets an id of its own; another one is left, unless its
    /// InfraEnv does not take the machine.
    ///
    /// # Errors
    /// [`OperationError::IdInUse`] when such a host stays, and the machine has no fingerprint to make an id of; those of [`Self::admitted`].
    async fn claim_elsewhere(
        &self,
        infra_env: &Arc<InfraEnv>,
        claim: Claim,
        agent_version: &str,
        machine: &Machine,
    ) -> Result<Claim> {
        let Some(resource) = infra_env
            .kube
            .as_ref()
            .filter(|_| infra_env.belongs_to_resource())
        else {
            return Ok(claim);
        };
        let others = self
            .store
            .find_hosts_by_kube(&resource.namespace, claim.id)
            .await?;
        for (_, host) in others {
            let Some(from) = self.infra_envs.find(host.infra_env_id).await? else {
                continue;
            };
            if from.id == infra_env.id || !from.belongs_to_resource() {
                continue;
            }
            let now = self.now();
            let heard = self.heard((from.id, host.id), host.checked_in_at);
            if !key::stays(&host.state, &host.data, heard, now) {
                // A machine that is refused takes nothing.
                self.admitted(infra_env, host.id, agent_version, machine).await?;
                tracing::info!(host.id = %host.id, from = from.name, to = infra_env.name, "the host was booted into another InfraEnv");
                let event = host::events::moved(&host, infra_env, now);
                unless_missing(self.delete_with((from.id, host.id), event).await)?;
                continue;
            }
            let Some(fingerprint) = machine.fingerprint.as_ref() else {
                let refused = OperationError::IdInUse {
                    infra_env: from.name.clone(),
                    id: host.id,
                };
                tracing::warn!(host.id = %host.id, infra_env.id = %infra_env.id, "{refused}");
                let why = refused.to_string();
                let events =
                    [&*from, &**infra_env].map(|side| host::events::id_in_use(host.id, side, &why, now));
                request_id::naming(&self.store).insert_events(&events).await?;
                return Err(refused);
            };
            let twin = identity::elsewhere(&host, &from, fingerprint, infra_env);
            return Ok(self.claim_of_twin(infra_env.id, &host, fingerprint, twin).await?);
        }
        Ok(claim)
    }

    /// The id under which a machine that claims `claimed` is kept in its InfraEnv.
    async fn claim(
        &self,
        infra_env_id: InfraEnvId,
        claimed: HostId,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<Claim, StoreError> {
        let Some(first) = self.store.find_host(infra_env_id, claimed).await? else {
            // The host that had the id when this machine got one of its own may be deleted by now.
            let own = fingerprint.iter().flat_map(|fingerprint| {
                [
                    identity::own_id(claimed, fingerprint),
                    identity::own_id_in(claimed, infra_env_id, fingerprint),
                ]
            });
            for id in own {
                if self.exists(infra_env_id, id).await? {
                    return Ok(Claim::of(id, true));
                }
            }
            return Ok(Claim::of(claimed, false));
        };
        let Some(fingerprint) = fingerprint else {
            return Ok(Claim::of(claimed, true));
        };
        let twin = match identity::compare(&first, fingerprint) {
            Comparison::Different(twin) => *twin,
            Comparison::Same => return Ok(Claim::of(claimed, true)),
        };
        self.claim_of_twin(infra_env_id, &first, fingerprint, twin).await
    }

    /// The claim of a machine that registers in the InfraEnv as the `twin` of `first`, which has the id.
    async fn claim_of_twin(
        &self,
        infra_env_id: InfraEnvId,
        first: &Host,
        fingerprint: &Fingerprint,
        twin: Duplicate,
    ) -> Result<Claim, StoreError> {
        let known = self.exists(infra_env_id, twin.id).await?;
        if !known && let Some(id) = self.known_twin(infra_env_id, first, fingerprint).await? {
            return Ok(Claim::of(id, true));
        }
        Ok(Claim {
            id: twin.id,
            known,
            twin: Some((first.infra_env_id, twin)),
        })
    }

    /// A host of the InfraEnv that once claimed the id of `first`, and is this machine: its parts may have changed
    /// since it got an id of its own. At most as many are read as findings are kept.
    async fn known_twin(
        &self,
        infra_env_id: InfraEnvId,
        first: &Host,
        fingerprint: &Fingerprint,
    ) -> Result<Option<HostId>, StoreError> {
        let claimed = identity::duplicates(first).into_iter();
        for id in claimed.take(identity::MOST_DUPLICATES) {
            let host = self.store.find_host_brief(infra_env_id, id).await?;
            let known = host.as_ref().and_then(|host| host.data.fingerprint.as_ref());
            if known.is_some_and(|known| identity::is_same_machine(known, fingerprint)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Records on both machines of one id that the other exists. Repeating it changes nothing.
    async fn report_duplicate(
        &self,
        first: (InfraEnvId, HostId),
        (infra_env_id, twin): (InfraEnvId, Duplicate),
    ) -> Result<()> {
        let second = (infra_env_id, twin.id);
        for ((infra_env_id, id), finding) in [(first, twin.on_first), (second, twin.on_second)] {
            // If the host was deleted in between, one machine of that id is left.
            unless_missing(self.apply(infra_env_id, id, HostEvent::IdClaimed(finding)).await)?;
        }
        Ok(())
    }

    /// True if an InfraEnv accepts no more hosts. A large one that was less than half full a moment ago is not full: a
    /// count for each registration would make a crowd of registrations slower the larger the InfraEnv is.
    async fn is_full(&self, id: InfraEnvId) -> Result<bool, StoreError> {
        let most = i64::from(self.settings.max_hosts);
        let may_be_believed = |count| !self.counts_each() && count < most / 2;
        if self.counts.get(&id).is_some_and(may_be_believed) {
            return Ok(false);
        }
        let count = self.store.count_hosts(id).await?;
        self.counts.insert(id, count);
        Ok(count >= most)
    }

    /// True if hosts are counted for each registration.
    fn counts_each(&self) -> bool {
        self.settings.max_hosts < COUNTED_BELOW
    }

    /// Locks the registration of new hosts of an InfraEnv if its hosts are counted for each: no other host is stored
    /// between the count and the write.
    async fn turn(&self, id: InfraEnvId) -> Option<OwnedMutexGuard<()>> {
        if !self.counts_each() {
            return None;
        }
        let turns = self.turns.get_with(id, Arc::default);
        Some(turns.lock_owned().await)
    }

    /// The new host that a machine is, if its InfraEnv takes it.
    ///
    /// # Errors
    /// Fails if the InfraEnv is full, or refuses the machine; an event records which.
    async fn admitted(
        &self,
        infra_env: &Arc<InfraEnv>,
        id: HostId,
        agent_version: &str,
        machine: &Machine,
    ) -> Result<Step> {
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
        match host::register(id, infra_env.id, agent_version, machine.clone(), &facts, now) {
            Ok(step) => Ok(step),
            Err(refused) => {
                let event = host::events::registration_refused(id, infra_env, &refused, now);
                request_id::naming(&self.store).insert_events(&[event]).await?;
                Err(refused.into())
            }
        }
    }

    /// Stores a new host; `None` when it exists by now, or its cluster was just deleted.
    ///
    /// # Errors
    /// Those of [`Self::admitted`].
    async fn insert(
        &self,
        infra_env: &Arc<InfraEnv>,
        id: HostId,
        agent_version: &str,
        machine: &Machine,
    ) -> Result<Option<Host>> {
        let _turn = self.turn(infra_env.id).await;
        let step = self.admitted(infra_env, id, agent_version, machine).await?;
        let mut inserted = step.host;
        let history = HistoryEntry {
            at: inserted.data.created_at,
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
    /// True if it has registered under that id before.
    known: bool,
    /// Set if it is a second machine of the claimed id: with the InfraEnv of the first.
    twin: Option<(InfraEnvId, Duplicate)>,
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
    use crate::testing::world::World;
    use muster_core::record::KubeRef;
    use muster_store::EventQuery;

    #[tokio::test]
    async fn a_full_infra_env_refuses_new_hosts_with_one_event_and_keeps_those_it_has() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let hosts = &world.operations.hosts;
        let register = |id| hosts.register(pooled.infra_env_id, id, "agent", Machine::default());
        register(HostId::random()).await.unwrap();
        for _ in 0..3 {
            let id = HostId::random();
            let refused = register(id).await.unwrap_err();
            assert!(refused.to_string().contains("--max-hosts"), "{refused}");
            let noted = world.operations.check_ins.last((pooled.infra_env_id, id));
            assert_eq!(noted, None);
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

    #[tokio::test]
    async fn a_machine_that_is_refused_takes_nothing_from_a_host_of_another_infra_env() {
        let world = World::new().await;
        let hosts = &world.operations.hosts;
        let of = |name| Some(KubeRef::new("hw", name));
        let from = world.infra_env("from", of("from")).await;
        let full = world.infra_env("full", of("full")).await;
        let register = |pool, id| hosts.register(pool, id, "agent", Machine::default());
        let id = HostId::random();
        register(from, id).await.unwrap();
        for _ in 0..3 {
            register(full, HostId::random()).await.unwrap();
        }
        world.run(chrono::TimeDelta::seconds(100), &[]).await;
        let refused = register(full, id).await.unwrap_err();
        assert!(refused.to_string().contains("--max-hosts"), "{refused}");
        assert!(hosts.find(from, id).await.unwrap().is_some());
        let roomy = world.infra_env("roomy", of("roomy")).await;
        register(roomy, id).await.unwrap();
        assert!(hosts.find(from, id).await.unwrap().is_none());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_crowd_is_counted_as_exactly_as_one_host_after_the_other() {
        let world = World::new().await;
        let operations = &world.operations;
        let (pooled, _) = world.hosts().await;
        let infra_env = pooled.infra_env_id;
        let mut crowd = tokio::task::JoinSet::new();
        for _ in 0..40 {
            let operations = operations.clone();
            crowd.spawn(async move {
                let registered =
                    operations
                        .hosts
                        .register(infra_env, HostId::random(), "agent", Machine::default());
                registered.await.is_ok()
            });
        }
        let taken = crowd.join_all().await.into_iter().filter(|taken| *taken).count();
        assert_eq!(taken, 1);
        assert_eq!(operations.store.count_hosts(infra_env).await.unwrap(), 3);
    }
}
