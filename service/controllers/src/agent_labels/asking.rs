//! Evaluates the queries while an Agent is reconciled, and caches their outcomes by inventory.
//!
//! An Agent's status does not wait for a query that takes long: its labels follow when the result is there.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use muster_controller::digest::digest;
use muster_controller::retry::RETRY_INTERVAL;
use muster_core::record::KubeRef;
use muster_resources::AgentClassification;
use muster_resources::inventory::HostInventory;
use tokio::time::{Instant, sleep, timeout};

use super::query::Outcome;
use super::worker::{Queries, STOPPED_QUERY_WAIT};
use super::{decided, unusable};
use crate::agent::lanes::{Lane, Lanes};

/// Limit of a reconcile's wait for queries. A query takes less than a millisecond, and the process that evaluates
/// it some more to start.
const PATIENCE: Duration = Duration::from_millis(150);

/// Outcomes of queries, by Agent.
pub struct Labels {
    queries: Queries,
    lanes: Arc<Lanes>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    remembered: HashMap<KubeRef, Remembered>,
    /// Agents with queries that run; true: no reconcile waits for the result any more.
    asking: HashMap<KubeRef, bool>,
    failures: HashMap<String, String>,
}

struct Remembered {
    inventory: u64,
    queries: u64,
    outcomes: Arc<Vec<Outcome>>,
    until: Option<Instant>,
}

impl Labels {
    /// Returns an empty cache, which requests Agents from `lanes` when late results arrive.
    pub fn new(lanes: Arc<Lanes>) -> Self {
        Self {
            queries: Queries::default(),
            lanes,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The labels to set or remove on the Agent `agent`. `inventory`: with its digest; without one no query
    /// runs. A query without a result yet changes nothing; the Agent is reconciled again when there is one.
    ///
    /// # Errors
    /// Fails if queries cannot run at all.
    pub async fn wanted(
        self: &Arc<Self>,
        agent: &KubeRef,
        inventory: Option<(&HostInventory, u64)>,
        classifications: &[Arc<AgentClassification>],
        present: &BTreeMap<String, String>,
    ) -> io::Result<BTreeMap<String, Option<String>>> {
        let (alive, leaving): (Vec<_>, Vec<_>) = classifications
            .iter()
            .filter(|classification| unusable(classification).is_none())
            .partition(|classification| classification.metadata.deletion_timestamp.is_none());
        let mut asked: Vec<(&AgentClassification, Option<Outcome>)> = Vec::new();
        if let Some((inventory, digest)) = inventory
            && !alive.is_empty()
        {
            let queries: Vec<String> = alive.iter().map(|one| one.spec.query.clone()).collect();
            let outcomes = self.ask(agent, inventory, digest, queries).await?;
            for (classification, outcome) in alive
                .iter()
                .zip(outcomes.iter().flat_map(|outcomes| outcomes.iter()))
            {
                asked.push((classification, Some(outcome.clone())));
            }
        }
        asked.extend(leaving.iter().map(|one| (one.as_ref(), None)));
        asked.sort_by_key(|(one, _)| one.metadata.name.clone());
        Ok(decided(&asked, present))
    }

    /// Returns the result; `None`: it comes later.
    async fn ask(
        self: &Arc<Self>,
        agent: &KubeRef,
        inventory: &HostInventory,
        inventory_digest: u64,
        queries: Vec<String>,
    ) -> io::Result<Option<Arc<Vec<Outcome>>>> {
        let question = (inventory_digest, digest(&queries));
        if let Some(outcomes) = self.remembered(agent, question) {
            return Ok(Some(outcomes));
        }
        if let Some(is_abandoned) = self.state().asking.get_mut(agent) {
            *is_abandoned = true;
            return Ok(None);
        }
        let json = serde_json::to_string(inventory)?;
        self.state().asking.insert(agent.clone(), false);
        let (labels, asked_for) = (self.clone(), agent.clone());
        let answer = tokio::spawn(async move { labels.answer(asked_for, question, json, queries).await });
        match timeout(PATIENCE, answer).await {
            Ok(Ok(outcome)) => outcome.map(Some),
            Ok(Err(broken)) => Err(io::Error::other(broken)),
            Err(_) => {
                if let Some(is_abandoned) = self.state().asking.get_mut(agent) {
                    *is_abandoned = true;
                }
                // The result may have come just now.
                Ok(self.remembered(agent, question))
            }
        }
    }

    async fn answer(
        &self,
        agent: KubeRef,
        (inventory, queries_digest): (u64, u64),
        json: String,
        queries: Vec<String>,
    ) -> io::Result<Arc<Vec<Outcome>>> {
        let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
        let outcomes = self.queries.ask(&json, &texts).await.map(Arc::new);
        let is_abandoned = {
            let mut state = self.state();
            if let Ok(outcomes) = &outcomes {
                let mut stopped = false;
                for (query, outcome) in queries.iter().zip(outcomes.iter()) {
                    if let Outcome::Fails(why) | Outcome::Stopped(why) = outcome {
                        state.failures.insert(query.clone(), why.clone());
                    }
                    stopped |= matches!(outcome, Outcome::Stopped(_));
                }
                let remembered = Remembered {
                    inventory,
                    queries: queries_digest,
                    outcomes: outcomes.clone(),
                    until: stopped.then(|| Instant::now() + STOPPED_QUERY_WAIT),
                };
                state.remembered.insert(agent.clone(), remembered);
            }
            state.asking.remove(&agent).unwrap_or(false)
        };
        if is_abandoned {
            if let Err(error) = &outcomes {
                tracing::warn!(%agent, %error, "queries of AgentClassifications cannot be evaluated; trying again");
                sleep(RETRY_INTERVAL).await;
            }
            self.lanes.add(&agent, Lane::Normal);
        }
        outcomes
    }

    fn remembered(&self, agent: &KubeRef, (inventory, queries): (u64, u64)) -> Option<Arc<Vec<Outcome>>> {
        let state = self.state();
        let known = state.remembered.get(agent)?;
        let good = known.inventory == inventory
            && known.queries == queries
            && known.until.is_none_or(|until| until > Instant::now());
        good.then(|| known.outcomes.clone())
    }

    /// The error of the last failure of `query`.
    pub fn failure(&self, query: &str) -> Option<String> {
        self.state().failures.get(query).cloned()
    }

    /// Forgets an Agent that is gone.
    pub fn forget(&self, agent: &KubeRef) {
        self.state().remembered.remove(agent);
    }

    /// Forgets the failures of all queries but these.
    pub fn forget_failures_but(&self, queries: &[&str]) {
        let queries: HashSet<&str> = queries.iter().copied().collect();
        self.state()
            .failures
            .retain(|query, _| queries.contains(query.as_str()));
    }
}
