//! Numbers with units, and their comparison.

use std::cmp::Ordering;
use std::fmt;

use chrono::TimeDelta;

use super::key::Kind;
use crate::text;

/// Relation of a host's value to the one in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    AtLeast,
    AtMost,
    Greater,
    Less,
}

impl Comparison {
    /// The relations with a sign, the longer signs first.
    pub const SIGNED: [Self; 4] = [Self::AtLeast, Self::AtMost, Self::Greater, Self::Less];

    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::Less => "<",
        }
    }

    /// True if a value that compares so to the one in the filter is meant.
    pub fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::AtLeast => order.is_ge(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::Less => order.is_lt(),
        }
    }
}

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    One,
    Mebibyte,
    Gibibyte,
    Tebibyte,
    Megabyte,
    Gigabyte,
    Terabyte,
    Petabyte,
    MegabitPerSecond,
    GigabitPerSecond,
    TerabitPerSecond,
}

/// Units of memory, with their spellings in lower case; memory is sold in binary units, whatever they are called.
const OF_MEMORY: [(Unit, &[&str]); 3] = [
    (Unit::Gibibyte, &["", "gib", "gb", "g"]),
    (Unit::Mebibyte, &["mib", "mb", "m"]),
    (Unit::Tebibyte, &["tib", "tb", "t"]),
];

/// Units of disks, which are sold in decimal ones. A number without unit counts disks.
const OF_DISKS: [(Unit, &[&str]); 8] = [
    (Unit::One, &[""]),
    (Unit::Megabyte, &["mb", "m"]),
    (Unit::Gigabyte, &["gb", "g"]),
    (Unit::Terabyte, &["tb", "t"]),
    (Unit::Petabyte, &["pb", "p"]),
    (Unit::Mebibyte, &["mib"]),
    (Unit::Gibibyte, &["gib"]),
    (Unit::Tebibyte, &["tib"]),
];

const OF_LINKS: [(Unit, &[&str]); 3] = [
    (
        Unit::MegabitPerSecond,
        &["", "m", "mb", "mbit", "mbit/s", "mb/s", "mbps"],
    ),
    (
        Unit::GigabitPerSecond,
        &["g", "gb", "gbe", "gbit", "gbit/s", "gb/s", "gbps"],
    ),
    (
        Unit::TerabitPerSecond,
        &["t", "tb", "tbit", "tbit/s", "tb/s", "tbps"],
    ),
];

const OF_COUNTS: [(Unit, &[&str]); 1] = [(Unit::One, &[""])];

impl Unit {
    fn read(kind: Kind, spelling: &str) -> Option<Self> {
        let units = match kind {
            Kind::Memory => &OF_MEMORY[..],
            Kind::Disk => &OF_DISKS[..],
            Kind::Speed => &OF_LINKS[..],
            _ => &OF_COUNTS[..],
        };
        let spelling = spelling.to_ascii_lowercase();
        let found = units
            .iter()
            .find(|(_, spellings)| spellings.contains(&spelling.as_str()));
        found.map(|(unit, _)| *unit)
    }

    /// Bytes, or Mbit/s.
    fn factor(self) -> u64 {
        match self {
            Self::One | Self::MegabitPerSecond => 1,
            Self::Mebibyte => 1 << 20,
            Self::Gibibyte => 1 << 30,
            Self::Tebibyte => 1 << 40,
            Self::Megabyte => 1_000_000,
            Self::Gigabyte => 1_000_000_000,
            Self::Terabyte => 1_000_000_000_000,
            Self::Petabyte => 1_000_000_000_000_000,
            Self::GigabitPerSecond => 1_000,
            Self::TerabitPerSecond => 1_000_000,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Mebibyte => "MiB",
            Self::Gibibyte => "GiB",
            Self::Tebibyte => "TiB",
            Self::Megabyte => "MB",
            Self::Gigabyte => "GB",
            Self::Terabyte => "TB",
            Self::Petabyte => "PB",
            Self::MegabitPerSecond => "M",
            Self::GigabitPerSecond => "G",
            Self::TerabitPerSecond => "T",
        }
    }
}

/// Most digits behind the point.
const MAX_DECIMALS: usize = 3;

/// A number as it is written: its last digit decides what is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantity {
    /// All digits, without the point.
    digits: u32,
    /// Number of the digits behind the point.
    decimals: u32,
    pub unit: Unit,
}

impl Quantity {
    /// Reads `64`, `1.92TB` or `256 GiB` as a value of this kind.
    pub fn read(kind: Kind, text: &str) -> Option<Self> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = Unit::read(kind, unit.trim())?;
        let (whole, fraction) = match number.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (number, ""),
        };
        let is_fraction_allowed = unit != Unit::One && fraction.len() <= MAX_DECIMALS;
        if whole.is_empty() || !(fraction.is_empty() || is_fraction_allowed) {
            return None;
        }
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            decimals: u32::try_from(fraction.len()).ok()?,
            unit,
        })
    }

    /// Compares `value` (bytes, Mbit/s or a number). It is equal if it rounds to the written number; otherwise it is compared as it is, so
    /// that 1.2 TB is more than `1T`.
    pub fn is_met(&self, comparison: Comparison, value: u64) -> bool {
        let factor = u128::from(self.unit.factor());
        let value = u128::from(value) * 10_u128.pow(self.decimals);
        let wanted = u128::from(self.digits) * factor;
        match comparison {
            Comparison::Equal => 2 * value.abs_diff(wanted) <= factor,
            _ => comparison.allows(value.cmp(&wanted)),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ten = 10_u32.pow(self.decimals);
        write!(f, "{}", self.digits / ten)?;
        if self.decimals > 0 {
            let width = self.decimals as usize;
            write!(f, ".{:0width$}", self.digits % ten)?;
        }
        f.write_str(self.unit.name())
    }
}

/// A time since something, whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Age(i64);

/// A hundred years.
const MAX_AGE: TimeDelta = TimeDelta::days(36_500);

impl Age {
    /// Reads `90s`, `1h30m` or `7d`.
    pub fn read(text: &str) -> Option<Self> {
        let age = text::duration(&text.to_ascii_lowercase())?;
        (age <= MAX_AGE).then(|| Self(age.num_seconds()))
    }

    pub fn is_met(self, comparison: Comparison, age: TimeDelta) -> bool {
        comparison.allows(age.cmp(&TimeDelta::seconds(self.0)))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        for (seconds, unit) in [(86_400, "d"), (3_600, "h"), (60, "m")] {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
                rest %= seconds;
            }
        }
        match rest {
            0 if self.0 > 0 => Ok(()),
            rest => write!(f, "{rest}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_the_units_of_their_kind() {
        for (kind, text, shown) in [
            (Kind::Count, "032", "32"),
            (Kind::Memory, "64", "64GiB"),
            (Kind::Memory, "64 gb", "64GiB"),
            (Kind::Memory, "1.5T", "1.5TiB"),
            (Kind::Disk, "4", "4"),
            (Kind::Disk, "1.920T", "1.920TB"),
            (Kind::Disk, "0.05gib", "0.05GiB"),
            (Kind::Speed, "25GbE", "25G"),
            (Kind::Speed, "10000", "10000M"),
        ] {
            let quantity = Quantity::read(kind, text).unwrap();
            assert_eq!(quantity.to_string(), shown, "{text}");
            assert_eq!(Quantity::read(kind, shown), Some(quantity), "{text}");
        }
        for (kind, text) in [
            (Kind::Count, ""),
            (Kind::Count, "-1"),
            (Kind::Count, "1.5"),
            (Kind::Count, "4G"),
            (Kind::Count, "4294967296"),
            (Kind::Memory, "G"),
            (Kind::Memory, "1.G"),
            (Kind::Memory, ".5G"),
            (Kind::Memory, "1.2.3G"),
            (Kind::Memory, "1.2345T"),
            (Kind::Memory, "64k"),
            (Kind::Disk, "1.5"),
            (Kind::Speed, "1GiB"),
        ] {
            assert_eq!(Quantity::read(kind, text), None, "{text}");
        }
    }

    #[test]
    fn what_rounds_to_a_number_is_equal_to_it() {
        let is = |text: &str, comparison, value: u64| {
            Quantity::read(Kind::Disk, text)
                .unwrap()
                .is_met(comparison, value)
        };
        assert!(is("1.92T", Comparison::Equal, 1_920_383_410_176));
        assert!(!is("1.920T", Comparison::Equal, 1_921_000_000_000));
        assert!(is("480G", Comparison::Equal, 480_103_981_056));
        assert!(is("480G", Comparison::Greater, 480_103_981_056));
        assert!(is("1T", Comparison::Greater, 1_200_000_000_000));
        assert!(!is("4", Comparison::Equal, 5) && is("4", Comparison::AtMost, 4));
        assert!(is("4000P", Comparison::Less, 1) && !is("4000P", Comparison::Less, u64::MAX));
    }

    #[test]
    fn times_are_written_in_the_largest_units() {
        for (text, shown) in [
            ("0s", "0s"),
            ("90s", "1m30s"),
            ("24h", "1d"),
            ("1H30M", "1h30m"),
            ("36500d", "36500d"),
        ] {
            let age = Age::read(text).unwrap();
            assert_eq!(age.to_string(), shown);
            assert_eq!(Age::read(shown), Some(age));
        }
        for text in ["", "5", "36501d", "1w", "-5m", "5m "] {
            assert_eq!(Age::read(text), None, "{text}");
        }
    }
}
