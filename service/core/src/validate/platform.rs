//! What the machine's platform says about its network.

use super::{Look, Verdict, no_inventory};

/// Virtual machines of this product need a network that users manage, which only a cluster can say.
const OPENSTACK: &str = "OpenStack Compute";

/// `valid-platform-network-settings`. Not shown for OpenStack machines while they are in the pool.
pub(super) fn network_settings(look: &Look<'_>) -> Verdict {
    let Some(inventory) = look.inventory() else {
        return no_inventory();
    };
    match &inventory.system_vendor {
        None => Verdict::Error("The host does not tell who made it, so its platform is not known".into()),
        Some(vendor) if vendor.product_name == OPENSTACK => Verdict::Hidden,
        Some(vendor) => Verdict::Success(format!(
            "The platform {} asks for no settings of its own",
            if vendor.product_name.is_empty() {
                "(unnamed)"
            } else {
                &vendor.product_name
            }
        )),
    }
}
