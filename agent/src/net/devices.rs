//! Makes bonds, VLANs and bridges (rtnetlink), and puts ports into them.

use futures_util::TryStreamExt;
use muster_api::live::network::{Bond, BondMode, HashPolicy, Interface, Kind};
use netlink_packet_route::link::{
    BondLacpRate, BondMode as KernelMode, BondXmitHashPolicy, BridgeStpState, LinkMessage,
};
use rtnetlink::{Handle, LinkBond, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVlan};

/// Interval between two looks at the carrier of a bond's port, where nobody says another: without one a port that lost it is
/// used on.
const MIIMON: u32 = 100;

/// Kernel module that makes devices of this kind; none for what the kernel has without.
pub fn module(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Ethernet => None,
        Kind::Bond(_) => Some("bonding"),
        Kind::Vlan(_) => Some("8021q"),
        Kind::Bridge(_) => Some("bridge"),
    }
}

/// Makes a device that is not there. `index` gives the index of a part by the configuration's name of it.
///
/// # Errors
/// From the kernel, as text; or a part that is not there yet.
pub async fn make(
    handle: &Handle,
    wanted: &Interface,
    index: impl Fn(&str) -> Option<u32>,
) -> Result<(), String> {
    let message: LinkMessage = match &wanted.kind {
        Kind::Ethernet => return Err(format!("there is no card {}", wanted.name)),
        Kind::Bond(bond) => with_mac(bond_message(&wanted.name, bond), wanted),
        Kind::Vlan(vlan) => {
            let base = index(&vlan.base).ok_or_else(|| format!("waits for {}", vlan.base))?;
            with_mac(LinkVlan::new(&wanted.name, base, vlan.id), wanted)
        }
        Kind::Bridge(bridge) => {
            let stp = if bridge.stp {
                BridgeStpState::KernelStp
            } else {
                BridgeStpState::Disabled
            };
            with_mac(LinkBridge::new(&wanted.name).stp_state(stp), wanted)
        }
    };
    handle
        .link()
        .add(message)
        .execute()
        .await
        .map_err(|error| format!("not made: {error}"))
}

fn bond_message(name: &str, bond: &Bond) -> LinkMessageBuilder<LinkBond> {
    let mut message = LinkBond::new(name)
        .mode(mode(bond.mode))
        .miimon(bond.miimon.unwrap_or(MIIMON));
    if let Some(policy) = bond.xmit_hash_policy {
        message = message.xmit_hash_policy(hash_policy(policy));
    }
    if bond.mode == BondMode::Lacp && bond.lacp_fast {
        message = message.ad_lacp_rate(BondLacpRate::Fast);
    }
    if let Some(delay) = bond.updelay {
        message = message.updelay(delay);
    }
    if let Some(delay) = bond.downdelay {
        message = message.downdelay(delay);
    }
    message
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
/// From the kernel.
pub async fn add_port(handle: &Handle, port: u32, controller: u32) -> Result<(), rtnetlink::Error> {
    let set = |message: LinkMessage| handle.link().set(message).execute();
    let addresses = handle.address().get().set_link_index_filter(port).execute();
    let addresses: Vec<_> = addresses.try_collect().await.unwrap_or_default();
    for address in addresses {
        // The kernel takes away those of IPv6 itself.
        let _ = handle.address().del(address).execute().await;
    }
    set(LinkUnspec::new_with_index(port).down().build()).await?;
    set(LinkUnspec::new_with_index(port).controller(controller).build()).await?;
    set(LinkUnspec::new_with_index(port).up().build()).await
}

/// Chooses the port that a bond uses while it works.
///
/// # Errors
/// From the kernel.
pub async fn set_primary(handle: &Handle, bond: &str, port: u32) -> Result<(), rtnetlink::Error> {
    // A request that sets a link (RTM_SETLINK) changes no option of its kind.
    handle
        .link()
        .change(LinkBond::new(bond).primary(port).build())
        .execute()
        .await
}

fn mode(mode: BondMode) -> KernelMode {
    match mode {
        BondMode::BalanceRr => KernelMode::BalanceRr,
        BondMode::ActiveBackup => KernelMode::ActiveBackup,
        BondMode::BalanceXor => KernelMode::BalanceXor,
        BondMode::Broadcast => KernelMode::Broadcast,
        BondMode::Lacp => KernelMode::Ieee8023Ad,
        BondMode::BalanceTlb => KernelMode::BalanceTlb,
        BondMode::BalanceAlb => KernelMode::BalanceAlb,
    }
}

fn hash_policy(policy: HashPolicy) -> BondXmitHashPolicy {
    match policy {
        HashPolicy::Layer2 => BondXmitHashPolicy::Layer2,
        HashPolicy::Layer34 => BondXmitHashPolicy::Layer34,
        HashPolicy::Layer23 => BondXmitHashPolicy::Layer23,
        HashPolicy::Encap23 => BondXmitHashPolicy::Encap23,
        HashPolicy::Encap34 => BondXmitHashPolicy::Encap34,
        HashPolicy::VlanSrcMac => BondXmitHashPolicy::VlanSrcMac,
    }
}

/// The bytes of a MAC address with colons.
fn bytes(mac: &str) -> Option<Vec<u8>> {
    hex::decode(mac.replace(':', ""))
        .ok()
        .filter(|mac| mac.len() == 6)
}
