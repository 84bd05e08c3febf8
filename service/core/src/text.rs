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

/// An error with its causes, for the log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// True for 64 hexadecimal digits of either case.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True for `text` with control characters other than line breaks and tabs. Databases refuse NUL, terminals interpret
/// others.
pub(crate) fn has_control_characters(text: &str) -> bool {
    text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

/// A time in words, in the largest unit that fits: `3 minutes`, `90 seconds`.
pub fn spoken(time: Duration) -> String {
    let seconds = time.num_seconds();
    let (count, unit) = match seconds {
        0 => (0, "second"),
        _ if seconds % 3600 == 0 && seconds > 3600 => (seconds / 3600, "hour"),
        _ if seconds % 60 == 0 => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// A thousand years: sums of times stay within what the calendar has.
const LONGEST: Duration = Duration::days(365_000);

/// `90s`, `5m`, `1h`, `7d` and sums of them (`1h30m`), up to a thousand years.
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
        let part = match rest.as_bytes().get(digits)? {
            b's' => Duration::seconds(number),
            b'm' => Duration::minutes(number),
            b'h' => Duration::hours(number),
            b'd' => Duration::days(number),
            _ => return None,
        };
        total = total.checked_add(&part).filter(|total| *total <= LONGEST)?;
        rest = &rest[digits + 1..];
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::{cut, duration, has_control_characters, one_line, spoken};

    #[test]
    fn control_characters_are_found_and_replaced() {
        assert_eq!(one_line("a\n\0b", 100), "a\u{fffd}\u{fffd}b");
        assert_eq!(one_line("abc", 2), "ab");
        assert!(!has_control_characters("a\r\n\tb"));
        assert!(has_control_characters("a\0"));
    }

    #[test]
    fn times_are_said_in_whole_units() {
        let said = |text: &str| spoken(duration(text).unwrap());
        for (text, words) in [
            ("90s", "90 seconds"),
            ("1m", "1 minute"),
            ("3m", "3 minutes"),
            ("60m", "60 minutes"),
            ("24h", "24 hours"),
            ("90m", "90 minutes"),
            ("1d12h", "36 hours"),
        ] {
            assert_eq!(said(text), words);
        }
    }

    #[test]
    fn times_have_an_end() {
        assert!(duration("365000d").is_some() && duration("999999h").is_some());
        assert_eq!(duration("365000d1s"), None);
        assert_eq!(duration(&"999999d".repeat(1_000_000)), None);
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("a", 0), "");
    }
}
