//! All attacks at once, each repeatedly, while the hosts of a fleet continue.

use std::time::{Duration, Instant};

use super::connections::raise_own_limit;
use super::probe::{Noticed, Probe};
use super::victim::Victim;
use super::{ALL, Attack, SILENT_BOOT};
use crate::condition::await_condition;
use crate::hosts::fleet::{Fleet, Run};

/// Files that the service may open: fewer than attackers try to use, more than the fleet needs.
const FILES: u32 = 16_384;

/// Time after which a continuous attack is made again.
const TURN: Duration = Duration::from_secs(12);

/// The effects of all attacks on others.
pub struct Together {
    pub victim: Victim,
    pub noticed: Noticed,
    pub fleet: Run,
    /// Events about hosts of the fleet that became disconnected.
    pub lost: usize,
    /// Each attack, and the number of its repetitions.
    pub attacks: Vec<(&'static str, usize)>,
}

impl Together {
    /// Requests of the fleet that were refused or had no response: operation, ending, count.
    pub fn refused(&self) -> Vec<(String, String, u64)> {
        let endings = self.fleet.endings().into_iter();
        endings
            .filter(|(_, ending, _)| !ending.starts_with('2'))
            .collect()
    }
}

/// Attacks a service for so long while as many hosts of one InfraEnv poll.
///
/// # Panics
/// If the service accepts a request of an attacker that it must refuse, or the fleet is not idle before.
#[track_caller]
pub fn all_at_once(lasts: Duration, hosts: usize) -> Together {
    raise_own_limit();
    let victim = Victim::with_files(FILES, true);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let client = victim.service.client();
    let count = hosts.to_string();
    let duration = format!("{}s", lasts.as_secs() * 2 + 1200);
    let arguments = [
        "--hosts",
        &count,
        "--poll-interval",
        "60s",
        "--duration",
        &duration,
    ];
    let fleet = Fleet::start(
        client.base(),
        client.token(),
        &arguments,
        &folder.path().join("fleet.log"),
    );
    await_condition("the fleet to be known", Duration::from_secs(600), || {
        let known = count_hosts(&victim, "known-unbound") + count_hosts(&victim, "insufficient-unbound");
        if known > hosts {
            Ok(())
        } else {
            Err(format!("{known} hosts of {hosts} and one are known"))
        }
    });
    let probe = Probe::of(&victim);
    let ends = Instant::now() + lasts;
    let attacks = std::thread::scope(|scope| {
        let running: Vec<_> = attackers()
            .map(|attack| {
                let victim = &victim;
                let repeated = scope.spawn(move || {
                    let mut times = 0;
                    while Instant::now() < ends {
                        let ends = ends.min(Instant::now() + TURN);
                        (attack.run)(victim, &|| Instant::now() >= ends);
                        times += 1;
                    }
                    times
                });
                (attack.name, repeated)
            })
            .collect();
        let ended = running.into_iter().map(|(name, repeated)| {
            let times = repeated.join();
            (name, times.unwrap_or_else(|_| panic!("{name} failed")))
        });
        ended.collect()
    });
    let noticed = probe.end();
    let fleet = fleet.end();
    let infra_env = fleet.infra_env_id().parse().expect("the id of an InfraEnv");
    let events = victim
        .service
        .client()
        .events(infra_env)
        .expect("the events of the fleet");
    let told = events
        .iter()
        .filter(|event| event.message.contains("disconnected"));
    let lost = told.count();
    Together {
        noticed,
        fleet,
        lost,
        attacks,
        victim,
    }
}

/// All attacks except the one that asserts how many of few files are open.
fn attackers() -> impl Iterator<Item = Attack> {
    ALL.into_iter().filter(|attack| attack.name != SILENT_BOOT.name)
}

/// Hosts in that state, by the metrics, which count all of them.
#[track_caller]
fn count_hosts(victim: &Victim, status: &str) -> usize {
    let metrics = victim.service.http().request("GET", "/metrics", None);
    let metrics = metrics.expect(200).text();
    let wanted = format!("muster_hosts{{status=\"{status}\"}} ");
    let found = metrics.lines().find_map(|line| line.strip_prefix(&wanted));
    found.and_then(|count| count.parse().ok()).unwrap_or(0)
}
