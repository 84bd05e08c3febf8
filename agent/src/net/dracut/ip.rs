//! `ip=`: the addresses of an interface, or of all that no other argument names.

use std::net::IpAddr;

use muster_api::live::network::{Address, Interface};

use super::words;
use super::{OTHERS, Reader};
use crate::net::configuration::hostname;

/// The word of `ip=` for the source of the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Nowhere.
    Off,
    /// DHCP for IPv4 is needed, IPv6 welcome.
    Dhcp,
    /// Values that routers advertise, and DHCP for IPv6 if they advertise it.
    Dhcp6,
    /// DHCP for IPv6, whatever routers advertise.
    Either6,
    LinkLocal,
    /// Whatever there is.
    Automatic,
    /// The firmware's table of the disk that it booted from.
    Firmware,
}

/// The families that arguments have made automatic.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Families {
    ipv4: bool,
    ipv6: bool,
}

/// The words of one `ip=`.
#[derive(Debug, Default)]
struct Words<'a> {
    address: &'a str,
    peer: &'a str,
    gateway: &'a str,
    mask: &'a str,
    host: &'a str,
    interface: &'a str,
    method: &'a str,
    /// MTU and MAC address, or name servers.
    rest: &'a [&'a str],
}

impl<'a> Words<'a> {
    /// `METHOD`, `INTERFACE:METHOD[:REST]` or `[ADDRESS]:[PEER]:[GATEWAY]:[MASK]:[HOST]:[INTERFACE]:[METHOD][:REST]`
    fn of(words: &'a [&'a str]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let rest = |from: usize| words.get(from..).unwrap_or_default();
        if rest(1).iter().all(|word| word.is_empty()) && words.len() < 3 {
            Self {
                method: word(0),
                ..Self::default()
            }
        } else if !word(1).is_empty() && method(word(1)).is_some() {
            Self {
                interface: word(0),
                method: word(1),
                rest: rest(2),
                ..Self::default()
            }
        } else {
            Self {
                address: word(0),
                peer: word(1),
                gateway: word(2),
                mask: word(3),
                host: word(4),
                interface: word(5),
                method: word(6),
                rest: rest(7),
            }
        }
    }
}

impl Reader<'_> {
    /// Adds to the settings of earlier arguments for the interface.
    pub(super) fn ip(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let words = words::split(value);
        let words = Words::of(&words);
        let address = match words.address {
            "" => None,
            text => match self.address(text, words.mask) {
                Some(address) => Some(address),
                None => return,
            },
        };
        let method = method(words.method).unwrap_or_else(|| {
            self.wrong(format!("there is no {:?}; it is taken as auto", words.method));
            Method::Automatic
        });
        if method == Method::Firmware {
            self.wrong("the firmware's iBFT is not read");
            if words.interface.is_empty() {
                return;
            }
        }
        if !words.peer.is_empty() {
            self.wrong(format!("the peer {} is not set", words.peer));
        }
        let Some(interface) = self.of_ip(words.interface) else {
            return;
        };
        let earlier = self.explicit.get(&interface).copied().unwrap_or_default();
        take(self.interface(&interface), address, method, earlier);
        let explicit = self.explicit.entry(interface.clone()).or_default();
        let is_both = method == Method::Automatic && !words.method.is_empty();
        explicit.ipv4 |= is_both || method == Method::Dhcp;
        explicit.ipv6 |= is_both || matches!(method, Method::Dhcp6 | Method::Either6);
        if !words.host.is_empty() {
            match hostname(words.host) {
                Some(name) => self.network.hostname = Some(name),
                None => self.wrong(format!("{:?} is no host name", words.host)),
            }
        }
        match (words.gateway, words.gateway.parse::<IpAddr>()) {
            ("", _) => {}
            (_, Ok(gateway)) => {
                self.gateways
                    .insert((interface.clone(), gateway.is_ipv6()), gateway);
            }
            (text, Err(_)) => self.wrong(format!("the gateway {text:?} is no IP address")),
        }
        self.rest(&interface, words.rest);
    }

    /// The name of the interface that an `ip=` is of.
    fn of_ip(&mut self, word: &str) -> Option<String> {
        match word {
            "" => Some(self.interface(OTHERS).name.clone()),
            name => self.named(name).map(|one| one.name.clone()),
        }
    }

    fn address(&mut self, text: &str, mask: &str) -> Option<Address> {
        let Some(with_prefix) = words::network(text) else {
            self.wrong(format!("{text:?} is no IP address"));
            return None;
        };
        let ip = with_prefix.ip;
        let prefix = if !mask.is_empty() {
            words::prefix(mask, ip).unwrap_or_else(|| {
                self.wrong(format!("{mask:?} is no netmask"));
                words::usual_prefix(ip)
            })
        } else if text.contains('/') {
            with_prefix.prefix
        } else {
            words::usual_prefix(ip)
        };
        Some(Address { ip, prefix })
    }

    /// `[MTU][:MAC]` or `SERVER[:SERVER]`
    fn rest(&mut self, interface: &str, rest: &[&str]) {
        let word = |at: usize| rest.get(at).copied().unwrap_or_default();
        if let Ok(server) = word(0).parse::<IpAddr>() {
            self.network.name_servers.push(server);
            match (word(1), word(1).parse()) {
                ("", _) => {}
                (_, Ok(server)) => self.network.name_servers.push(server),
                (text, Err(_)) => self.wrong(format!("the name server {text:?} is no IP address")),
            }
            return;
        }
        if !word(0).is_empty() {
            self.mtu(interface, word(0));
        }
        let mac = rest.get(1..).unwrap_or_default().join(":");
        match words::mac(&mac) {
            Some(mac) => self.interface(interface).mac = Some(mac),
            None if mac.is_empty() => {}
            None => self.wrong(format!("{mac:?} is no MAC address")),
        }
    }

    pub(super) fn mtu(&mut self, interface: &str, text: &str) {
        match text.parse() {
            Ok(mtu) => self.interface(interface).mtu = Some(mtu),
            Err(_) => self.wrong(format!("{text:?} is no MTU")),
        }
    }
}

/// Adds the settings of an `ip=` to an interface. `earlier`: the families that an earlier one has made automatic, which a static
/// address of the other family does not switch off.
fn take(one: &mut Interface, address: Option<Address>, method: Method, earlier: Families) {
    if let Some(address) = address {
        let family = if address.ip.is_ipv6() {
            &mut one.ipv6
        } else {
            &mut one.ipv4
        };
        (family.dhcp, family.autoconf) = (false, false);
        if !family.addresses.contains(&address) {
            family.addresses.push(address);
        }
    }
    let (has4, has6) = (!one.ipv4.addresses.is_empty(), !one.ipv6.addresses.is_empty());
    match method {
        Method::Off => {
            one.ipv4.dhcp &= has4 || has6 && earlier.ipv4 && address.is_some();
            let keeps = has6 || has4 && earlier.ipv6 && address.is_some();
            one.ipv6.dhcp &= keeps;
            one.ipv6.autoconf &= keeps;
        }
        Method::Dhcp => {
            one.ipv4.dhcp = true;
            one.ipv6.autoconf |= !has6;
        }
        Method::Dhcp6 | Method::Either6 | Method::LinkLocal => {
            one.ipv6.autoconf = method != Method::LinkLocal;
            one.ipv6.dhcp = method == Method::Either6;
            one.ipv6.link_local = method == Method::LinkLocal;
            one.ipv4.dhcp &= has4;
        }
        Method::Automatic | Method::Firmware => {}
    }
}

/// The method of a word. Words with commas between them are of the kinds that they have together.
fn method(word: &str) -> Option<Method> {
    let one = |word: &str| {
        Some(match word {
            "" | "auto" | "on" | "any" => Method::Automatic,
            "dhcp" | "single-dhcp" | "dhcp4" => Method::Dhcp,
            "dhcp6" | "auto6" => Method::Dhcp6,
            "either6" => Method::Either6,
            "link6" | "link-local" => Method::LinkLocal,
            "none" | "off" => Method::Off,
            "ibft" | "fw" => Method::Firmware,
            _ => return None,
        })
    };
    let mut methods = word.split(',').map(|word| one(word.trim()));
    let first = methods.next()??;
    methods.try_fold(first, |all, next| {
        let next = next?;
        if all == next {
            return Some(all);
        }
        let pair = [all, next];
        let has = |one: Method| pair.contains(&one);
        if has(Method::Automatic) || has(Method::Dhcp) && has(Method::Dhcp6) {
            return Some(Method::Automatic);
        }
        None
    })
}
