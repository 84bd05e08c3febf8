//! `bond=`, `bridge=`, `team=` and `vlan=`: devices that are made of others.

use muster_api::live::network::{Bond, Bridge, Kind, OptionError, Vlan};

use super::Reader;
use super::words;

/// The port of a bond or a bridge for which none is given.
const PORT: &str = "eth0";
/// Greatest VLAN.
const LAST_VLAN: u16 = 4094;

impl Reader<'_> {
    /// `bond=[NAME][:PORT,PORT[:OPTION=VALUE,...[:MTU]]]`
    pub(super) fn bond(&mut self, value: &str) {
        let words = words::split(value);
        let word = |at: usize| words.get(at).copied().filter(|word| !word.is_empty());
        let name = word(0).unwrap_or("bond0");
        let Some(interface) = self.named(name) else { return };
        let mut bond = match &interface.kind {
            Kind::Bond(bond) => bond.clone(),
            _ => Bond::default(),
        };
        // The addresses of one option may have the commas of their list.
        for (option, value) in options(word(2).unwrap_or_default()) {
            match bond.set(option, &value) {
                Ok(()) => {}
                Err(OptionError::Unknown) => self.wrong(format!("there is no bond option {option}")),
                Err(OptionError::Value) => {
                    self.wrong(format!("the bond option {option} cannot be {value:?}"));
                }
            }
        }
        for option in bond.drop_misfits() {
            let mode: &'static str = bond.mode.into();
            self.wrong(format!("the bond option {option} is not of mode {mode}"));
        }
        self.interface(name).kind = Kind::Bond(bond);
        if let Some(mtu) = word(3) {
            self.mtu(name, mtu);
        }
        self.take_ports(name, word(1));
        let strangers = match &mut self.interface(name).kind {
            Kind::Bond(bond) => bond.drop_strangers(),
            Kind::Ethernet | Kind::Bridge(_) | Kind::Vlan(_) => Vec::new(),
        };
        for (option, port) in strangers {
            self.wrong(format!(
                "the bond option {option} names {port}, which is none of its ports"
            ));
        }
    }

    /// `bridge=[NAME][:PORT,PORT]`
    pub(super) fn bridge(&mut self, value: &str) {
        let words = words::split(value);
        let word = |at: usize| words.get(at).copied().filter(|word| !word.is_empty());
        let name = word(0).unwrap_or("br0");
        let Some(interface) = self.named(name) else { return };
        if !matches!(interface.kind, Kind::Bridge(_)) {
            interface.kind = Kind::Bridge(Bridge::default());
        }
        self.take_ports(name, word(1));
    }

    /// `team=NAME:PORT,PORT`: its ports stay as they are.
    pub(super) fn team(&mut self, value: &str) {
        let name = words::split(value).first().copied().unwrap_or_default();
        self.teams
            .insert(if name.is_empty() { "team0" } else { name }.to_owned());
        self.wrong("teams are not made: they need teamd; bond= makes the same of the same cards");
    }

    /// Drops the settings of teams. Devices on top of them are left, and wait.
    pub(super) fn drop_teams(&mut self) {
        for team in std::mem::take(&mut self.teams) {
            self.network.interfaces.retain(|one| one.name != team);
            self.network.routes.retain(|route| route.interface != team);
            self.gateways.retain(|(interface, _), _| *interface != team);
        }
    }

    /// `vlan=NAME:BASE`; the name ends with the VLAN: `vlan5`, `vlan0005`, `eth0.5`, `eth0.0005`.
    pub(super) fn vlan(&mut self, value: &str) {
        let words = words::split(value);
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let name = word(0);
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let id = name[digits..].parse().ok();
        let Some(id) = id.filter(|id| (1..=LAST_VLAN).contains(id)) else {
            return self.wrong(format!(
                "the name of a VLAN ends with its number, 1 to {LAST_VLAN}, and {name:?} does not"
            ));
        };
        let Some(base) = self.name_of(word(1)) else { return };
        let Some(interface) = self.named(name) else { return };
        interface.kind = Kind::Vlan(Vlan {
            base: base.clone(),
            id,
        });
        self.bases.push(base);
    }

    /// Makes interfaces ports of this device only.
    fn take_ports(&mut self, device: &str, ports: Option<&str>) {
        for port in words::list(ports.unwrap_or(PORT)) {
            let Some(port) = self.named(port).map(|port| port.name.clone()) else {
                continue;
            };
            for one in &mut self.network.interfaces {
                let of = match &mut one.kind {
                    Kind::Bond(bond) => &mut bond.ports,
                    Kind::Bridge(bridge) => &mut bridge.ports,
                    Kind::Ethernet | Kind::Vlan(_) => continue,
                };
                let is_port = of.contains(&port);
                if one.name == device && !is_port {
                    of.push(port.clone());
                } else if one.name != device {
                    of.retain(|other| *other != port);
                }
            }
        }
    }
}

/// The options of a bond. A part without a name of its own is one more value of the option before it.
fn options(text: &str) -> Vec<(&str, String)> {
    let mut options: Vec<(&str, String)> = Vec::new();
    for part in words::list(text) {
        match (part.split_once('='), options.last_mut()) {
            (Some((option, value)), _) => options.push((option, value.to_owned())),
            (None, Some((_, values))) => {
                values.push(',');
                values.push_str(part);
            }
            (None, None) => options.push((part, String::new())),
        }
    }
    options
}
