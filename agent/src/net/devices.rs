//! Makes bonds, VLANs and bridges (rtnetlink), and puts ports into them.

use futures_util::TryStreamExt;
use muster_api::live::network::{Interface, Kind};
use netlink_packet_route::link::{BridgeStpState, LinkMessage};
use rtnetlink::{Handle, LinkBond, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVlan};

use super::links::{Link, Shape};

/// Kernel module that makes devices of this kind; none for kinds that are built in.
pub fn module(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Ethernet => None,
        Kind::Bond(_) => Some("bonding"),
        Kind::Vlan(_) => Some("8021q"),
        Kind::Bridge(_) => Some("bridge"),
    }
}

/// Makes a device that is missing. `index` returns the index of a part by the configuration's name of it.
///
/// # Errors
/// Fails if the kernel refuses it, as text; or if a part is missing.
pub async fn make(
    handle: &Handle,
    wanted: &Interface,
    index: impl Fn(&str) -> Option<u32>,
) -> Result<(), String> {
    let message: LinkMessage = match &wanted.kind {
        Kind::Ethernet => return Err(format!("there is no card {}", wanted.name)),
        // Options are set by their names.
        Kind::Bond(_) => with_mac(LinkBond::new(&wanted.name), wanted),
        Kind::Vlan(vlan) => {
            let base = index(&vlan.base).ok_or_else(|| format!("waits for {}", vlan.base))?;
            with_mac(LinkVlan::new(&wanted.name, base, vlan.id), wanted)
        }
        Kind::Bridge(bridge) => {
            let message = LinkBridge::new(&wanted.name).stp_state(stp_state(bridge.stp));
            with_mac(message, wanted)
        }
    };
    handle
        .link()
        .add(message)
        .execute()
        .await
        .map_err(|error| format!("not made: {error}"))
}

/// True if a present link can be turned into the wanted device by changing it. `base`: the index of the link that a VLAN
/// is made over.
pub fn can_become(link: &Link, wanted: &Kind, base: Option<u32>) -> bool {
    match (wanted, &link.shape) {
        (Kind::Vlan(vlan), Shape::Vlan { base: over, id }) => *id == vlan.id && *over == base,
        (Kind::Bond(_), Shape::Bond) | (Kind::Bridge(_), Shape::Bridge { .. }) => true,
        // The message could not be parsed: nothing contradicts the wanted kind.
        (_, Shape::Plain) => !link.wired,
        _ => false,
    }
}

/// Makes a bridge take part in the spanning tree protocol, or not.
///
/// # Errors
/// Fails if the kernel refuses the change.
pub async fn set_stp(handle: &Handle, bridge: &str, stp: bool) -> Result<(), rtnetlink::Error> {
    // A request that sets a link (RTM_SETLINK) changes no option of its kind.
    handle
        .link()
        .change(LinkBridge::new(bridge).stp_state(stp_state(stp)).build())
        .execute()
        .await
}

fn stp_state(stp: bool) -> BridgeStpState {
    if stp {
        BridgeStpState::KernelStp
    } else {
        BridgeStpState::Disabled
    }
}

/// The message with the address that the device takes in place of its own.
fn with_mac<T>(message: LinkMessageBuilder<T>, wanted: &Interface) -> LinkMessage {
    match wanted.mac.as_deref().and_then(bytes) {
        Some(mac) => message.address(mac).build(),
        None => message.build(),
    }
}

/// Makes a link a port. It has to be down for that, and loses its addresses.
///
/// # Errors
/// Fails if the kernel refuses the change.
pub async fn add_port(handle: &Handle, port: u32, controller: u32) -> Result<(), rtnetlink::Error> {
    let set = |message: LinkMessage| handle.link().set(message).execute();
    let addresses = handle.address().get().set_link_index_filter(port).execute();
    let addresses: Vec<_> = addresses.try_collect().await.unwrap_or_default();
    for address in addresses {
        // The kernel removes IPv6 addresses itself.
        let _ = handle.address().del(address).execute().await;
    }
    set(LinkUnspec::new_with_index(port).down().build()).await?;
    set(LinkUnspec::new_with_index(port).controller(controller).build()).await?;
    set(LinkUnspec::new_with_index(port).up().build()).await
}

/// The bytes of a MAC address with colons.
pub fn bytes(mac: &str) -> Option<Vec<u8>> {
    hex::decode(mac.replace(':', ""))
        .ok()
        .filter(|mac| mac.len() == 6)
}
