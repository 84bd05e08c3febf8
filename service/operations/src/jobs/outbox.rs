//! Runs the effects of stored changes, also of those whose writer died after the commit.

mod effects;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_api::ids::InfraEnvId;
use muster_core::rules::checks::CheckInputs;
use muster_store::{OutboxEntry, OutboxScope, StoreError, Subject};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use self::effects::{Effects, Work};
use crate::{Operations, Result, chain, now, unless_missing};

/// Entries read at once.
const BATCH: u32 = 200;

/// An entry is claimed for this long, and the claim is renewed during the work; if this replica dies, another one takes
/// the entry then.
const CLAIM: Duration = Duration::from_secs(60);

/// Between two reads of the outbox without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Pause after a validation of hosts: changes of many hosts of a cluster at the same time lead to one evaluation of the
/// cluster.
const REST: Duration = Duration::from_secs(2);

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut rest_ends = Instant::now();
    let validation = Validation {
        operations: operations.clone(),
        judged: Mutex::default(),
    };
    let mut effects = Effects::new(validation, CLAIM / 3);
    loop {
        operations.rounds.begin("changes");
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        let worked = tokio::select! {
            worked = work(&operations, &mut effects) => worked,
            () = stop.cancelled() => return,
        };
        let worked = worked.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "the outbox could not be worked on; trying again");
            Batch::default()
        });
        if worked.validated {
            rest_ends = Instant::now() + REST;
        }
        if worked.more {
            continue;
        }
        let soon = async {
            operations.changes.outbox_filled().await;
            sleep_until(rest_ends).await;
        };
        tokio::select! {
            () = soon => {}
            () = sleep(POLL_INTERVAL) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// The outcome of one batch.
#[derive(Default)]
struct Batch {
    more: bool,
    /// True when hosts were validated.
    validated: bool,
}

async fn work(operations: &Operations, effects: &mut Effects<Validation>) -> Result<Batch, StoreError> {
    let scope = scope(operations);
    if !operations.store.outbox_waits(now(), scope).await? {
        metrics::gauge!("muster_outbox_age_seconds").set(0.0);
        return Ok(Batch::default());
    }
    let entries = operations
        .store
        .take_from_outbox(now(), CLAIM, BATCH, scope)
        .await?;
    let oldest = entries
        .first()
        .map_or(0, |entry| (now() - entry.created_at).num_seconds());
    metrics::gauge!("muster_outbox_age_seconds").set(oldest as f64);
    let mut done = Vec::with_capacity(entries.len());
    let mut validated = false;
    let more = entries.len() == BATCH as usize;
    for entry in entries {
        if operations
            .changes
            .publish_from_outbox(entry.subject, entry.version)
        {
            done.push(entry.id);
        } else {
            validated = true;
            effects.begin(entry);
        }
    }
    operations.store.acknowledge(&done).await?;
    Ok(Batch { more, validated })
}

/// With a bridge, changes of hosts and BMCs are for the replica that runs the controllers, and wait while there is
/// none.
fn scope(operations: &Operations) -> OutboxScope {
    if operations.bridge.is_on() && !operations.changes.has_subscribers() {
        OutboxScope::NotHosts
    } else {
        OutboxScope::All
    }
}

/// Validates hosts after their InfraEnv or their cluster changed.
struct Validation {
    operations: Arc<Operations>,
    /// The version of each InfraEnv with which its hosts were validated last, and the fields of it that their checks
    /// read.
    judged: Mutex<HashMap<InfraEnvId, (i64, CheckInputs)>>,
}

impl Work for Validation {
    async fn run(&self, entry: &OutboxEntry) -> bool {
        let outcome = match entry.subject {
            Subject::InfraEnv(id) => unless_missing(self.infra_env_changed(id).await),
            // Facts that its hosts share changed, or the hosts have to be released.
            Subject::Cluster(id) => self.operations.hosts.cluster_changed(id).await,
            Subject::Host { .. } | Subject::Bmc(_) | Subject::Job { .. } => Ok(()),
        };
        if let Err(error) = &outcome {
            tracing::warn!(record = ?entry.subject, error = chain(error), "its hosts could not be validated; trying again");
        }
        outcome.is_ok()
    }

    async fn renew(&self, ids: Vec<String>) {
        if let Err(error) = self.operations.store.renew_claims(&ids, now(), CLAIM).await {
            tracing::debug!(%error, "another replica may begin the same work");
        }
    }

    async fn acknowledge(&self, id: String) {
        if let Err(error) = self.operations.store.acknowledge(&[id]).await {
            tracing::debug!(%error, "hosts are validated once more");
        }
    }
}

impl Validation {
    /// Validates with the settings as they are stored now: another replica may have written them, and the entry is not repeated.
    async fn infra_env_changed(&self, id: InfraEnvId) -> Result<()> {
        let Some(infra_env) = self.operations.infra_envs.refresh(id).await? else {
            self.judged().remove(&id);
            return Ok(());
        };
        let (version, inputs) = (infra_env.version, CheckInputs::of(&infra_env));
        // Only for two successive versions: another replica may have validated with one in between.
        let same = |(before, known): &(i64, CheckInputs)| version - before <= 1 && *known == inputs;
        if !self.judged().get(&id).is_some_and(same) {
            self.operations.hosts.infra_env_changed(id).await?;
        }
        self.judged().insert(id, (version, inputs));
        Ok(())
    }

    fn judged(&self) -> std::sync::MutexGuard<'_, HashMap<InfraEnvId, (i64, CheckInputs)>> {
        self.judged
            .lock()
            .expect("no code panics while it holds the versions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world::World;
    use muster_api::infra_env::InfraEnvUpdateParams;

    #[tokio::test]
    async fn hosts_are_validated_again_only_when_their_checks_read_something_else() {
        let world = World::new().await;
        let (pooled, _) = world.hosts().await;
        let operations = &world.operations;
        let validation = Validation {
            operations: operations.clone(),
            judged: Mutex::default(),
        };
        let id = pooled.infra_env_id;
        validation.infra_env_changed(id).await.unwrap();
        let reads = |before: u64| operations.store.statement_counts().reads - before;
        for (edit, validated) in [
            (
                r#"{"proxy":{"http_proxy":"http://proxy.example.test:3128"}}"#,
                false,
            ),
            (r#"{"openshift_version":"4.18"}"#, true),
            (r#"{"additional_ntp_sources":"ntp.example.test"}"#, true),
            (r#"{"additional_ntp_sources":"other.example.test"}"#, false),
        ] {
            let params: InfraEnvUpdateParams = serde_json::from_str(edit).unwrap();
            operations
                .infra_envs
                .update(id, &params, |_| Ok(()))
                .await
                .unwrap();
            let before = operations.store.statement_counts().reads;
            validation.infra_env_changed(id).await.unwrap();
            // One read is that of the InfraEnv.
            assert_eq!(reads(before) > 1, validated, "{edit}");
        }
    }
}
