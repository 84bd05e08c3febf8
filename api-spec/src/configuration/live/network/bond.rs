//! Defines a bond's options as the kernel's bonding driver has them. Source: Documentation/networking/bonding.rst of Linux.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::serialize::is_default;

/// Several cards as one. Names and values of `mode` and options are those of the kernel's bonding driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    pub mode: BondMode,
    pub ports: Vec<String>,
    /// Milliseconds between two checks of a port's carrier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miimon: Option<u32>,
    /// `lacp_rate=fast`: every second instead of every 30.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lacp_fast: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xmit_hash_policy: Option<HashPolicy>,
    /// The port that is used while it works (`active-backup`, `balance-tlb`, `balance-alb`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updelay: Option<u32>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downdelay: Option<u32>,
    /// The driver's other options, by its names of options and values; values of lists have commas between them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: BTreeMap<String, String>,
}

#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BondMode {
    #[default]
    #[strum(to_string = "balance-rr", serialize = "0")]
    BalanceRr,
    #[strum(to_string = "active-backup", serialize = "1")]
    ActiveBackup,
    #[strum(to_string = "balance-xor", serialize = "2")]
    BalanceXor,
    #[strum(to_string = "broadcast", serialize = "3")]
    Broadcast,
    /// LACP.
    #[serde(rename = "802.3ad")]
    #[strum(to_string = "802.3ad", serialize = "4")]
    Lacp,
    #[strum(to_string = "balance-tlb", serialize = "5")]
    BalanceTlb,
    #[strum(to_string = "balance-alb", serialize = "6")]
    BalanceAlb,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr,
)]
pub enum HashPolicy {
    #[serde(rename = "layer2")]
    #[strum(to_string = "layer2", serialize = "0")]
    Layer2,
    #[serde(rename = "layer3+4")]
    #[strum(to_string = "layer3+4", serialize = "1")]
    Layer34,
    #[serde(rename = "layer2+3")]
    #[strum(to_string = "layer2+3", serialize = "2")]
    Layer23,
    #[serde(rename = "encap2+3")]
    #[strum(to_string = "encap2+3", serialize = "3")]
    Encap23,
    #[serde(rename = "encap3+4")]
    #[strum(to_string = "encap3+4", serialize = "4")]
    Encap34,
    #[serde(rename = "vlan+srcmac")]
    #[strum(to_string = "vlan+srcmac", serialize = "5")]
    VlanSrcMac,
}

/// The reason why an option is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionError {
    /// The driver has no such option.
    Unknown,
    /// The option cannot have this value.
    Value,
}

/// The values of an option.
enum Values {
    Number(u32, u32),
    /// On or off.
    Switch,
    /// Names, in the order of the driver's numbers for them.
    Names(&'static [&'static str]),
    Mac,
    Ipv4,
    Ipv6,
    /// The name of a port.
    Port,
}

const LACP: &[BondMode] = &[BondMode::Lacp];
const BACKUP: &[BondMode] = &[BondMode::ActiveBackup, BondMode::BalanceTlb, BondMode::BalanceAlb];
const ARP: &[BondMode] = &[
    BondMode::BalanceRr,
    BondMode::ActiveBackup,
    BondMode::BalanceXor,
    BondMode::Broadcast,
];
const ALL: &[BondMode] = &[];

/// The options that are no field of [`Bond`]: values, and the modes that have them (none named: all).
const OPTIONS: &[(&str, Values, &[BondMode])] = &[
    ("active_slave", Values::Port, BACKUP),
    ("ad_actor_sys_prio", Values::Number(1, 65535), LACP),
    ("ad_actor_system", Values::Mac, LACP),
    ("ad_select", Values::Names(&["stable", "bandwidth", "count"]), ALL),
    ("ad_user_port_key", Values::Number(0, 1023), LACP),
    ("all_slaves_active", Values::Names(&["dropped", "delivered"]), ALL),
    ("arp_all_targets", Values::Names(&["any", "all"]), ALL),
    ("arp_interval", Values::Number(0, i32::MAX as u32), ARP),
    ("arp_ip_target", Values::Ipv4, ARP),
    ("arp_missed_max", Values::Number(1, 255), ARP),
    (
        "arp_validate",
        Values::Names(&[
            "none",
            "active",
            "backup",
            "all",
            "filter",
            "filter_active",
            "filter_backup",
        ]),
        ARP,
    ),
    ("fail_over_mac", Values::Names(&["none", "active", "follow"]), ALL),
    ("lacp_active", Values::Names(&["off", "on"]), LACP),
    ("lp_interval", Values::Number(1, i32::MAX as u32), ALL),
    ("min_links", Values::Number(0, i32::MAX as u32), ALL),
    ("ns_ip6_target", Values::Ipv6, ARP),
    ("num_grat_arp", Values::Number(0, 255), ALL),
    ("num_unsol_na", Values::Number(0, 255), ALL),
    (
        "packets_per_slave",
        Values::Number(0, 65535),
        &[BondMode::BalanceRr],
    ),
    ("peer_notif_delay", Values::Number(0, 300_000), ALL),
    (
        "primary_reselect",
        Values::Names(&["always", "better", "failure"]),
        ALL,
    ),
    ("resend_igmp", Values::Number(0, 255), ALL),
    (
        "tlb_dynamic_lb",
        Values::Switch,
        &[BondMode::BalanceTlb, BondMode::BalanceAlb],
    ),
    ("use_carrier", Values::Switch, ALL),
];

impl Values {
    /// Reads a value with the driver's name.
    fn read(&self, value: &str) -> Option<String> {
        match self {
            Self::Number(least, most) => {
                let number: u32 = value.parse().ok()?;
                (*least..=*most).contains(&number).then(|| number.to_string())
            }
            Self::Switch => {
                let is_on = match value.to_ascii_lowercase().as_str() {
                    "1" | "on" | "true" | "yes" => true,
                    "0" | "off" | "false" | "no" => false,
                    _ => return None,
                };
                Some(u8::from(is_on).to_string())
            }
            Self::Names(names) => {
                let by_number = || names.get(value.parse::<usize>().ok()?).copied();
                let by_name = names.iter().find(|name| **name == value).copied();
                by_name.or_else(by_number).map(str::to_owned)
            }
            Self::Mac => {
                let mac = value.to_ascii_lowercase().replace('-', ":");
                is_mac(&mac).then_some(mac)
            }
            Self::Ipv4 => addresses::<Ipv4Addr>(value),
            Self::Ipv6 => addresses::<Ipv6Addr>(value),
            Self::Port => (!value.is_empty()).then(|| value.to_owned()),
        }
    }
}

fn addresses<T: std::str::FromStr + ToString>(list: &str) -> Option<String> {
    let parts = list.split([',', ';']).map(|one| one.trim().parse::<T>().ok());
    let parts: Option<Vec<String>> = parts.map(|one| Some(one?.to_string())).collect();
    parts.map(|parts| parts.join(","))
}

/// True for six bytes with colons.
pub fn is_mac(text: &str) -> bool {
    let mut bytes = text.split(':');
    text.len() == 17
        && bytes.clone().count() == 6
        && bytes.all(|byte| byte.len() == 2 && u8::from_str_radix(byte, 16).is_ok())
}

impl Bond {
    /// Sets an option by the driver's name of it; a number may replace a name, as in the driver.
    ///
    /// # Errors
    /// When there is no such option or value; the bond is unchanged then.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
        let number = || value.parse::<u32>().map(Some).map_err(|_| OptionError::Value);
        match option {
            "mode" => self.mode = value.parse().map_err(|_| OptionError::Value)?,
            "miimon" => self.miimon = number()?,
            "updelay" => self.updelay = number()?,
            "downdelay" => self.downdelay = number()?,
            "primary" => self.primary = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "xmit_hash_policy" => {
                self.xmit_hash_policy = Some(value.parse().map_err(|_| OptionError::Value)?);
            }
            "lacp_rate" => {
                self.lacp_fast = match value {
                    "fast" | "1" => true,
                    "slow" | "0" => false,
                    _ => return Err(OptionError::Value),
                }
            }
            _ => {
                let known = OPTIONS.iter().find(|(name, ..)| *name == option);
                let (_, values, _) = known.ok_or(OptionError::Unknown)?;
                let value = values.read(value).ok_or(OptionError::Value)?;
                self.options.insert(option.to_owned(), value);
            }
        }
        Ok(())
    }

    /// Takes away the options that the driver does not have in this mode; returns their names.
    pub fn drop_misfits(&mut self) -> Vec<&'static str> {
        let mut dropped = Vec::new();
        if self.lacp_fast && self.mode != BondMode::Lacp {
            self.lacp_fast = false;
            dropped.push("lacp_rate");
        }
        if self.primary.is_some() && !BACKUP.contains(&self.mode) {
            self.primary = None;
            dropped.push("primary");
        }
        for (name, _, modes) in OPTIONS {
            if !modes.is_empty() && !modes.contains(&self.mode) && self.options.remove(*name).is_some() {
                dropped.push(name);
            }
        }
        dropped
    }

    /// Takes away the options that name a port which the bond does not have; returns each with that name.
    pub fn drop_strangers(&mut self) -> Vec<(&'static str, String)> {
        let Self {
            ports,
            primary,
            options,
            ..
        } = self;
        let is_stranger = |port: &mut String| !ports.contains(port);
        let mut dropped: Vec<_> = primary
            .take_if(is_stranger)
            .map(|port| ("primary", port))
            .into_iter()
            .collect();
        for (name, values, _) in OPTIONS {
            if matches!(values, Values::Port) && options.get(*name).is_some_and(|port| !ports.contains(port))
            {
                dropped.extend(options.remove(*name).map(|port| (*name, port)));
            }
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_kept_by_the_drivers_names() {
        let mut bond = Bond::default();
        for (option, value) in [
            ("mode", "1"),
            ("fail_over_mac", "1"),
            ("arp_ip_target", "10.0.0.1;10.0.0.2"),
            ("min_links", "2"),
            ("primary_reselect", "better"),
        ] {
            assert_eq!(bond.set(option, value), Ok(()), "{option}");
        }
        let options: Vec<(&str, &str)> = bond
            .options
            .iter()
            .map(|(option, value)| (option.as_str(), value.as_str()))
            .collect();
        let expected = [
            ("arp_ip_target", "10.0.0.1,10.0.0.2"),
            ("fail_over_mac", "active"),
            ("min_links", "2"),
            ("primary_reselect", "better"),
        ];
        assert_eq!(options, expected);
        assert_eq!(bond.set("fail_over_mac", "3"), Err(OptionError::Value));
        assert_eq!(bond.set("flux", "3"), Err(OptionError::Unknown));
        assert_eq!(bond.options.len(), expected.len());
    }

    #[test]
    fn options_of_another_mode_are_taken_away_and_named() {
        let mut bond = Bond {
            mode: BondMode::Lacp,
            ..Bond::default()
        };
        for (option, value) in [("lacp_rate", "fast"), ("primary", "ens3"), ("arp_interval", "50")] {
            bond.set(option, value).unwrap();
        }
        assert_eq!(bond.drop_misfits(), ["primary", "arp_interval"]);
        assert!(bond.lacp_fast);
        bond.mode = BondMode::ActiveBackup;
        assert_eq!(bond.drop_misfits(), ["lacp_rate"]);
    }

    #[test]
    fn options_that_name_no_port_are_taken_away_and_named() {
        let mut bond = Bond {
            mode: BondMode::ActiveBackup,
            ports: vec!["ens3".into()],
            ..Bond::default()
        };
        for option in ["primary", "active_slave"] {
            bond.set(option, "ens3").unwrap();
        }
        assert_eq!(bond.drop_strangers(), []);
        for option in ["primary", "active_slave"] {
            bond.set(option, "ens4").unwrap();
        }
        let ens4 = || "ens4".to_owned();
        assert_eq!(
            bond.drop_strangers(),
            [("primary", ens4()), ("active_slave", ens4())]
        );
        assert_eq!((bond.primary, bond.options.len()), (None, 0));
    }
}
