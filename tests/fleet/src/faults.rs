//! Faults of hosts, and their distribution over the fleet.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde::Serialize;

/// One way to misbehave. `--help` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    Silent,
    Slow,
    DuplicateId,
    ReplayedReply,
    HostileInventory,
    ForeignReply,
    LongLog,
    FailedInstall,
    FailedAgain,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 9] = [
        Self::Silent,
        Self::Slow,
        Self::DuplicateId,
        Self::ReplayedReply,
        Self::HostileInventory,
        Self::ForeignReply,
        Self::LongLog,
        Self::FailedInstall,
        Self::FailedAgain,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Slow => "slow",
            Self::DuplicateId => "duplicate-id",
            Self::ReplayedReply => "replayed-reply",
            Self::HostileInventory => "hostile-inventory",
            Self::ForeignReply => "foreign-reply",
            Self::LongLog => "long-log",
            Self::FailedInstall => "failed-install",
            Self::FailedAgain => "failed-again",
        }
    }

    /// True when a host with this fault still reports a good inventory of its own.
    pub fn reports_inventory(self) -> bool {
        match self {
            Self::HostileInventory => false,
            Self::Silent
            | Self::Slow
            | Self::DuplicateId
            | Self::ReplayedReply
            | Self::ForeignReply
            | Self::LongLog
            | Self::FailedInstall
            | Self::FailedAgain => true,
        }
    }

    /// True if the installation of this number, from 1, of a host with this fault ends while the image is written.
    pub fn fails(self, installation: u32) -> bool {
        match self {
            Self::FailedInstall => true,
            Self::FailedAgain => installation == 2,
            Self::Silent
            | Self::Slow
            | Self::DuplicateId
            | Self::ReplayedReply
            | Self::HostileInventory
            | Self::ForeignReply
            | Self::LongLog => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Share of hosts with a fault: `silent=5%` or `silent=3`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultShare {
    fault: Fault,
    share: Share,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Share {
    Percent(f64),
    Hosts(u32),
}

impl FaultShare {
    /// Number of hosts; a share above zero is at least one host.
    fn hosts(self, of: u32) -> u32 {
        match self.share {
            Share::Hosts(hosts) => hosts,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a percentage of a u32, rounded up, is a u32"
            )]
            Share::Percent(percent) => (f64::from(of) * percent / 100.0).ceil() as u32,
        }
    }
}

impl FromStr for FaultShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, share) = text
            .split_once('=')
            .ok_or_else(|| format!("give {text} a share: {text}=5%, or {text}=3 hosts"))?;
        let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name);
        let fault = fault.ok_or_else(|| {
            let names = Fault::ALL.map(Fault::name).join(", ");
            format!("{name} is no fault; these are: {names}")
        })?;
        let no_share = || format!("{share} is no share: give a percentage such as 5%, or a number of hosts");
        let share = match share.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.parse().map_err(|_| no_share())?;
                if !(0.0..=100.0).contains(&percent) {
                    return Err(no_share());
                }
                Share::Percent(percent)
            }
            None => Share::Hosts(share.parse().map_err(|_| no_share())?),
        };
        Ok(Self { fault, share })
    }
}

/// A host's role in the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub number: u32,
    pub fault: Option<Fault>,
    /// Its place among the hosts with the same fault, from 0.
    pub nth: u32,
    /// With `duplicate-id`: the machine with the same id.
    pub duplicate_of: Option<u32>,
}

/// The fault of each host: the same for the same seed, number of hosts and shares.
///
/// # Errors
/// If there are more faults than hosts, or no host is left with an id that could be duplicated.
pub fn cast(hosts: u32, seed: u64, shares: &[FaultShare]) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = (0..hosts)
        .map(|number| Part {
            number,
            fault: None,
            nth: 0,
            duplicate_of: None,
        })
        .collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut next = order.into_iter();
    for share in shares {
        for nth in 0..share.hosts(hosts) {
            let Some(index) = next.next() else {
                anyhow::bail!(
                    "the faults ask for more hosts than the {hosts} that there are: lower the shares or raise --hosts"
                );
            };
            parts[index].fault = Some(share.fault);
            parts[index].nth = nth;
        }
    }
    let good: Vec<u32> = next.map(|index| parts[index].number).collect();
    let doubled = parts
        .iter_mut()
        .filter(|part| part.fault == Some(Fault::DuplicateId));
    for (nth, part) in doubled.enumerate() {
        ensure!(
            nth < good.len(),
            "duplicate-id doubles hosts without a fault, and too few are left: lower the shares"
        );
        part.duplicate_of = Some(good[nth]);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(texts: &[&str]) -> Vec<FaultShare> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn shares_are_percentages_or_numbers_and_small_ones_are_one_host() {
        let parts = cast(50, 7, &shares(&["silent=5%", "slow=1%", "long-log=4"])).unwrap();
        let count = |fault| parts.iter().filter(|part| part.fault == Some(fault)).count();
        assert_eq!([Fault::Silent, Fault::Slow, Fault::LongLog].map(count), [3, 1, 4]);
        assert_eq!(
            cast(50, 7, &shares(&["silent=5%", "slow=1%", "long-log=4"])).unwrap(),
            parts
        );
        assert_ne!(
            cast(50, 8, &shares(&["silent=5%", "slow=1%", "long-log=4"])).unwrap(),
            parts
        );
    }

    #[test]
    fn a_doubled_id_is_that_of_a_host_without_a_fault_and_each_is_doubled_once() {
        let parts = cast(10, 1, &shares(&["duplicate-id=5", "silent=0%"])).unwrap();
        let mut duplicates: Vec<u32> = parts.iter().filter_map(|part| part.duplicate_of).collect();
        assert!(
            duplicates
                .iter()
                .all(|duplicate_of| parts[*duplicate_of as usize].fault.is_none())
        );
        duplicates.sort_unstable();
        duplicates.dedup();
        assert_eq!(duplicates.len(), 5);
    }

    #[test]
    fn installations_fail_always_or_the_second_time_alone() {
        let failing = |fault: Fault| -> Vec<u32> {
            (1..=4)
                .filter(|installation| fault.fails(*installation))
                .collect()
        };
        for fault in Fault::ALL {
            let expected: &[u32] = match fault {
                Fault::FailedInstall => &[1, 2, 3, 4],
                Fault::FailedAgain => &[2],
                _ => &[],
            };
            assert_eq!(failing(fault), expected, "{fault}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_remedy() {
        assert!(cast(10, 1, &shares(&["duplicate-id=60%"])).is_err());
        assert!(cast(10, 1, &shares(&["slow=80%", "silent=30%"])).is_err());
        for (text, message) in [
            ("silent", "silent=5%"),
            ("drunk=5%", "hostile-inventory"),
            ("silent=120%", "no share"),
            ("silent=-1", "no share"),
        ] {
            let error = text.parse::<FaultShare>().unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
