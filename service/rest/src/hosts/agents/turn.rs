//! Limits the concurrent changes of hosts by agents.
//!
//! Thousands of machines may boot together. A request that has begun waits in the queues of the database, ahead of requests of users and
//! controllers; one that has not begun waits here.

use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_connections::{SharedLimiter, SharedPermit};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_operations::hosts::Hosts;

/// Changes at once: twice as many as the store writes in one transaction, so that while some are written, the next are decided. An InfraEnv
/// has half of them, so that no other one waits for all of its hosts.
static CHANGES: SharedLimiter<InfraEnvId> = SharedLimiter::new(64, 32);

/// Time that a request waits for each of its permits, as for a connection to the database.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for the turn of a change of a host of this InfraEnv.
///
/// # Errors
/// 503 if the turn does not come in time.
pub async fn turn(infra_env_id: InfraEnvId) -> Result<SharedPermit<'static>, Problem> {
    let permit = CHANGES.acquire_within(PATIENCE, Some(&infra_env_id)).await;
    permit.ok_or_else(|| Problem::unavailable("too many hosts report at once; try again"))
}

/// Applies what the agent of a host reports, in its turn.
///
/// # Errors
/// 503 if the turn does not come; else those of [`Hosts::apply`].
pub async fn apply(
    hosts: &Hosts,
    infra_env_id: InfraEnvId,
    host_id: HostId,
    event: HostEvent,
) -> Result<(), Problem> {
    let _turn = turn(infra_env_id).await?;
    hosts.apply(infra_env_id, host_id, event).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn hosts_of_one_infra_env_wait_for_each_other_and_not_those_of_another() {
        let (one, other) = (InfraEnvId::random(), InfraEnvId::random());
        let mut held = join_all((0..32).map(|_| turn(one))).await;
        assert!(held.iter().all(Result::is_ok));
        assert!(turn(one).now_or_never().is_none());
        held.extend(join_all((0..32).map(|_| turn(other))).await);
        assert!(held.iter().all(Result::is_ok));
        let third = InfraEnvId::random();
        assert!(turn(third).now_or_never().is_none());
        held.pop();
        assert!(turn(third).await.is_ok());
        held.truncate(1);
        assert!(turn(one).await.is_ok());
    }
}
