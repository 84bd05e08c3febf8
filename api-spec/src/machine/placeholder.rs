//! Values that makers leave in place of an identifier. They are the same in many machines and parts, and identify none of them.

/// In lower case, without marks around them.
const TEXTS: [&str; 30] = [
    "0123456789",
    "01234567890123456789",
    "01234567890123456789ab",
    "123456789",
    "1234567890",
    "asset tag",
    "base board serial number",
    "board serial number",
    "chassis serial number",
    "default",
    "default string",
    "empty",
    "free form asset tag",
    "invalid",
    "n/a",
    "na",
    "no asset tag",
    "none",
    "not applicable",
    "not available",
    "not specified",
    "null",
    "o.e.m",
    "oem",
    "pca_number.acc",
    "serial number",
    "system serial number",
    "to be filled by o.e.m",
    "unknown",
    "unspecified",
];

/// Prefixes of the digits of world-wide names and UUIDs.
const PREFIXES: [&str; 5] = ["0x", "naa.", "eui.", "uuid.", "wwn-"];

/// True for a text that identifies nothing: an empty one, words such as `To be filled by O.E.M.`, and numbers of only zeros or ones, such
/// as a MAC address of zeros.
pub fn is_placeholder(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    bare.is_empty() || TEXTS.contains(&bare) || bare.starts_with("unspecified ") || is_blank(&lower)
}

/// `text` unless it names nothing.
pub fn named(text: &str) -> Option<&str> {
    (!is_placeholder(text)).then_some(text)
}

/// True for digits that were never written: all zeros, or all bits set, as an erased memory reads.
fn is_blank(lower: &str) -> bool {
    let mut digits = lower;
    for prefix in PREFIXES {
        digits = digits.strip_prefix(prefix).unwrap_or(digits);
    }
    let mut digits = digits
        .chars()
        .filter(|c| !matches!(c, ':' | '-' | '.' | '_' | ' '));
    let Some(first) = digits.next() else {
        return true;
    };
    let repeated = 1 + digits.clone().take_while(|c| *c == first).count();
    let is_all = digits.all(|c| c == first);
    is_all && (first == '0' || matches!(first, 'f' | 'x' | '*' | '?') && repeated >= SHORTEST)
}

/// A shorter text of one letter may be a name.
const SHORTEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makers_leave_names_nothing_and_all_else_does() {
        for none in [
            "",
            " ",
            "-",
            "...",
            "(none)",
            "<unknown>",
            "To be filled by O.E.M.",
            "To Be Filled By O.E.M",
            "Default string",
            "Not Specified",
            "Unspecified Base Board Serial Number",
            "System Serial Number",
            "0123456789",
            "01234567890123456789AB",
            "Free form asset tag",
            "0",
            "0x0000000000000000",
            "naa.0000000000000000",
            "eui.0000000000000000",
            "0xffffffffffffffffffffffffffffffff",
            "00000000-0000-0000-0000-000000000000",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            "00:00:00:00:00:00",
            "ff:ff:ff:ff:ff:ff",
            "XXXXXXXXXX",
            "N/A",
        ] {
            assert!(is_placeholder(none), "{none:?}");
            assert_eq!(named(none), None);
        }
        for name in [
            "S-A",
            "x",
            "0x0000000000000001",
            "0x5000c500a0b0c0d1",
            "eui.0025388b710116a1",
            "00:00:00:00:00:01",
            "1",
            "None0001",
            "OEM-1234",
            "PDNLH0BRH9S0AB",
            "03000200-0400-0500-0006-000700080009",
        ] {
            assert!(!is_placeholder(name), "{name:?}");
            assert_eq!(named(name), Some(name));
        }
    }
}
