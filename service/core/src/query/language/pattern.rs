//! Texts with wildcards.

use std::borrow::Cow;
use std::fmt;

/// A text with wildcards, compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The texts between wildcards as they are written. One: there is no wildcard.
    written: Vec<String>,
    /// The same in lower case.
    folded: Vec<String>,
}

/// `text` as a value of a filter that means exactly this text.
pub fn quoted(text: &str) -> String {
    Pattern::exactly(text).to_string()
}

impl Pattern {
    /// `parts`: the texts between wildcards, at least one. Two wildcards in a row are one.
    pub fn new(mut parts: Vec<String>) -> Self {
        let (mut index, last) = (0, parts.len() - 1);
        parts.retain(|part| {
            let is_end = index == 0 || index == last;
            index += 1;
            is_end || !part.is_empty()
        });
        Self {
            folded: parts.iter().map(|part| fold(part).into_owned()).collect(),
            written: parts,
        }
    }

    /// A pattern without wildcards.
    pub fn exactly(text: &str) -> Self {
        Self::new(vec![text.to_owned()])
    }

    /// True if it is `text`, from its beginning to its end.
    pub fn is_all_of(&self, text: &str) -> bool {
        let text = fold(text);
        let (first, rest) = self.folded.split_first().expect("there is a first part");
        let Some((last, middle)) = rest.split_last() else {
            return text == *first;
        };
        let inner = text
            .strip_prefix(first.as_str())
            .and_then(|text| text.strip_suffix(last.as_str()));
        inner.is_some_and(|inner| has_in_order(inner, middle))
    }

    /// True if it is somewhere in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        match text.is_ascii() {
            true => has_in_order_ascii(text.as_bytes(), &self.folded),
            false => has_in_order(&fold(text), &self.folded),
        }
    }

    /// Splits it at the first `separator`.
    pub fn split_at(&self, separator: char) -> Option<(Self, Self)> {
        let index = self.written.iter().position(|part| part.contains(separator))?;
        let (before, after) = self.written[index].split_once(separator)?;
        let before = self.written[..index].iter().cloned().chain([before.to_owned()]);
        let after = [after.to_owned()]
            .into_iter()
            .chain(self.written[index + 1..].iter().cloned());
        Some((Self::new(before.collect()), Self::new(after.collect())))
    }
}

/// `text` in lower case, letter by letter, so that a part of a text folds as it does in the whole.
pub(in crate::query) fn fold(text: &str) -> Cow<'_, str> {
    match text
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().flat_map(char::to_lowercase).collect()),
    }
}

/// True if the parts are in the folded text, one after the other.
fn has_in_order(mut text: &str, parts: &[String]) -> bool {
    parts.iter().all(|part| match text.find(part.as_str()) {
        Some(at) => {
            text = &text[at + part.len()..];
            true
        }
        None => false,
    })
}

/// As [`has_in_order`], of a text of ASCII that is not folded: searches read all texts of all hosts, and copy none.
fn has_in_order_ascii(mut text: &[u8], parts: &[String]) -> bool {
    parts.iter().all(|part| match find_ascii(text, part.as_bytes()) {
        Some(at) => {
            text = &text[at + part.len()..];
            true
        }
        None => false,
    })
}

fn find_ascii(text: &[u8], part: &[u8]) -> Option<usize> {
    let Some(first) = part.first() else {
        return Some(0);
    };
    let last = text.len().checked_sub(part.len())?;
    let (small, capital) = (*first, first.to_ascii_uppercase());
    let begins = |at: &usize| text[*at..*at + part.len()].eq_ignore_ascii_case(part);
    let beginnings = text[..=last].iter().enumerate();
    beginnings
        .filter(|(_, byte)| **byte == small || **byte == capital)
        .map(|(at, _)| at)
        .find(begins)
}

/// Writes it so that it is read as the same.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.written.iter().enumerate() {
            if index > 0 {
                f.write_str("*")?;
            }
            if !part.is_empty() || self.written.len() == 1 {
                write_text(f, part)?;
            }
        }
        Ok(())
    }
}

/// Writes a text, in quotation marks if it has characters with a meaning.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let is_special = |c: char| c.is_whitespace() || "\"\\,:*<>".contains(c);
    if !text.is_empty() && !text.starts_with('-') && !text.contains(is_special) {
        return f.write_str(text);
    }
    write!(f, "\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text.split('*').map(str::to_owned).collect())
    }

    #[test]
    fn wildcards_stand_for_any_text() {
        for (written, text, is_all, is_in) in [
            ("", "", true, true),
            ("", "a", false, true),
            ("abc", "ABC", true, true),
            ("abc", "xabcx", false, true),
            ("a*", "Abc", true, true),
            ("*c", "abc", true, true),
            ("a*c", "abcd", false, true),
            ("a*a", "a", false, false),
            ("*b*", "abc", true, true),
            ("a*b*c", "a-c-b-c", true, true),
            ("a*b*c", "acb", false, false),
            ("é", "É", true, true),
            ("é*", "caFÉ", false, true),
            ("k", "\u{212a}", true, true),
            ("σ", "ΑΣ", false, true),
        ] {
            let pattern = pattern(written);
            assert_eq!(pattern.is_all_of(text), is_all, "{written} {text}");
            assert_eq!(pattern.is_in(text), is_in, "{written} {text}");
        }
    }

    #[test]
    fn a_pattern_is_split_once() {
        let (key, value) = pattern("a*b=c=*").split_at('=').unwrap();
        assert_eq!((key, value), (pattern("a*b"), pattern("c=*")));
        assert_eq!(pattern("a*b").split_at('='), None);
    }
}
