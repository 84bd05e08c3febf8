//! Reads the address of the machine's management controller (BMC) over IPMI. Source of the rules:
//! docs/protocol/agent-inventory.md#12; IPMI 2.0 specification, table 23-4 (LAN configuration parameters).

mod ipmi;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Problems;
use crate::root::{Operation, ProbeError, Root};

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

/// Addresses that were found are read again after this long.
const REMEMBER: Duration = Duration::from_secs(60 * 60);
/// A controller without addresses may get some by DHCP.
const REMEMBER_NOTHING: Duration = Duration::from_secs(5 * 60);

/// Texts as on the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Addresses {
    pub v4: String,
    pub v6: String,
}

/// The controller's responses: `channel.parameter.set` → the parameter's data in hex.
type Answers = BTreeMap<String, String>;

/// The queries to the controller.
trait Controller {
    /// True for a channel to a LAN; `None` if the controller does not report it.
    fn is_lan(&mut self, channel: u8) -> Result<Option<bool>, ProbeError>;
    /// The data of a parameter; `None` if there is no such channel or parameter.
    fn lan_parameter(&mut self, channel: u8, parameter: u8, set: u8) -> Result<Option<Vec<u8>>, ProbeError>;
}

/// A machine without `/dev/ipmi0` has no BMC to query.
pub(super) fn addresses(root: &Root, problems: &mut Problems) -> Addresses {
    let answers = root.probe("bmc.lan", || {
        let asked = REMEMBERED.recall(Instant::now(), || match ipmi::Device::open() {
            Ok(Some(mut controller)) => ask(&mut controller),
            Ok(None) => Asked::default(),
            Err(error) => Asked {
                answers: Answers::new(),
                problem: Some(ProbeError::failed(Operation::Open, "/dev/ipmi0")(error)),
            },
        });
        match asked.problem {
            // Responses before it fell silent count.
            Some(problem) if asked.answers.is_empty() => Err(problem),
            _ => Ok(asked.answers),
        }
    });
    parse(&problems.take("bmc_address", answers).unwrap_or_default())
}

/// Responses, and why there are no more of them.
#[derive(Debug, Clone, Default, PartialEq)]
struct Asked {
    answers: Answers,
    problem: Option<ProbeError>,
}

/// The addresses change seldom, and each query costs a slow controller some 10 ms to 100 ms.
static REMEMBERED: Memory = Memory(Mutex::new(None));

/// The last responses and their time.
struct Memory(Mutex<Option<(Instant, Asked)>>);

impl Memory {
    /// The former responses while they are young, else new ones.
    fn recall(&self, now: Instant, ask: impl FnOnce() -> Asked) -> Asked {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, asked)) = &*remembered {
            let found = parse(&asked.answers);
            let is_known = found.v4 != NO_V4 || found.v6 != NO_V6;
            let keeps = if is_known { REMEMBER } else { REMEMBER_NOTHING };
            if now.saturating_duration_since(*at) < keeps {
                return asked.clone();
            }
        }
        let asked = ask();
        *remembered = Some((now, asked.clone()));
        asked
    }
}

/// Queries the channels that lead to a LAN one by one, until an address is known: of IPv4, and of IPv6 if the channel has it. A
/// query that fails ends this, and earlier responses count.
fn ask(controller: &mut impl Controller) -> Asked {
    let mut asked = Asked::default();
    for channel in CHANNELS {
        if let Err(problem) = ask_channel(controller, channel, &mut asked.answers) {
            asked.problem = Some(problem);
            break;
        }
        if parse(&asked.answers).v4 != NO_V4 {
            break;
        }
    }
    asked
}

fn ask_channel(
    controller: &mut impl Controller,
    channel: u8,
    answers: &mut Answers,
) -> Result<(), ProbeError> {
    if controller.is_lan(channel)? == Some(false) {
        return Ok(());
    }
    let mut keep = |parameter: u8, set: u8| -> Result<Option<Vec<u8>>, ProbeError> {
        let data = controller.lan_parameter(channel, parameter, set)?;
        if let Some(data) = &data {
            answers.insert(format!("{channel}.{parameter}.{set}"), hex::encode(data));
        }
        Ok(data)
    };
    // A channel without even an IPv4 address parameter does not count.
    if keep(IPV4_ADDRESS, 0)?.is_none() {
        return Ok(());
    }
    if !keep(FAMILIES, 0)?.is_some_and(|data| speaks_v6(&data)) {
        return Ok(());
    }
    let status = keep(IPV6_STATUS, 0)?.unwrap_or_default();
    let count = |at: usize| status.get(at).copied().unwrap_or(1).min(MAX_ADDRESSES);
    for (parameter, count) in [(IPV6_DYNAMIC, count(1)), (IPV6_STATIC, count(0))] {
        for set in 0..count {
            let entry = keep(parameter, set)?;
            if entry.is_some_and(|entry| ipv6(&entry, parameter).is_some()) {
                return Ok(());
            }
        }
    }
    Ok(())
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
        // A link-local one is that of the channel to the host itself.
        .find(|address| !address.is_unspecified() && !address.is_link_local());
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

    /// A controller that responds by a function and counts the queries.
    struct Fake<F> {
        lan: Option<u8>,
        asked: Vec<(u8, u8)>,
        answer: F,
    }

    impl<F: FnMut(u8, u8, u8) -> Result<Option<Vec<u8>>, ProbeError>> Controller for Fake<F> {
        fn is_lan(&mut self, channel: u8) -> Result<Option<bool>, ProbeError> {
            Ok(self.lan.map(|lan| lan == channel))
        }

        fn lan_parameter(
            &mut self,
            channel: u8,
            parameter: u8,
            set: u8,
        ) -> Result<Option<Vec<u8>>, ProbeError> {
            self.asked.push((channel, parameter));
            (self.answer)(channel, parameter, set)
        }
    }

    fn fake<F: FnMut(u8, u8, u8) -> Result<Option<Vec<u8>>, ProbeError>>(answer: F) -> Fake<F> {
        Fake {
            lan: None,
            asked: Vec::new(),
            answer,
        }
    }

    /// A controller with its LAN on channel 8; channel 1 leads to the host itself.
    fn controller(channel: u8, parameter: u8, set: u8) -> Result<Option<Vec<u8>>, ProbeError> {
        Ok(match (channel, parameter, set) {
            (1, IPV4_ADDRESS, 0) => Some(vec![0, 0, 0, 0]),
            (2, IPV4_ADDRESS, 0) => Some(vec![169, 254, 3, 1]),
            (8, IPV4_ADDRESS, 0) => Some(vec![10, 1, 2, 3]),
            (8, FAMILIES, 0) => Some(vec![2]),
            (8, IPV6_STATUS, 0) => Some(vec![1, 2, 0]),
            (8, IPV6_DYNAMIC, 0) => Some(v6_entry(1, "fd00::1", 1)),
            (8, IPV6_DYNAMIC, 1) => Some(v6_entry(2, "fd00::2", 0)),
            (8, IPV6_STATIC, 0) => Some(v6_entry(0x80, "fd00::3", 0)),
            (9.., IPV4_ADDRESS, 0) => Some(vec![10, 9, 9, 9]),
            _ => None,
        })
    }

    fn addresses(v4: &str, v6: &str) -> Addresses {
        Addresses {
            v4: v4.into(),
            v6: v6.into(),
        }
    }

    #[test]
    fn the_first_active_address_counts_dynamic_before_static() {
        let found = parse(&ask(&mut fake(controller)).answers);
        assert_eq!(found, addresses("10.1.2.3", "fd00::2"));
    }

    #[test]
    fn nothing_is_asked_once_the_address_is_known_nor_of_channels_that_lead_elsewhere() {
        let mut all = fake(controller);
        ask(&mut all);
        let last =
            [IPV4_ADDRESS, FAMILIES, IPV6_STATUS, IPV6_DYNAMIC, IPV6_DYNAMIC].map(|parameter| (8, parameter));
        assert!(all.asked.ends_with(&last), "{:?}", all.asked);
        let mut lan = Fake {
            lan: Some(8),
            ..fake(controller)
        };
        ask(&mut lan);
        assert_eq!(lan.asked, last);
    }

    #[test]
    fn a_disabled_static_address_or_a_channel_without_ipv6_does_not_count() {
        let mut controller = fake(|channel, parameter, set| match (channel, parameter, set) {
            (1 | 2, IPV4_ADDRESS, 0) => Ok(Some(vec![0; 4])),
            (1, FAMILIES, 0) => Ok(Some(vec![2])),
            (1, IPV6_STATIC, 0) => Ok(Some(v6_entry(0, "fd00::3", 0))),
            (2, FAMILIES, 0) => Ok(Some(vec![0])),
            (2, IPV6_STATIC, 0) => Ok(Some(v6_entry(0x80, "fd00::4", 0))),
            _ => Ok(None),
        });
        assert_eq!(parse(&ask(&mut controller).answers), addresses(NO_V4, NO_V6));
    }

    #[test]
    fn a_controller_that_does_not_answer_is_asked_once() {
        let mut silent = fake(|_, _, _| Err(ProbeError::value("no answer")));
        let asked = ask(&mut silent);
        assert_eq!(asked.problem, Some(ProbeError::value("no answer")));
        assert_eq!(silent.asked.len(), 1);
    }

    #[test]
    fn an_address_that_was_told_before_the_controller_fell_silent_counts() {
        let mut tired = fake(|_, parameter, _| match parameter {
            IPV4_ADDRESS => Ok(Some(vec![10, 1, 2, 3])),
            _ => Err(ProbeError::value("no answer")),
        });
        let asked = ask(&mut tired);
        assert_eq!(parse(&asked.answers), addresses("10.1.2.3", NO_V6));
        assert!(asked.problem.is_some());
    }

    #[test]
    fn addresses_are_remembered_for_an_hour_and_their_absence_for_minutes() {
        let memory = Memory(Mutex::new(None));
        let start = Instant::now();
        let (mut times, mut v4) = (0, "00000000");
        let mut recall = |after: Duration, v4: &str| {
            let asked = memory.recall(start + after, || {
                times += 1;
                Asked {
                    answers: Answers::from([("1.3.0".to_owned(), v4.to_owned())]),
                    problem: None,
                }
            });
            (parse(&asked.answers).v4, times)
        };
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        assert_eq!(recall(minutes(0), v4), (NO_V4.to_owned(), 1));
        v4 = "0a010203";
        assert_eq!(recall(minutes(4), v4).1, 1);
        assert_eq!(recall(minutes(6), v4), ("10.1.2.3".to_owned(), 2));
        assert_eq!(recall(minutes(65), v4).1, 2);
        assert_eq!(recall(minutes(67), v4).1, 3);
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
