//! Fits text into limits, and reads durations.

use chrono::Duration;

/// At most `limit` bytes of `text`, cut between characters.
pub fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// `text` from a machine, on one line and cut to `limit` bytes: control characters become U+FFFD.
pub fn one_line(text: &str, limit: usize) -> String {
    cut(&text.replace(char::is_control, "\u{fffd}"), limit).to_owned()
}

/// True for `text` with control characters other than line breaks and tabs. Databases refuse NUL, terminals obey others.
pub(crate) fn has_control_characters(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

/// `90s`, `5m`, `1h` and sums of them (`1h30m`).
pub fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::zero();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest
            .get(..digits)?
            .parse()
            .ok()
            .filter(|number| *number < 1_000_000)?;
        total += match rest.as_bytes().get(digits)? {
            b's' => Duration::seconds(number),
            b'm' => Duration::minutes(number),
            b'h' => Duration::hours(number),
            _ => return None,
        };
        rest = &rest[digits + 1..];
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::{cut, has_control_characters, one_line};

    #[test]
    fn control_characters_are_found_and_replaced() {
        assert_eq!(one_line("a\n\0b", 100), "a\u{fffd}\u{fffd}b");
        assert_eq!(one_line("abc", 2), "ab");
        assert!(!has_control_characters("a\r\n\tb"));
        assert!(has_control_characters("a\0"));
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("a", 0), "");
    }
}
