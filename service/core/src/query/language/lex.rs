//! Splits a filter into terms and values, with their places.

use std::ops::Range;

use super::error::{Problem, QueryError};
use super::quantity::Comparison;

/// Longest filter, bytes.
pub const MAX_QUERY_BYTES: usize = 8192;

/// Most terms of a filter.
pub const MAX_TERMS: usize = 64;

/// Most values of all terms together.
pub const MAX_VALUES: usize = 256;

/// Longest value, bytes.
pub const MAX_VALUE_BYTES: usize = 256;

/// A term as it is written.
#[derive(Debug, PartialEq)]
pub(super) struct RawTerm {
    pub is_negated: bool,
    /// Place of the key, without its colon.
    pub key: Option<Range<usize>>,
    pub values: Vec<RawValue>,
}

/// A value as it is written.
#[derive(Debug, PartialEq)]
pub(super) struct RawValue {
    pub range: Range<usize>,
    pub comparison: Option<Comparison>,
    /// The texts between wildcards, without quotation marks. One: there is no wildcard.
    pub parts: Vec<String>,
    pub is_quoted: bool,
}

impl RawValue {
    /// The text without wildcards.
    pub fn literal(&self) -> Option<&str> {
        match &self.parts[..] {
            [text] => Some(text),
            _ => None,
        }
    }

    /// True for a wildcard alone.
    pub fn is_any(&self) -> bool {
        self.parts.len() > 1 && self.parts.iter().all(String::is_empty)
    }

    /// True if nothing is written.
    pub fn is_missing(&self) -> bool {
        !self.is_quoted && self.literal() == Some("")
    }
}

/// Places of the terms of a filter.
///
/// # Errors
/// For a filter that is too long or has too many terms.
pub(super) fn terms(text: &str) -> Result<Vec<Range<usize>>, QueryError> {
    if text.len() > MAX_QUERY_BYTES {
        let (bytes, limit) = (text.len(), MAX_QUERY_BYTES);
        return Err(error(0..bytes, Problem::TooLong { bytes, limit }));
    }
    let mut terms = split(text, 0..text.len(), char::is_whitespace);
    terms.retain(|term| !term.is_empty());
    match terms.get(MAX_TERMS) {
        Some(first) => {
            let limit = MAX_TERMS;
            Err(error(first.start..text.len(), Problem::TooManyTerms { limit }))
        }
        None => Ok(terms),
    }
}

/// Reads the term at `range`.
///
/// # Errors
/// For an open quotation mark, a control character, and a minus sign alone.
pub(super) fn term(text: &str, range: Range<usize>) -> Result<RawTerm, QueryError> {
    check_characters(text, range.clone())?;
    let is_negated = text[range.clone()].starts_with('-');
    let start = range.start + usize::from(is_negated);
    if start == range.end {
        return Err(error(range, Problem::NothingNegated));
    }
    let key = key(&text[start..range.end]).map(|length| start..start + length);
    let values = key.as_ref().map_or(start, |key| key.end + 1)..range.end;
    let values = split(text, values, |c| c == ',').into_iter();
    Ok(RawTerm {
        is_negated,
        values: values.map(|range| value(text, range, key.is_some())).collect(),
        key,
    })
}

pub(super) fn error(range: Range<usize>, problem: Problem) -> QueryError {
    QueryError { range, problem }
}

fn check_characters(text: &str, range: Range<usize>) -> Result<(), QueryError> {
    let mut quotes = Quotes::default();
    let mut opened = range.start;
    for (at, c) in text[range.clone()].char_indices() {
        let at = range.start + at;
        if c.is_control() {
            return Err(error(at..at + c.len_utf8(), Problem::ControlCharacter));
        }
        let was_open = quotes.is_open;
        quotes.step(c);
        if quotes.is_open && !was_open {
            opened = at;
        }
    }
    match quotes.is_open {
        true => Err(error(opened..range.end, Problem::OpenQuote)),
        false => Ok(()),
    }
}

/// Length of the key that a term begins with: letters and hyphens before the first colon. Hexadecimal digits alone are the beginning
/// of an address.
fn key(term: &str) -> Option<usize> {
    let length = term.find(':')?;
    let name = &term[..length];
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    let is_address = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_name && !is_address).then_some(length)
}

fn value(text: &str, range: Range<usize>, may_compare: bool) -> RawValue {
    let written = &text[range.clone()];
    let comparison = Comparison::SIGNED
        .into_iter()
        .find(|comparison| may_compare && written.starts_with(comparison.sign()));
    let skipped = comparison.map_or(0, |comparison| comparison.sign().len());
    let (parts, is_quoted) = unquote(&written[skipped..]);
    RawValue {
        range,
        comparison,
        parts,
        is_quoted,
    }
}

/// Returns the texts between the wildcards, and true if there were quotation marks.
fn unquote(written: &str) -> (Vec<String>, bool) {
    let mut parts = vec![String::new()];
    let (mut is_open, mut is_quoted) = (false, false);
    let mut chars = written.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = chars.next_if(|next| is_open && c == '\\' && matches!(next, '"' | '\\'));
        match (escaped.unwrap_or(c), escaped) {
            ('"', None) => (is_open, is_quoted) = (!is_open, true),
            ('*', None) if !is_open => parts.push(String::new()),
            (c, _) => parts.last_mut().expect("there is a first part").push(c),
        }
    }
    (parts, is_quoted)
}

/// Splits the text at `range` at separators outside quotation marks.
fn split(text: &str, range: Range<usize>, is_separator: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut quotes = Quotes::default();
    let mut pieces = Vec::new();
    let mut start = range.start;
    for (at, c) in text[range.clone()].char_indices() {
        if quotes.step(c) && is_separator(c) {
            pieces.push(start..range.start + at);
            start = range.start + at + c.len_utf8();
        }
    }
    pieces.push(start..range.end);
    pieces
}

/// Follows quotation marks; within them a backslash escapes.
#[derive(Default)]
struct Quotes {
    is_open: bool,
    is_escaped: bool,
}

impl Quotes {
    /// Takes the next character; returns true if it is outside quotation marks, and none itself.
    fn step(&mut self, c: char) -> bool {
        if self.is_escaped {
            self.is_escaped = false;
            return false;
        }
        match c {
            '"' => self.is_open = !self.is_open,
            '\\' => self.is_escaped = self.is_open,
            _ => return !self.is_open,
        }
        c == '\\' && !self.is_open
    }
}
