//! The kind of a link and its parameters.

use netlink_packet_route::link::{
    BridgeStpState, InfoBondPort, InfoBridge, InfoData, InfoKind, InfoPortData, InfoVlan, LinkInfo,
};

/// The kind of a link, with the parameters that cannot be changed afterwards or are read with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Shape {
    /// A card, or a link of which the kernel names no kind.
    #[default]
    Plain,
    Bond,
    Vlan {
        /// Index of the link that it is made over.
        base: Option<u32>,
        id: u16,
    },
    Bridge {
        stp: bool,
    },
    Other,
}

pub(super) fn shape(infos: &[LinkInfo]) -> Shape {
    let mut shape = Shape::Plain;
    for info in infos {
        match info {
            LinkInfo::Kind(InfoKind::Bond) => shape = Shape::Bond,
            LinkInfo::Kind(InfoKind::Vlan | InfoKind::Bridge) => {}
            LinkInfo::Kind(_) => shape = Shape::Other,
            LinkInfo::Data(InfoData::Vlan(data)) => {
                let id = data.iter().find_map(|one| match one {
                    InfoVlan::Id(id) => Some(*id),
                    _ => None,
                });
                shape = Shape::Vlan {
                    base: None,
                    id: id.unwrap_or_default(),
                };
            }
            LinkInfo::Data(InfoData::Bridge(data)) => {
                let is_off = |one: &InfoBridge| matches!(one, InfoBridge::StpState(BridgeStpState::Disabled));
                shape = Shape::Bridge {
                    stp: !data.iter().any(is_off),
                };
            }
            _ => {}
        }
    }
    shape
}

/// The address that a port of a bond had before.
pub(super) fn mac_before_bond(infos: &[LinkInfo]) -> Option<Vec<u8>> {
    infos.iter().find_map(|info| match info {
        LinkInfo::PortData(InfoPortData::BondPort(port)) => port.iter().find_map(|one| match one {
            InfoBondPort::PermHwaddr(mac) => Some(mac.clone()),
            _ => None,
        }),
        _ => None,
    })
}
