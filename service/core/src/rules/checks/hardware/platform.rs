//! Checks the platforms of machine and cluster.

use muster_api::cluster::PlatformType;

use super::vsphere::VMWARE;
use crate::rules::checks::context::CheckContext;
use crate::rules::checks::verdict::{Verdict, no_inventory};

/// Virtual machines of this product need user-managed networking, which is a setting of the cluster.
const OPENSTACK: &str = "OpenStack Compute";

/// Maker of the machines of Nutanix.
const NUTANIX: &str = "Nutanix";

/// `compatible-with-cluster-platform`: the machine is of the cluster's platform, if that platform has machines of its
/// own.
pub(in crate::rules::checks) fn compatible(context: &CheckContext<'_>) -> Verdict {
    let Some(bound) = context.bound() else {
        return Verdict::Hidden;
    };
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    let platform = bound
        .traits()
        .platform
        .as_ref()
        .map_or_else(PlatformType::default, |platform| platform.platform_type);
    let maker = match platform {
        PlatformType::Baremetal | PlatformType::None | PlatformType::External => None,
        PlatformType::Vsphere => Some(VMWARE),
        PlatformType::Nutanix => Some(NUTANIX),
    };
    let found = inventory
        .system_vendor
        .as_ref()
        .map_or("", |vendor| &vendor.manufacturer);
    match maker {
        Some(maker) if !found.contains(maker) => Verdict::Failure(format!(
            "The cluster's platform is {}, whose machines are made by {maker}, and this one by {}; use a machine of the platform",
            name(platform),
            if found.is_empty() {
                "an unknown maker"
            } else {
                found
            }
        )),
        Some(_) | None => Verdict::Success(format!(
            "The machine suits the cluster's platform {}",
            name(platform)
        )),
    }
}

/// `valid-platform-network-settings`. Not shown for OpenStack machines while they are unbound.
pub(in crate::rules::checks) fn network_settings(context: &CheckContext<'_>) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    match &inventory.system_vendor {
        None => Verdict::Error("The host does not report its manufacturer, so its platform is not known".into()),
        Some(vendor) if vendor.product_name == OPENSTACK => match context.bound() {
            None => Verdict::Hidden,
            Some(bound) if bound.user_managed_networking() => {
                Verdict::success("The cluster has user-managed networking, as OpenStack machines need")
            }
            Some(_) => Verdict::Failure(
                "OpenStack machines need a cluster with user-managed networking; switch that on, or use other machines".into(),
            ),
        },
        Some(vendor) => Verdict::Success(format!(
            "The platform {} requires no settings of its own",
            if vendor.product_name.is_empty() {
                "(unnamed)"
            } else {
                &vendor.product_name
            }
        )),
    }
}

fn name(platform: PlatformType) -> &'static str {
    match platform {
        PlatformType::Baremetal => "baremetal",
        PlatformType::Nutanix => "nutanix",
        PlatformType::Vsphere => "vsphere",
        PlatformType::None => "none",
        PlatformType::External => "external",
    }
}
