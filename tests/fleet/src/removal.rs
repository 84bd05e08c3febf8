//! Deletes the hosts of a fleet and their InfraEnv.

use std::collections::HashSet;

use anyhow::{Context, Result, bail};
use futures_util::stream::{self, TryStreamExt as _};
use muster_api::ids::HostId;

use crate::machine::Machine;
use crate::operator::Operator;
use crate::options::{MOST_HOSTS, Options};
use crate::wire::Wires;

/// Hosts that are deleted at the same time.
const AT_ONCE: usize = 16;

/// Deletes the hosts of the InfraEnv that the options name, and the InfraEnv; returns what was deleted, as a sentence.
///
/// # Errors
/// If there is no such InfraEnv or several, if it has no host, if one of its hosts is no machine of the seed (nothing is
/// deleted then), or if the service refuses.
pub async fn remove(options: &Options) -> Result<String> {
    let wires = Wires::new(options)?;
    let operator = Operator::new(options, &wires)?;
    let infra_env = match (options.infra_env_id, &options.infra_env) {
        (Some(id), _) => id,
        (None, Some(name)) => {
            let found = operator.find_infra_env(name).await?;
            found.with_context(|| format!("there is no InfraEnv {name}: nothing is to be removed"))?
        }
        (None, None) => bail!("no InfraEnv is named"),
    };
    let hosts = operator.hosts(infra_env).await?;
    // A real one whose machines have not booted yet looks like this.
    if hosts.is_empty() {
        bail!(
            "nothing is removed: InfraEnv {infra_env} has no hosts, so nothing shows that it is a fleet's; \
             muster infra-env delete {infra_env} deletes it"
        );
    }
    let strangers = strangers(options.seed, &hosts);
    if let Some(one) = strangers.iter().next() {
        bail!(
            "nothing is removed: {} of the {} hosts of InfraEnv {infra_env} are no machines of --seed {}, such as {one}",
            strangers.len(),
            hosts.len(),
            options.seed
        );
    }
    let all = stream::iter(hosts.iter().map(anyhow::Ok));
    let (operator, count) = (&operator, hosts.len());
    all.try_for_each_concurrent(AT_ONCE, |host| async move {
        operator
            .delete(&format!("/infra-envs/{infra_env}/hosts/{host}"))
            .await
    })
    .await?;
    operator.delete(&format!("/infra-envs/{infra_env}")).await?;
    Ok(format!(
        "{count} hosts and their InfraEnv {infra_env} are deleted"
    ))
}

/// The hosts that no machine of the seed is.
fn strangers(seed: u64, hosts: &[HostId]) -> HashSet<HostId> {
    let mut left: HashSet<HostId> = hosts.iter().copied().collect();
    for number in 0..MOST_HOSTS {
        if left.is_empty() {
            break;
        }
        left.remove(&Machine::new(seed, number).host_id());
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_another_seed_and_real_ones_are_strangers() {
        let machine = |seed, number| Machine::new(seed, number).host_id();
        let real = HostId::random();
        let hosts = [machine(1, 0), machine(1, 19), machine(2, 3), real];
        assert_eq!(strangers(1, &hosts), HashSet::from([machine(2, 3), real]));
        assert!(strangers(1, &hosts[..2]).is_empty());
    }
}
