//! What hardware is asked of one host. Source: docs/protocol/hardware-requirements.md#3 and §4.

use muster_api::host::HostRole;

use super::look::Look;
use crate::host::requirements::{AnyRole, RoleRequirements};

/// What is asked of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct Required {
    /// The least for any role.
    pub any_role: AnyRole,
    /// For its role.
    pub role: RoleRequirements,
}

/// What is asked of the host.
pub fn required(look: &Look<'_>) -> Required {
    let table = look.role_table();
    let Some(bound) = look.bound() else {
        return Required {
            any_role: table.any_role(false),
            role: table.pool().clone(),
        };
    };
    let single_node = bound.is_single_node();
    let role = match look.role() {
        HostRole::Master if single_node => &table.sno,
        HostRole::Master => &table.master,
        HostRole::Arbiter => &table.arbiter,
        HostRole::AutoAssign | HostRole::Worker | HostRole::Bootstrap if is_edge_product(look) => {
            &table.edge_worker
        }
        HostRole::AutoAssign | HostRole::Worker | HostRole::Bootstrap => &table.worker,
    };
    Required {
        any_role: table.any_role(single_node),
        role: role.clone(),
    }
}

/// A small machine inside another one.
fn is_edge_product(look: &Look<'_>) -> bool {
    let Some(inventory) = look.inventory() else {
        return false;
    };
    let product = inventory.system_vendor.as_ref().map_or("", |v| &v.product_name);
    let product = product.to_lowercase().replace(' ', "");
    inventory
        .cpu
        .as_ref()
        .is_some_and(|cpu| cpu.architecture == "aarch64")
        && look.facts.requirements.edge_products.contains(&product)
}
