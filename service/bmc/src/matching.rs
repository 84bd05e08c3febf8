//! Compares a machine behind a BMC with a host that an agent reported (docs/protocol/redfish.md#6).

use std::collections::BTreeSet;

use muster_api::placeholder::is_placeholder;
use uuid::Uuid;

/// Identifiers of a machine, as one side reports them. Order, case and separators do not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identifiers {
    pub macs: Vec<String>,
    pub uuid: Option<String>,
    /// All serial numbers that may be the machine's: of the system, the SKU, the chassis.
    pub serials: Vec<String>,
}

/// A kind of identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
pub enum Key {
    #[strum(serialize = "MAC address")]
    Mac,
    #[strum(serialize = "UUID")]
    Uuid,
    #[strum(serialize = "serial number")]
    Serial,
}

/// An identifier that both sides report with different values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub key: Key,
    pub bmc: String,
    pub host: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Both have a MAC address in common, or all comparable identifiers are equal.
    Same,
    Different,
    /// Some identifiers agree and stronger ones differ: an operator has to check.
    Conflict,
    /// Nothing can be compared.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matching {
    pub verdict: Verdict,
    pub agreed: Vec<Key>,
    /// Possible also with [`Verdict::Same`].
    pub differences: Vec<Difference>,
}

/// UUIDs that makers leave on every board.
const DEFAULT_UUIDS: [&str; 2] = [
    "03000200-0400-0500-0006-000700080009",
    "00020003-0004-0005-0006-000700080009",
];

pub fn compare(bmc: &Identifiers, host: &Identifiers) -> Matching {
    let mut matching = Matching {
        verdict: Verdict::Unknown,
        agreed: Vec::new(),
        differences: Vec::new(),
    };
    let shared = |a: &BTreeSet<String>, b: &BTreeSet<String>| !a.is_disjoint(b);
    matching.note(Key::Mac, &macs(bmc), &macs(host), shared);
    matching.note(Key::Uuid, &uuids(bmc), &uuids(host), |a, b| {
        let orders: BTreeSet<String> = a.iter().chain(swapped(a).iter()).cloned().collect();
        !orders.is_disjoint(b)
    });
    matching.note(Key::Serial, &serials(bmc), &serials(host), shared);
    matching.verdict = match (&matching.agreed[..], &matching.differences[..]) {
        ([], []) => Verdict::Unknown,
        ([], _) => Verdict::Different,
        (agreed, _) if agreed.contains(&Key::Mac) => Verdict::Same,
        (_, []) => Verdict::Same,
        _ => Verdict::Conflict,
    };
    matching
}

impl Matching {
    fn note(
        &mut self,
        key: Key,
        bmc: &BTreeSet<String>,
        host: &BTreeSet<String>,
        agree: impl Fn(&BTreeSet<String>, &BTreeSet<String>) -> bool,
    ) {
        if bmc.is_empty() || host.is_empty() {
            return;
        }
        if agree(bmc, host) {
            self.agreed.push(key);
            return;
        }
        let list = |all: &BTreeSet<String>| all.iter().take(8).cloned().collect::<Vec<_>>().join(" ");
        self.differences.push(Difference {
            key,
            bmc: list(bmc),
            host: list(host),
        });
    }
}

/// `aa:bb:cc:dd:ee:ff`; `None` for a text that is no address of a card.
pub fn mac(text: &str) -> Option<String> {
    let digits: String = text
        .chars()
        .filter(|c| !matches!(c, ':' | '-' | '.' | ' '))
        .collect();
    let digits = digits.to_lowercase();
    let is_hex = digits.len() == 12 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hex || is_placeholder(&digits) {
        return None;
    }
    let first = u8::from_str_radix(&digits[..2], 16).ok()?;
    let multicast = first & 1 == 1;
    let pairs: Vec<&str> = (0..6).map(|at| &digits[at * 2..at * 2 + 2]).collect();
    (!multicast).then(|| pairs.join(":"))
}

/// Those that a maker gave to a card: others may be the same in many machines.
fn macs(of: &Identifiers) -> BTreeSet<String> {
    let own = |mac: &String| {
        let first = u8::from_str_radix(&mac[..2], 16).unwrap_or_default();
        first & 2 == 0
    };
    of.macs.iter().filter_map(|text| mac(text)).filter(own).collect()
}

fn uuids(of: &Identifiers) -> BTreeSet<String> {
    let parsed = of
        .uuid
        .as_deref()
        .and_then(|text| Uuid::try_parse(text.trim()).ok());
    let usable =
        |uuid: &Uuid| !uuid.is_nil() && !uuid.is_max() && !DEFAULT_UUIDS.contains(&uuid.to_string().as_str());
    parsed
        .filter(usable)
        .map(|uuid| uuid.to_string())
        .into_iter()
        .collect()
}

/// The same with the bytes of the first three groups in the other order, as old SMBIOS has them.
fn swapped(uuids: &BTreeSet<String>) -> BTreeSet<String> {
    let swap = |text: &String| Some(Uuid::from_bytes(Uuid::try_parse(text).ok()?.to_bytes_le()).to_string());
    uuids.iter().filter_map(swap).collect()
}

fn serials(of: &Identifiers) -> BTreeSet<String> {
    let all = of.serials.iter().map(|text| text.trim().to_lowercase());
    all.filter(|text| !is_placeholder(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(macs: &[&str], uuid: &str, serials: &[&str]) -> Identifiers {
        let owned = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
        Identifiers {
            macs: owned(macs),
            uuid: Some(uuid.to_owned()).filter(|text| !text.is_empty()),
            serials: owned(serials),
        }
    }

    fn verdict(bmc: &Identifiers, host: &Identifiers) -> (Verdict, Vec<Key>) {
        let matching = compare(bmc, host);
        (matching.verdict, matching.agreed)
    }

    const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

    #[test]
    fn a_common_card_makes_one_machine_whatever_else_differs() {
        let bmc = ids(&["EC-F4-BB-00-11-22", ""], UUID, &["A"]);
        let host = ids(&["ec:f4:bb:00:11:22", "ec:f4:bb:00:11:23"], "", &["B"]);
        let matching = compare(&bmc, &host);
        assert_eq!(
            (matching.verdict, &matching.agreed[..]),
            (Verdict::Same, &[Key::Mac][..])
        );
        assert_eq!(matching.differences.len(), 1);
        assert_eq!(matching.differences[0].key.to_string(), "serial number");
    }

    #[test]
    fn a_uuid_agrees_in_both_byte_orders_and_cases() {
        for other in [
            UUID,
            "00112233-4455-6677-8899-AABBCCDDEEFF",
            "33221100-5544-7766-8899-aabbccddeeff",
        ] {
            for (bmc, host) in [(UUID, other), (other, UUID)] {
                let found = verdict(&ids(&[], bmc, &[]), &ids(&[], host, &[]));
                assert_eq!(found, (Verdict::Same, vec![Key::Uuid]), "{bmc} {host}");
            }
        }
        let other = "33221100-5544-6677-8899-aabbccddeeff";
        assert_eq!(
            verdict(&ids(&[], UUID, &[]), &ids(&[], other, &[])).0,
            Verdict::Different
        );
    }

    #[test]
    fn serials_agree_trimmed_and_case_less_at_any_place() {
        let bmc = ids(&[], "", &["board", " abc1234 "]);
        assert_eq!(
            verdict(&bmc, &ids(&[], "", &["ABC1234"])),
            (Verdict::Same, vec![Key::Serial])
        );
    }

    #[test]
    fn what_every_board_has_proves_nothing() {
        for (bmc, host) in [
            (
                ids(&["00:00:00:00:00:00"], "", &[]),
                ids(&["00:00:00:00:00:00"], "", &[]),
            ),
            (
                ids(&["02:11:22:33:44:55"], "", &[]),
                ids(&["02:11:22:33:44:55"], "", &[]),
            ),
            (
                ids(&[], "00000000-0000-0000-0000-000000000000", &[]),
                ids(&[], UUID, &[]),
            ),
            (
                ids(&[], "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", &[]),
                ids(&[], UUID, &[]),
            ),
            (ids(&[], DEFAULT_UUIDS[0], &[]), ids(&[], DEFAULT_UUIDS[0], &[])),
            (ids(&[], "nonsense", &[]), ids(&[], "nonsense", &[])),
            (
                ids(&[], "", &["To Be Filled By O.E.M."]),
                ids(&[], "", &["To Be Filled By O.E.M."]),
            ),
            (
                ids(&[], "", &["0123456789", "-", ""]),
                ids(&[], "", &["0123456789", "-", ""]),
            ),
        ] {
            assert_eq!(verdict(&bmc, &host), (Verdict::Unknown, vec![]), "{bmc:?}");
        }
    }

    #[test]
    fn weaker_agreement_against_other_cards_is_a_conflict() {
        let bmc = ids(&["ec:f4:bb:00:11:22"], UUID, &[]);
        let host = ids(&["ec:f4:bb:00:11:99"], UUID, &[]);
        assert_eq!(verdict(&bmc, &host).0, Verdict::Conflict);
        assert_eq!(
            verdict(&bmc, &ids(&["ec:f4:bb:00:11:99"], "", &[])).0,
            Verdict::Different
        );
    }

    #[test]
    fn addresses_of_cards_are_normalised() {
        for (text, found) in [
            ("AA:BB:CC:DD:EE:FE", Some("aa:bb:cc:dd:ee:fe")),
            ("aabb.ccdd.eeff", Some("aa:bb:cc:dd:ee:ff")),
            ("01:00:5e:00:00:01", None),
            ("ff:ff:ff:ff:ff:ff", None),
            ("aa:bb:cc", None),
            ("äabbccddeeff", None),
        ] {
            assert_eq!(mac(text).as_deref(), found, "{text}");
        }
    }
}
