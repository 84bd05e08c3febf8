//! The hardware requirements of one host. Source: docs/protocol/hardware-requirements.md#3 and #4.

use muster_api::host::HostRole;

use super::roles::{AnyRole, RoleRequirements};
use crate::record::Host;
use crate::rules::facts::HostFacts;

/// The hardware requirements of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct Required {
    /// The least for any role.
    pub any_role: AnyRole,
    /// For its role in its cluster; for a host that belongs to none, the row of the InfraEnv's hosts.
    pub role: RoleRequirements,
}

/// The requirements for `host`, by the version of its cluster, else of its InfraEnv.
pub fn required(host: &Host, facts: &HostFacts<'_>) -> Required {
    let Some(cluster) = facts.cluster.map(|facts| facts.cluster) else {
        let table = facts.requirements.of(&facts.infra_env.settings.openshift_version);
        return Required {
            any_role: table.any_role(false),
            role: table.unbound().clone(),
        };
    };
    let table = facts.requirements.of(&cluster.data.openshift_version);
    let single_node = cluster.is_single_node();
    let role = match host.data.effective_role() {
        HostRole::Master if single_node => &table.sno,
        HostRole::Master => &table.master,
        HostRole::Arbiter => &table.arbiter,
        HostRole::AutoAssign | HostRole::Worker | HostRole::Bootstrap if is_edge_product(host, facts) => {
            &table.edge_worker
        }
        HostRole::AutoAssign | HostRole::Worker | HostRole::Bootstrap => &table.worker,
    };
    Required {
        any_role: table.any_role(single_node),
        role: role.clone(),
    }
}

/// True for a small machine inside another one, such as a network card with processors.
fn is_edge_product(host: &Host, facts: &HostFacts<'_>) -> bool {
    let Some(inventory) = &host.inventory else {
        return false;
    };
    let product = inventory.system_vendor.as_ref().map_or("", |v| &v.product_name);
    let product = product.to_lowercase().replace(' ', "");
    inventory
        .cpu
        .as_ref()
        .is_some_and(|cpu| cpu.architecture == "aarch64")
        && facts.requirements.edge_products.contains(&product)
}
