//! Asks the machine's management controller (BMC) for its address over IPMI. Source of the rules:
//! docs/protocol/agent-inventory.md#12; IPMI 2.0 specification, table 23-4 (LAN configuration parameters).

mod ipmi;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Problems;
use crate::root::{Reason, Root};

/// "None" on the wire.
const NO_V4: &str = "0.0.0.0";
const NO_V6: &str = "::/0";
const CHANNELS: std::ops::RangeInclusive<u8> = 1..=12;
/// Table 23-4: "IP Address".
const IPV4_ADDRESS: u8 = 3;
/// Table 23-4: "IPv6 and IPv4 Addressing Enables".
const FAMILIES: u8 = 51;
/// Table 23-4: "IPv6 Status": the limits of static and dynamic addresses.
const IPV6_STATUS: u8 = 55;
const IPV6_STATIC: u8 = 56;
const IPV6_DYNAMIC: u8 = 59;
/// Further addresses of one kind are not requested.
const MAX_ADDRESSES: u8 = 16;

/// Texts as on the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Addresses {
    pub v4: String,
    pub v6: String,
}

/// The controller's answers: `channel.parameter.set` → the parameter's data in hex.
type Answers = BTreeMap<String, String>;

/// A machine without `/dev/ipmi0` has no BMC to ask.
pub(super) fn addresses(root: &Root, problems: &mut Problems) -> Addresses {
    let answers = root.probe("bmc.lan", || match ipmi::Controller::open() {
        Ok(Some(mut controller)) => {
            ask(|channel, parameter, set| controller.lan_parameter(channel, parameter, set))
        }
        Ok(None) => Ok(Answers::new()),
        Err(error) => Err(format!("/dev/ipmi0: {error}")),
    });
    parse(&problems.take("bmc_address", answers).unwrap_or_default())
}

/// Asks channel by channel; stops at the first address of each family. An error is a controller that does not
/// answer at all; `Ok(None)` a parameter that it does not have.
fn ask(mut get: impl FnMut(u8, u8, u8) -> Result<Option<Vec<u8>>, Reason>) -> Result<Answers, Reason> {
    let mut answers = Answers::new();
    for channel in CHANNELS {
        let mut keep = |parameter: u8, set: u8| -> Result<Option<Vec<u8>>, Reason> {
            let data = get(channel, parameter, set)?;
            if let Some(data) = &data {
                answers.insert(format!("{channel}.{parameter}.{set}"), hex::encode(data));
            }
            Ok(data)
        };
        keep(IPV4_ADDRESS, 0)?;
        let has_v6 = keep(FAMILIES, 0)?.is_some_and(|data| speaks_v6(&data));
        if !has_v6 {
            continue;
        }
        let status = keep(IPV6_STATUS, 0)?.unwrap_or_default();
        let count = |at: usize| status.get(at).copied().unwrap_or(1).min(MAX_ADDRESSES);
        for (parameter, count) in [(IPV6_DYNAMIC, count(1)), (IPV6_STATIC, count(0))] {
            for set in 0..count {
                keep(parameter, set)?;
            }
        }
    }
    Ok(answers)
}

/// 1: IPv6 only, 2: both.
fn speaks_v6(enables: &[u8]) -> bool {
    matches!(enables.first(), Some(1 | 2))
}

fn parse(answers: &Answers) -> Addresses {
    let data = |channel: u8, parameter: u8, set: u8| {
        let text = answers.get(&format!("{channel}.{parameter}.{set}"))?;
        hex::decode(text).ok()
    };
    let v4 = CHANNELS
        .filter_map(|channel| <[u8; 4]>::try_from(data(channel, IPV4_ADDRESS, 0)?.get(..4)?).ok())
        .map(Ipv4Addr::from)
        .find(|address| !address.is_unspecified());
    let v6 = CHANNELS
        .filter(|channel| data(*channel, FAMILIES, 0).is_some_and(|data| speaks_v6(&data)))
        .flat_map(|channel| {
            [IPV6_DYNAMIC, IPV6_STATIC]
                .into_iter()
                .flat_map(move |parameter| (0..MAX_ADDRESSES).map(move |set| (channel, parameter, set)))
        })
        .find_map(|(channel, parameter, set)| ipv6(&data(channel, parameter, set)?, parameter));
    Addresses {
        v4: v4.map_or_else(|| NO_V4.to_owned(), |address| address.to_string()),
        v6: v6.map_or_else(|| NO_V6.to_owned(), |address| address.to_string()),
    }
}

/// Set selector, source, address (16), prefix length, status (0 is active). The source of a static address has the
/// bit "enabled"; a dynamic one comes from SLAAC (1) or DHCPv6 (2).
fn ipv6(data: &[u8], parameter: u8) -> Option<Ipv6Addr> {
    let (source, status) = (*data.get(1)?, *data.get(19)?);
    let octets: [u8; 16] = data.get(2..18)?.try_into().ok()?;
    let usable = match parameter {
        IPV6_STATIC => source & 0x80 != 0,
        _ => matches!(source & 0x0f, 1 | 2),
    };
    let address = Ipv6Addr::from(octets);
    (usable && status == 0 && !address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v6_entry(source: u8, address: &str, status: u8) -> Vec<u8> {
        let address: Ipv6Addr = address.parse().unwrap();
        [&[0, source][..], &address.octets(), &[64, status]].concat()
    }

    /// A controller whose LAN is on channel 8.
    fn controller(channel: u8, parameter: u8, set: u8) -> Result<Option<Vec<u8>>, Reason> {
        Ok(match (channel, parameter, set) {
            (1, IPV4_ADDRESS, 0) => Some(vec![0, 0, 0, 0]),
            (8, IPV4_ADDRESS, 0) => Some(vec![10, 1, 2, 3]),
            (8, FAMILIES, 0) => Some(vec![2]),
            (8, IPV6_STATUS, 0) => Some(vec![1, 2, 0]),
            (8, IPV6_DYNAMIC, 0) => Some(v6_entry(1, "fd00::1", 1)),
            (8, IPV6_DYNAMIC, 1) => Some(v6_entry(2, "fd00::2", 0)),
            (8, IPV6_STATIC, 0) => Some(v6_entry(0x80, "fd00::3", 0)),
            _ => None,
        })
    }

    #[test]
    fn the_first_active_address_counts_dynamic_before_static() {
        let found = parse(&ask(controller).unwrap());
        assert_eq!(
            found,
            Addresses {
                v4: "10.1.2.3".into(),
                v6: "fd00::2".into()
            }
        );
    }

    #[test]
    fn a_disabled_static_address_or_a_channel_without_ipv6_does_not_count() {
        let found = parse(
            &ask(|channel, parameter, set| match (channel, parameter, set) {
                (1, FAMILIES, 0) => Ok(Some(vec![2])),
                (1, IPV6_STATIC, 0) => Ok(Some(v6_entry(0, "fd00::3", 0))),
                (2, FAMILIES, 0) => Ok(Some(vec![0])),
                (2, IPV6_STATIC, 0) => Ok(Some(v6_entry(0x80, "fd00::4", 0))),
                _ => Ok(None),
            })
            .unwrap(),
        );
        assert_eq!(
            found,
            Addresses {
                v4: NO_V4.into(),
                v6: NO_V6.into()
            }
        );
    }

    #[test]
    fn a_controller_that_does_not_answer_is_asked_once() {
        let mut asked = 0;
        let answer = ask(|_, _, _| {
            asked += 1;
            Err("no answer".to_owned())
        });
        assert_eq!(answer, Err("no answer".to_owned()));
        assert_eq!(asked, 1);
    }

    #[test]
    fn short_answers_are_no_addresses() {
        let answers = Answers::from([
            ("1.3.0".to_owned(), "0a01".to_owned()),
            ("2.3.0".to_owned(), "zz".to_owned()),
        ]);
        assert_eq!(parse(&answers).v4, NO_V4);
    }
}
