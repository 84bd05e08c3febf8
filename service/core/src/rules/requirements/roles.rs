//! Hardware by role. Source: docs/protocol/hardware-requirements.md#2 and §3.

use serde::{Deserialize, Serialize};

/// Hardware of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleRequirements {
    /// Logical cores.
    pub cpu_cores: i64,
    /// MiB.
    pub ram_mib: i64,
    /// Decimal GB (10^9 bytes).
    pub disk_size_gb: i64,
    /// Slowest acceptable 99th percentile of a synchronous write, ms.
    pub installation_disk_speed_threshold_ms: i64,
    /// ms; `None`: not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_latency_threshold_ms: Option<f64>,
    /// %; `None`: not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_loss_percentage: Option<f64>,
}

/// Hardware of every role.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "named after the roles")]
pub struct RoleTable {
    pub master: RoleRequirements,
    pub arbiter: RoleRequirements,
    pub worker: RoleRequirements,
    pub sno: RoleRequirements,
    pub edge_worker: RoleRequirements,
}

/// The least that any role needs, for each number separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnyRole {
    /// Logical cores.
    pub cpu_cores: i64,
    /// MiB.
    pub ram_mib: i64,
}

impl Default for RoleTable {
    fn default() -> Self {
        let row = |cpu_cores, ram_mib, disk_size_gb, latency, loss| RoleRequirements {
            cpu_cores,
            ram_mib,
            disk_size_gb,
            installation_disk_speed_threshold_ms: 10,
            network_latency_threshold_ms: latency,
            packet_loss_percentage: loss,
        };
        Self {
            master: row(4, 16384, 100, Some(100.0), Some(0.0)),
            arbiter: row(2, 8192, 50, Some(1000.0), Some(0.0)),
            worker: row(2, 8192, 100, Some(1000.0), Some(10.0)),
            sno: row(8, 16384, 100, None, None),
            edge_worker: row(2, 8192, 15, None, None),
        }
    }
}

impl RoleTable {
    /// The row for unbound hosts: of worker, master and arbiter the one with the smallest disk.
    pub fn unbound(&self) -> &RoleRequirements {
        let mut least = &self.worker;
        for row in [&self.master, &self.arbiter] {
            if row.disk_size_gb < least.disk_size_gb {
                least = row;
            }
        }
        least
    }

    /// The least that any role needs; `single_node`: of a cluster of one.
    pub fn any_role(&self, single_node: bool) -> AnyRole {
        let master = if single_node { &self.sno } else { &self.master };
        AnyRole {
            cpu_cores: master.cpu_cores.min(self.worker.cpu_cores),
            ram_mib: master.ram_mib.min(self.worker.ram_mib),
        }
    }
}
