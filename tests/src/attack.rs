//! Attacks without a credential, with those of one InfraEnv, or with a kubeconfig, and their effects on others.
//!
//! While an attack lasts, a probe polls a healthy host of another InfraEnv, reads a part of a discovery ISO as a BMC
//! does, and requests the health. The attack ends when each request had [so many responses](ROUNDS); `make bench` shows
//! their times. Attacks stay on loopback. Those without a kubeconfig come from an address of their own.

mod all;
mod bodies;
mod connections;
mod kubernetes;
mod lists;
mod probe;
mod victim;

use std::time::{Duration, Instant};

pub use all::{Together, all_at_once};
pub use probe::{Noticed, Seen};
pub use victim::Victim;

use crate::condition::{LEAST_LIMIT, await_condition};
use probe::Probe;
use victim::Enough;

/// Most that a probe may wait in a release build on an otherwise idle machine.
const SOON: Duration = Duration::from_millis(50);
/// The same if the attacker causes work on the Kubernetes side.
const LATE: Duration = Duration::from_millis(250);

/// An attack continues, or is repeated, until each request of the probe has had so many responses.
const ROUNDS: usize = 5;

/// Least duration of an attack: a shorter one would show little.
const LEAST: Duration = Duration::from_secs(5);

/// An attack that lasts longer leaves the probe without responses. Some take ten seconds each in parallel to compilers
/// and an unoptimised service.
const HANG: Duration = Duration::from_secs(600);

/// MiB that are never released: code that ran for the first time, and the databases' caches, which fill up once.
const FIRST_USE: u64 = 40;

/// One kind of attack.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    pub name: &'static str,
    /// Number of files that the service may open.
    files: u32,
    with_kubernetes: bool,
    /// Limit of the probe's slowest response, which `make bench` shows with the measured one.
    pub limit: Duration,
    /// MiB of memory that the attack may cost while it lasts.
    pub most: u64,
    run: fn(&Victim, &Enough<'_>),
}

pub const SILENT_BOOT: Attack = Attack {
    name: "1,400 silent connections to the boot listener of 1,024 files",
    files: 1024,
    with_kubernetes: false,
    limit: SOON,
    most: 100,
    run: connections::silent_to_boot,
};

pub const HALF_HEADS: Attack = Attack {
    name: "1,400 connections with half a head to the API of 1,024 files",
    files: 1024,
    with_kubernetes: false,
    limit: SOON,
    most: 100,
    run: connections::half_heads_to_api,
};

pub const LARGE_HEADS: Attack = Attack {
    name: "1,000 heads of 395 kB",
    files: 8192,
    with_kubernetes: false,
    limit: SOON,
    most: 128,
    run: connections::large_heads,
};

pub const HELD_BODIES: Attack = Attack {
    name: "150 bodies of 6 MB held open",
    files: 4096,
    with_kubernetes: false,
    limit: SOON,
    most: 150,
    run: bodies::held_open,
};

pub const LISTS: Attack = Attack {
    name: "16 lists at once of 10 hosts with large inventories",
    files: 4096,
    with_kubernetes: false,
    limit: SOON,
    most: 350,
    run: lists::all_the_time,
};

pub const COPYING_PATCHES: Attack = Attack {
    name: "JSON patches that double the document 40 times",
    files: 4096,
    with_kubernetes: true,
    limit: SOON,
    most: 100,
    run: kubernetes::copying_patches,
};

pub const NESTED_RULES: Attack = Attack {
    name: "CEL rules with loops, three clients at once",
    files: 4096,
    with_kubernetes: true,
    limit: LATE,
    most: 200,
    run: kubernetes::nested_rules,
};

pub const IDLE_WATCHES: Attack = Attack {
    name: "200 watches that do not read, 15 objects of 0.9 MB",
    files: 4096,
    with_kubernetes: true,
    limit: LATE,
    most: 200,
    run: kubernetes::idle_watches,
};

pub const SILENT_KUBERNETES: Attack = Attack {
    name: "200 connections that say nothing to the Kubernetes listener",
    files: 4096,
    with_kubernetes: true,
    limit: SOON,
    most: 100,
    run: kubernetes::silent_connections,
};

pub const ALL: [Attack; 9] = [
    SILENT_BOOT,
    HALF_HEADS,
    LARGE_HEADS,
    HELD_BODIES,
    LISTS,
    COPYING_PATCHES,
    NESTED_RULES,
    IDLE_WATCHES,
    SILENT_KUBERNETES,
];

impl Attack {
    /// Attacks an otherwise idle service; returns the service afterwards, and the observations of the probe.
    ///
    /// # Panics
    /// If the service accepts a request of the attacker that it must refuse.
    #[track_caller]
    pub fn attempt(&self) -> (Victim, Noticed) {
        connections::raise_own_limit();
        let victim = Victim::with_files(self.files, self.with_kubernetes);
        let (probe, began) = (Probe::of(&victim), Instant::now());
        let enough = || {
            let noticed = probe.noticed();
            let (is_enough, lasted) = (noticed.rounds() >= ROUNDS, began.elapsed());
            assert!(is_enough || lasted < HANG, "{}: {noticed}", self.name);
            is_enough && lasted >= LEAST
        };
        while !enough() {
            (self.run)(&victim, &enough);
        }
        (victim, probe.end())
    }

    /// Asserts that all requests had responses meanwhile, and that the attack did not cost more memory than it may.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn is_withstood(&self) -> Victim {
        let (victim, noticed) = self.attempt();
        println!("{}: {noticed}", self.name);
        noticed.all_was_answered(self.name);
        let grown = noticed.grown_mib();
        assert!(
            grown < self.most,
            "{}: {grown} MiB more, at most {} are fine",
            self.name,
            self.most
        );
        let before = noticed.before_mib();
        let at_most = before * 6 / 5 + FIRST_USE;
        let now = await_condition("the memory to come back", LEAST_LIMIT, || {
            let now = victim.resident_mib();
            let told = format!("{now} MiB are held, {before} were before the attack");
            if now <= at_most { Ok(now) } else { Err(told) }
        });
        println!("{}: {now} MiB are held afterwards, {before} before", self.name);
        victim
    }
}
