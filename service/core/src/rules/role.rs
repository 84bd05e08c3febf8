//! Assigns roles to hosts. Source: docs/protocol/host-lifecycle.md#9.

use muster_api::host::{HostKind, HostRole};

use crate::record::{Host, HostData, Phase};
use crate::rules::facts::HostFacts;

/// The role with which a host of a cluster is installed: hosts without one become workers.
pub(crate) fn in_the_end(data: &HostData) -> HostRole {
    match data.effective_role() {
        HostRole::AutoAssign => HostRole::Worker,
        given @ (HostRole::Master | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap) => given,
    }
}

/// Suggests a role to a host that has none: hosts are added to a cluster as workers.
pub(crate) fn suggest(host: &mut Host) {
    if host.state.phase() == Phase::PreInstall
        && host.data.role == HostRole::AutoAssign
        && host.inventory.is_some()
    {
        host.data.suggested_role = HostRole::Worker;
    }
}

/// Sets a user's choice of role. The machine config pool follows unless a user named another one.
pub(crate) fn give(data: &mut HostData, role: HostRole) {
    let old = data.role;
    data.role = role;
    data.suggested_role = role;
    if role == HostRole::Worker {
        data.bootstrap = false;
    }
    let follows = data.machine_config_pool_name.is_empty() || data.machine_config_pool_name == old.name();
    if data.kind == HostKind::AddToExistingClusterHost && follows {
        data.machine_config_pool_name = match role {
            HostRole::AutoAssign => String::new(),
            HostRole::Master | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap => {
                role.name().to_owned()
            }
        };
    }
}

/// Pool of the machine config server with the host's ignition.
pub(crate) fn pool(data: &HostData) -> &str {
    if data.machine_config_pool_name.is_empty() {
        in_the_end(data).name()
    } else {
        &data.machine_config_pool_name
    }
}

/// Checks that the host's cluster can have a host of this role.
///
/// # Errors
/// A sentence for users.
pub(crate) fn check(role: HostRole, facts: &HostFacts<'_>) -> Result<(), String> {
    let Some(cluster) = facts.cluster else {
        return Ok(());
    };
    let version = &cluster.cluster.data.openshift_version;
    if role == HostRole::Arbiter && minor_version(version).is_some_and(|version| version < (4, 19)) {
        return Err(format!(
            "arbiters need a cluster of version 4.19 or newer, and {} is {version}; choose another role",
            cluster.cluster.data.name
        ));
    }
    Ok(())
}

/// `4.16.3-ec.1` is (4, 16).
pub(crate) fn minor_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
