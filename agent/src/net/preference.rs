//! Orders the cards of the machine, so that the default route and the name servers do not depend on which driver was ready first.
//! Does no I/O.

use std::collections::HashMap;

use crate::config::live::KernelArguments;

/// The metric of routes through the first card; each further one has one more, so that default routes never collide.
const FIRST_METRIC: u32 = 100;

/// Facts about the cards other than their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preference {
    /// The card through which the service responded.
    pub working: Option<String>,
    /// MAC address of the card that the machine was booted through, lower case.
    pub boot_mac: Option<String>,
}

impl Preference {
    /// The metrics of routes by the cards' names: first the card that works, then the boot card, then by name, which is the slot's.
    pub fn metrics<'a>(&self, cards: impl Iterator<Item = (&'a str, &'a str)>) -> HashMap<String, u32> {
        let mut cards: Vec<(bool, bool, Vec<Part<'a>>, &str)> = cards
            .map(|(name, mac)| {
                let works = self.working.as_deref() == Some(name);
                let booted = !mac.is_empty() && self.boot_mac.as_deref() == Some(mac);
                (!works, !booted, natural(name), name)
            })
            .collect();
        cards.sort();
        let names = cards.into_iter().map(|(.., name)| name.to_owned());
        names.zip(FIRST_METRIC..).collect()
    }
}

/// The MAC address in `BOOTIF=01-52-54-00-aa-00-01` or `BOOTIF=52:54:00:aa:00:01`, lower case with colons.
pub fn boot_mac(arguments: &KernelArguments) -> Option<String> {
    let text = arguments.value("BOOTIF")?.to_lowercase().replace('-', ":");
    // iPXE's and PXELINUX's form begins with the hardware type.
    let mac = match text.len() {
        20 => text.strip_prefix("01:")?,
        _ => &text,
    };
    let bytes = mac.split(':').map(|byte| u8::from_str_radix(byte, 16));
    (mac.len() == 17 && bytes.clone().count() == 6 && bytes.clone().all(|byte| byte.is_ok()))
        .then(|| mac.to_owned())
}

/// A run of digits, or of other characters.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Number(u64),
    Text(&'a str),
}

/// `enp2s0` comes before `enp10s0`.
fn natural(name: &str) -> Vec<Part<'_>> {
    let runs = name
        .as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    runs.filter_map(|run| std::str::from_utf8(run).ok())
        .map(|run| run.parse().map_or(Part::Text(run), Part::Number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARDS: [(&str, &str); 3] = [
        ("enp10s0", "52:54:00:00:00:0a"),
        ("enp2s0", "52:54:00:00:00:02"),
        ("bond0", ""),
    ];

    fn order(preference: &Preference) -> Vec<String> {
        let metrics = preference.metrics(CARDS.into_iter());
        let mut names: Vec<_> = metrics.into_iter().map(|(name, metric)| (metric, name)).collect();
        names.sort();
        assert_eq!(
            names.iter().map(|(metric, _)| *metric).collect::<Vec<_>>(),
            [100, 101, 102]
        );
        names.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn cards_are_in_the_order_of_their_slots_after_the_one_that_works_and_the_boot_card() {
        let mut preference = Preference::default();
        assert_eq!(order(&preference), ["bond0", "enp2s0", "enp10s0"]);
        preference.boot_mac = Some("52:54:00:00:00:0a".into());
        assert_eq!(order(&preference), ["enp10s0", "bond0", "enp2s0"]);
        preference.working = Some("enp2s0".into());
        assert_eq!(order(&preference), ["enp2s0", "enp10s0", "bond0"]);
        preference.working = Some("gone".into());
        assert_eq!(order(&preference), ["enp10s0", "bond0", "enp2s0"]);
    }

    #[test]
    fn the_boot_card_is_read_in_both_forms() {
        let read = |line: &str| boot_mac(&KernelArguments::parse(line));
        for line in [
            "quiet BOOTIF=01-52-54-00-AA-00-01",
            "BOOTIF=52:54:00:aa:00:01 quiet",
        ] {
            assert_eq!(read(line).as_deref(), Some("52:54:00:aa:00:01"), "{line}");
        }
        for line in [
            "quiet",
            "BOOTIF=",
            "BOOTIF=01-",
            "BOOTIF=20-52-54-00-aa-00-01",
            "BOOTIF=eth0",
            "BOOTIF=52:54:00:aa:00:0x",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
