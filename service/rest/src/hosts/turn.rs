//! Limits the concurrent changes of hosts by agents.
//!
//! Thousands of machines may boot together. A request that has begun waits in the queues of the database, ahead of requests of users and
//! controllers; one that has not begun waits here.

use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::places::Places;
use muster_operations::hosts::Hosts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Twice as many as the store writes in one transaction: while some are written, the next are decided.
static PLACES: Semaphore = Semaphore::const_new(64);

/// An InfraEnv has half of them, so that no other one waits for all of its hosts.
static OF_INFRA_ENVS: Places = Places::new(32);

/// Time that a request waits for each of its places, as for a connection to the database.
const PATIENCE: Duration = Duration::from_secs(30);

/// The places of a request, until it is dropped.
pub struct Turn {
    _of_infra_env: OwnedSemaphorePermit,
    _of_all: SemaphorePermit<'static>,
}

/// Waits for the turn of a change of a host of this InfraEnv.
///
/// # Errors
/// 503 if the turn does not come in time.
pub async fn turn(infra_env_id: InfraEnvId) -> Result<Turn, Problem> {
    let full = || Problem::unavailable("too many hosts report at once; try again");
    // The place of its InfraEnv first: a request that waits for that holds no place that others need.
    let of_infra_env = OF_INFRA_ENVS.take(&infra_env_id.to_string(), PATIENCE).await;
    let of_infra_env = of_infra_env.ok_or_else(full)?;
    let of_all = timeout(PATIENCE, PLACES.acquire()).await.map_err(|_| full())?;
    Ok(Turn {
        _of_infra_env: of_infra_env,
        _of_all: of_all.map_err(|_| full())?,
    })
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
