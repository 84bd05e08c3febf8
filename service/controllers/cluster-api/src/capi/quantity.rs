//! Reads quantities as Kubernetes writes them: whole numbers with a unit.

/// The units, largest first in each family.
const UNITS: [(&str, u64); 11] = [
    ("Ei", 1 << 60),
    ("Pi", 1 << 50),
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", 1 << 20),
    ("Ki", 1 << 10),
    ("P", 1_000_000_000_000_000),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("k", 1_000),
];

/// The value of `text`; `None`: it is no whole number with a known unit.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = UNITS
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor) = unit.unwrap_or((text, 1));
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn whole_numbers_with_units_are_read() {
        for (text, wanted) in [
            ("8", Some(8)),
            ("64Gi", Some(64 << 30)),
            ("1T", Some(1_000_000_000_000)),
            (" 2k ", Some(2000)),
            ("1.5Gi", None),
            ("many", None),
            ("-1", None),
            ("99999999Ei", None),
        ] {
            assert_eq!(parse(text), wanted, "{text}");
        }
    }
}
