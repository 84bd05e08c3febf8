//! Adds, changes and deletes BMCs, and is the only writer of the state of their machines' discovery. The driver that
//! talks to the BMCs is a crate of its own (`service/bmc-driver`): this one uses no HTTP.

mod claims;
mod error;
mod of_host;
mod power;
mod reads;
mod reboot;
mod resource;
mod sleep;

use std::collections::{BTreeMap, HashSet};

use muster_api::bmc::{BmcCreateParams, BmcPhase, BmcUpdateParams};
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::{BmcEvent, added, advance, create, deleted, update};
use muster_core::record::{Bmc, BmcLimits, NewEvent};
use muster_core::rules::input::Invalid;
use muster_store::bmc::BmcName;
use muster_store::{Store, StoreError, Subject};
use tokio::sync::Notify;

use crate::now;
use crate::retry::{retry, unless_conflict};
use crate::{OperationError, Result, request_id};

pub use error::BmcProblem;
pub use muster_store::bmc::BmcWindow;
use reads::Reads;
pub use reboot::RebootRequest;
pub use resource::Following;

/// Most BMCs in one request: all of them are in memory together.
pub const MOST_AT_ONCE: usize = 1000;

/// Most BMCs of an InfraEnv.
const MOST: usize = 10_000;

/// The BMCs of a service.
pub struct Bmcs {
    store: Store,
    limits: BmcLimits,
    due: Notify,
    reads: Reads,
}

impl Bmcs {
    pub fn new(store: Store, limits: BmcLimits) -> Self {
        Self {
            store,
            limits,
            due: Notify::new(),
            reads: Reads::default(),
        }
    }

    /// Adds BMCs, all or none; `dry`: only checks if they could be added.
    ///
    /// # Errors
    /// The first BMC that cannot be added; its place in the list is named if there are several.
    pub async fn add(
        &self,
        infra_env_id: InfraEnvId,
        list: Vec<BmcCreateParams>,
        dry: bool,
    ) -> Result<Vec<Bmc>> {
        let several = list.len() > 1;
        let place = |at: usize| match several {
            true => format!("[{at}]."),
            false => String::new(),
        };
        self.has_room(infra_env_id, list.len()).await?;
        let at = now();
        let mut made = Vec::with_capacity(list.len());
        let mut taken = HashSet::new();
        for (index, params) in list.into_iter().enumerate() {
            let bmc = create(params, infra_env_id, BmcId::random(), at)
                .map_err(|wrong| Invalid::new(format!("{}{}", place(index), wrong.field), wrong.reason))?;
            let own = [format!("name {}", bmc.name), format!("place {}", bmc.place())];
            let is_twice = own.into_iter().any(|text| !taken.insert(text));
            if is_twice || self.store.bmc_takes(&bmc).await? {
                return Err(BmcProblem::Taken(format!("{}{}", place(index), bmc.name)).into());
            }
            made.push(bmc);
        }
        if dry {
            return Ok(made);
        }
        let events: Vec<NewEvent> = made.iter().map(|bmc| added(bmc, at)).collect();
        let stored = request_id::naming(&self.store).insert_bmcs(&made, &events).await;
        stored.map_err(|error| match error {
            StoreError::Conflict { id, .. } => BmcProblem::Taken(id).into(),
            other => OperationError::from(other),
        })?;
        for bmc in &mut made {
            bmc.version = 1;
            tracing::info!(bmc.id = %bmc.id, name = bmc.name, infra_env.id = %infra_env_id, "BMC added");
        }
        self.due.notify_one();
        Ok(made)
    }

    async fn has_room(&self, infra_env_id: InfraEnvId, more: usize) -> Result<()> {
        if more > MOST_AT_ONCE {
            let reason = format!("has {more} BMCs; at most {MOST_AT_ONCE} are added at once");
            return Err(Invalid::new("body", reason).into());
        }
        let there = self.store.count_bmcs(infra_env_id).await?;
        let there = usize::try_from(there).unwrap_or(usize::MAX);
        if there.saturating_add(more) > MOST {
            return Err(BmcProblem::NotNow(format!(
                "the InfraEnv has {there} BMCs; it can have {MOST}: delete some first"
            ))
            .into());
        }
        Ok(())
    }

    /// The BMCs of an InfraEnv, by name.
    pub async fn list(&self, infra_env_id: InfraEnvId) -> Result<Vec<Bmc>> {
        Ok(self.store.list_bmcs(infra_env_id).await?)
    }

    /// Names and addresses of the BMCs of an InfraEnv, or of all, by name.
    pub async fn names(&self, infra_env_id: Option<InfraEnvId>) -> Result<Vec<BmcName>> {
        Ok(self.store.list_bmc_names(infra_env_id).await?)
    }

    /// BMCs of all InfraEnvs that are there, and whether there are more behind the window.
    pub async fn window(&self, window: BmcWindow) -> Result<(Vec<Bmc>, bool)> {
        Ok(self.store.bmc_window(window).await?)
    }

    /// Number of BMCs by phase, of an InfraEnv or of all.
    pub async fn count_by_phase(&self, infra_env_id: Option<InfraEnvId>) -> Result<BTreeMap<BmcPhase, i64>> {
        Ok(self.store.count_bmcs_by_phase(infra_env_id).await?)
    }

    /// One BMC of an InfraEnv.
    ///
    /// # Errors
    /// [`BmcProblem::Missing`] if it does not exist, or is another InfraEnv's.
    pub async fn get(&self, infra_env_id: InfraEnvId, id: BmcId) -> Result<Bmc> {
        let found = self.store.find_bmc(id).await?;
        let found = found.filter(|bmc| bmc.infra_env_id == infra_env_id);
        found.ok_or(OperationError::Bmc(BmcProblem::Missing(id)))
    }

    /// Changes the settings of a BMC.
    pub async fn update(&self, infra_env_id: InfraEnvId, id: BmcId, params: &BmcUpdateParams) -> Result<Bmc> {
        retry(Subject::Bmc(id), async || {
            let found = self.get(infra_env_id, id).await?;
            let step = update(&found, params, now()).map_err(BmcProblem::of)?;
            let Some(step) = step else { return Ok(Some(found)) };
            let (mut next, events) = (step.bmc, step.events);
            match request_id::naming(&self.store).update_bmc(&next, &events).await {
                Ok(version) => {
                    next.version = version;
                    self.due.notify_one();
                    Ok(Some(next))
                }
                Err(StoreError::Conflict { .. }) if self.store.bmc_takes(&next).await? => {
                    Err(BmcProblem::Taken(next.name).into())
                }
                other => unless_conflict(other.map(|_| next)),
            }
        })
        .await
    }

    /// Begins the discovery of its machine.
    pub async fn discover(&self, infra_env_id: InfraEnvId, id: BmcId) -> Result<Bmc> {
        self.asked(infra_env_id, id, BmcEvent::Discover).await
    }

    /// Ends the discovery of its machine.
    pub async fn stop(&self, infra_env_id: InfraEnvId, id: BmcId) -> Result<Bmc> {
        self.asked(infra_env_id, id, BmcEvent::Stop).await
    }

    async fn asked(&self, infra_env_id: InfraEnvId, id: BmcId, event: BmcEvent) -> Result<Bmc> {
        let found = self.get(infra_env_id, id).await?;
        Ok(self.apply(id, None, event).await?.unwrap_or(found))
    }

    /// Deletes a BMC with its password.
    ///
    /// # Errors
    /// [`BmcProblem::NotNow`] while its machine is being discovered, or its medium is being ejected.
    pub async fn delete(&self, infra_env_id: InfraEnvId, id: BmcId) -> Result<()> {
        retry(Subject::Bmc(id), async || {
            let found = self.get(infra_env_id, id).await?;
            let why = match (found.stage.is_active(), found.cleans_up()) {
                (true, _) => Some("its machine is being discovered: stop it first"),
                (_, true) if !in_use(&found) => Some("its medium is being taken out: try again in a minute"),
                _ => None,
            };
            if let Some(why) = why {
                return Err(BmcProblem::NotNow(format!("BMC {}: {why}", found.name)).into());
            }
            let store = request_id::naming(&self.store);
            unless_conflict(store.delete_bmc(&found, &[deleted(&found, now())]).await)
        })
        .await
    }

    /// Applies an event to a BMC and stores the result, with retries if other writers were faster; `run`: the event is
    /// void if the BMC has another discovery by now. `None`: nothing has changed.
    ///
    /// # Errors
    /// A user's request that is refused, or an error of the database.
    pub async fn apply(&self, id: BmcId, run: Option<i64>, event: BmcEvent) -> Result<Option<Bmc>> {
        retry(Subject::Bmc(id), async || {
            let Some(found) = self.store.find_bmc(id).await? else {
                return Err(BmcProblem::Missing(id).into());
            };
            if run.is_some_and(|run| run != found.run) {
                return Ok(Some(None));
            }
            let step = advance(&found, event.clone(), &self.limits, now()).map_err(BmcProblem::of)?;
            let Some(step) = step else { return Ok(Some(None)) };
            let (mut next, events) = (step.bmc, step.events);
            let store = request_id::naming(&self.store);
            if next.progress.abandoned && !next.cleans_up() {
                let deleted = unless_conflict(store.delete_bmc(&found, &events).await)?;
                return Ok(deleted.map(|()| None));
            }
            let Some(version) = unless_conflict(store.update_bmc(&next, &events).await)? else {
                return Ok(None);
            };
            next.version = version;
            if next.stage != found.stage {
                tracing::info!(bmc.id = %id, name = next.name, phase = %next.stage.phase(), "BMC");
            }
            let due = next.progress.due_at.is_some_and(|due| due <= now());
            if due || next.power.pending().is_some_and(|request| !request.begun) {
                self.due.notify_one();
            }
            Ok(Some(Some(next)))
        })
        .await
    }

    /// Waits until a BMC becomes due in this process.
    pub async fn due(&self) {
        self.due.notified().await;
    }

    /// Counts a read of the image through a BMC's own URL.
    pub fn note_read(&self, id: BmcId, bytes: u64) {
        self.reads.note(id, bytes, now());
    }

    /// Writes the counted reads; those that could not be written are kept for the next time.
    ///
    /// # Errors
    /// If the database fails.
    pub(crate) async fn write_reads(&self) -> Result<(), StoreError> {
        self.reads.write(&self.store).await
    }
}

fn in_use(bmc: &Bmc) -> bool {
    bmc.progress.leftover.as_ref().is_some_and(|left| left.in_use)
}
