//! Prepares texts of a BMC for errors and records: one line, of bounded length.

/// Longest text of a BMC that is kept, in characters.
const LONGEST: usize = 400;

/// One line without control characters, cut to 400 characters.
pub fn clean(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    let line = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &line[..cut]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_one_line_of_bounded_length() {
        assert_eq!(clean(" a\r\n\x1b[31mb\tc "), "a [31mb c");
        assert_eq!(clean(&"ä".repeat(1000)).chars().count(), LONGEST + 3);
    }
}
