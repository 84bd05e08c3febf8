//! Reads MAC addresses in any spelling: `52:54:00:12:34:56`, `52-54-00-12-34-56`, `5254.0012.3456`, `525400123456`.

const SEPARATORS: [char; 3] = [':', '-', '.'];

/// Fewest digits that are taken for a part of an address without separators: half of one.
const FEWEST: usize = 6;

/// Lengths of addresses, digits: Ethernet, EUI-64, InfiniBand.
const LENGTHS: [usize; 3] = [12, 16, 40];

/// `text` without separators, in lower case.
pub(in crate::query) fn digits(text: &str) -> String {
    text.replace(SEPARATORS, "").to_ascii_lowercase()
}

/// The digits of a word that is the spelling of an address, or of the beginning of a part of one.
pub(in crate::query) fn part(word: &str) -> Option<String> {
    let digits = digits(word);
    let is_bare = digits.len() == word.len() && digits.len() >= FEWEST;
    let is_part = is_bare || is_grouped(word, ':', 2) || is_grouped(word, '-', 2) || is_grouped(word, '.', 4);
    (is_part && are_hex(&digits)).then_some(digits)
}

/// True for the number of digits that an address has.
pub(super) fn is_whole(digits: &str) -> bool {
    LENGTHS.contains(&digits.len())
}

pub(super) fn are_hex(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True if `address` has the digits, beginning at one of its bytes.
pub(super) fn has_digits(address: &str, wanted: &str) -> bool {
    let own = digits(address);
    let begins_at = |at: usize| own.get(at..).is_some_and(|rest| rest.starts_with(wanted));
    (0..own.len()).step_by(2).any(begins_at)
}

/// True for groups of `size` digits, of which the last may be incomplete.
fn is_grouped(word: &str, separator: char, size: usize) -> bool {
    let mut groups = word.split(separator).rev();
    let last = groups.next().unwrap_or_default();
    let mut whole = groups.peekable();
    whole.peek().is_some() && last.len() <= size && whole.all(|group| group.len() == size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_many_spellings() {
        for (word, digits) in [
            ("52:54:00:12:34:56", "525400123456"),
            ("52-54-00-AB-CD-EF", "525400abcdef"),
            ("5254.0012.3456", "525400123456"),
            ("525400123456", "525400123456"),
            ("00:1", "001"),
            ("52:54:", "5254"),
            ("123456", "123456"),
        ] {
            assert_eq!(part(word).as_deref(), Some(digits), "{word}");
        }
        for word in [
            "",
            "12345",
            "10.1.2.3",
            "10.0",
            "52:54-00",
            "node-1",
            "52:5:00",
            "é2:54",
            "gg:hh",
            "2001:db8::7",
        ] {
            assert_eq!(part(word), None, "{word}");
        }
    }

    #[test]
    fn digits_are_found_from_byte_to_byte() {
        let address = "52:54:00:12:34:56";
        assert!(
            has_digits(address, "540012") && has_digits(address, "525400123456") && has_digits(address, "3")
        );
        assert!(!has_digits(address, "4001") && !has_digits(address, "5254001234567"));
        assert!(!has_digits("", "52") && !has_digits("é", "52"));
    }
}
