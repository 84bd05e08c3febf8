//! Keeps the pools of InfraEnvs as their settings about sleep name them, and follows hosts that fall asleep or wake until their BMCs have
//! done so. Both are decided from the records, so that neither a restart nor another replica loses a host.
//!
//! Several replicas may decide at the same time: they choose the same hosts in the same order, and a request that is repeated changes
//! nothing. One that decides on an older state puts a host too many to sleep at worst, and the next decision wakes one.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::{Host, InfraEnv, SleepCause, WakeCause};
use muster_core::rules::sleep::{Changes, SleepRules, decide};
use muster_store::{HostForm, StoreError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{Operations, Result, chain};

/// Between two looks for hosts that fall asleep or wake, which an index finds.
const LOOK: Duration = Duration::from_secs(2);

/// Between two decisions about the pools. Claims need none of them.
const DECIDE: Duration = Duration::from_secs(15);

/// Hosts that are read at once and followed at the same time.
const AT_ONCE: usize = 16;

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    let mut decided: Option<Instant> = None;
    loop {
        operations.rounds.begin("hosts that sleep");
        let is_due = decided.is_none_or(|at| at.elapsed() >= DECIDE);
        // Each write is a transaction of its own, so the work may be dropped between two of them.
        tokio::select! {
            () = round(&operations, is_due) => {}
            () = stop.cancelled() => return,
        }
        if is_due {
            decided = Some(Instant::now());
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Follows the hosts that change. `is_due`: decides about the pools, too.
pub(crate) async fn round(operations: &Operations, is_due: bool) {
    if let Err(error) = follow(operations).await {
        tracing::warn!(
            error = chain(&error),
            "hosts that fall asleep or wake could not be read; trying again"
        );
    }
    // What the service did not receive meanwhile may be claims.
    if !is_due || operations.outages.is_in_doubt() {
        return;
    }
    if let Err(error) = keep_pools(operations).await {
        tracing::warn!(
            error = chain(&error),
            "no pool is put to sleep or woken while it cannot be read; trying again"
        );
    }
}

/// Follows each host on its way into sleep or out of it.
async fn follow(operations: &Operations) -> Result<(), StoreError> {
    let keys = operations.store.list_host_keys_of_changing_sleep().await?;
    for part in keys.chunks(AT_ONCE) {
        let hosts = operations.hosts.read(part, HostForm::Whole).await?;
        let followed = stream::iter(hosts).map(|host| follow_one(operations, host));
        followed.buffer_unordered(AT_ONCE).collect::<()>().await;
    }
    Ok(())
}

async fn follow_one(operations: &Operations, host: Host) {
    let id = host.id;
    if let Err(error) = operations.bmcs.follow_sleep(&operations.hosts, host).await
        && !error.is_missing()
    {
        tracing::debug!(host.id = %id, error = chain(&error), "a host was not put to sleep or woken; trying again");
    }
}

/// Decides about each pool with settings about sleep, or with hosts that sleep.
async fn keep_pools(operations: &Operations) -> Result<(), StoreError> {
    let asleep: HashSet<InfraEnvId> = operations
        .store
        .list_infra_envs_with_sleep()
        .await?
        .into_iter()
        .collect();
    let mut rules: HashMap<InfraEnvId, SleepRules> = HashMap::new();
    for infra_env in operations.infra_envs.list(None).await? {
        if is_of_sleep(&infra_env, &asleep) {
            rules.insert(infra_env.id, SleepRules::of(&infra_env.settings));
        }
    }
    if rules.is_empty() {
        return Ok(());
    }
    let ids: HashSet<InfraEnvId> = rules.keys().copied().collect();
    let members = operations.host_index.members(ids).await?;
    let now = operations.now();
    for (infra_env_id, members) in members {
        let Some(rules) = rules.get(&infra_env_id) else {
            continue;
        };
        let changes = decide(rules, &members, now);
        carry_out(operations, infra_env_id, changes).await;
    }
    Ok(())
}

fn is_of_sleep(infra_env: &InfraEnv, asleep: &HashSet<InfraEnvId>) -> bool {
    !infra_env.settings.idle_after.is_empty() || asleep.contains(&infra_env.id)
}

async fn carry_out(operations: &Operations, infra_env_id: InfraEnvId, changes: Changes) {
    let requests = changes
        .sleep
        .into_iter()
        .map(|id| (id, true))
        .chain(changes.wake.into_iter().map(|id| (id, false)));
    let carried_out =
        stream::iter(requests).map(|(id, is_sleep)| request(operations, (infra_env_id, id), is_sleep));
    carried_out.buffer_unordered(AT_ONCE).collect::<()>().await;
}

async fn request(operations: &Operations, key: (InfraEnvId, HostId), is_sleep: bool) {
    let Operations { bmcs, hosts, .. } = operations;
    let requested = match is_sleep {
        true => bmcs.put_to_sleep(hosts, key, SleepCause::Idle).await,
        false => bmcs.wake(hosts, key, WakeCause::Spare, false).await,
    };
    if let Err(error) = requested
        && !error.is_missing()
    {
        // It was taken meanwhile, or its BMC is busy.
        tracing::debug!(host.id = %key.1, error = chain(&error), is_sleep, "a host stays as it is");
    }
}
