//! The sizes and durations of the test, and the limits of growth.

use std::time::Duration;

/// Memory of a replica and size of the database, as a multiple of the initial ones.
const GROWTH: f64 = 1.25;

/// Number of hosts and durations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) hosts: u32,
    pub(super) poll: Duration,
    /// The longest silence of a host that is connected.
    pub(super) silence: Duration,
    pub(super) outage: Duration,
    pub(super) installation: Duration,
}

impl Scale {
    pub(super) fn chosen() -> Self {
        let is_long = std::env::var_os("MUSTER_LONG").is_some_and(|value| !value.is_empty());
        let (hosts, times): (u32, u64) = if is_long { (3000, 6) } else { (300, 1) };
        let seconds = |seconds| Duration::from_secs(seconds * times);
        Self {
            hosts,
            poll: seconds(10),
            silence: seconds(30),
            outage: seconds(50),
            installation: seconds(240),
        }
    }

    /// Size of the database's disk: each host reports which of the others it reaches.
    pub(super) fn disk_mebibytes(&self) -> u32 {
        128 + self.hosts * self.hosts / 2000
    }
}

/// Megabytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Of the larger one.
    pub(super) replica_mb: f64,
    pub(super) database_mb: f64,
}

impl Size {
    #[track_caller]
    pub(super) fn is_like(&self, before: &Self) {
        assert!(
            self.replica_mb < before.replica_mb * GROWTH && self.database_mb < before.database_mb * GROWTH,
            "{self:?} was {before:?} before"
        );
    }
}
