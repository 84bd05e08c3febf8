//! Checks the host's routes.

use std::net::IpAddr;

use muster_api::inventory::Route;

use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};

/// `has-default-route`: of either family, through a real gateway.
pub(in crate::rules::checks) fn default_route(context: &CheckContext<'_>) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    if inventory.routes.iter().any(is_default) {
        Verdict::Success("The host has a default route".into())
    } else {
        Verdict::Failure(
            "The host has no default route; let DHCP or the static network configuration give it a gateway"
                .into(),
        )
    }
}

fn is_default(route: &Route) -> bool {
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let everywhere = route.destination.split('/').next().and_then(address);
    everywhere.is_some_and(|ip| ip.is_unspecified())
        && address(&route.gateway).is_some_and(|gateway| !gateway.is_unspecified())
}
