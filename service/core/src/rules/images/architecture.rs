//! Determines the processor architecture of a host.

use muster_api::infra_env::CpuArchitecture;

use crate::record::{Host, InfraEnv};

/// As the host reported it, else that of its InfraEnv's images.
pub(crate) fn of(host: &Host, infra_env: &InfraEnv) -> CpuArchitecture {
    let reported = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.cpu.as_ref())
        .map_or("", |cpu| &cpu.architecture);
    reported.parse().unwrap_or(infra_env.settings.cpu_architecture)
}
