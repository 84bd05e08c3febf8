//! The faults of a filter, each with its place.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::key::Key;

/// All faults of a filter, in the order of their places; at least one. Its text has the words of each key of which one is wrong, too.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct QueryErrors(pub Vec<QueryError>);

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct QueryError {
    /// Bytes of the text that are wrong.
    pub range: Range<usize>,
    pub problem: Problem,
}

/// A fault of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    #[error("the filter has {bytes} bytes, and at most {limit} are taken")]
    TooLong { bytes: usize, limit: usize },
    #[error("the filter has more than {limit} terms")]
    TooManyTerms { limit: usize },
    #[error("the filter has more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("the value has {bytes} bytes, and at most {limit} are taken")]
    ValueTooLong { bytes: usize, limit: usize },
    #[error("the quotation mark has no second one")]
    OpenQuote,
    #[error("control characters are not taken")]
    ControlCharacter,
    #[error("there is nothing after the minus sign")]
    NothingNegated,
    #[error("there is no text to search for")]
    NoText,
    #[error("write {key}:{value}, with a colon; to search for it as text, put it in quotation marks")]
    NoColon { key: Key, value: String },
    #[error("{key} has no value; {key}:* means any, {key}:\"\" none")]
    NoValue { key: Key },
    #[error("{name:?} is no key{}; to search for it as text, put it in quotation marks", hint(.nearest))]
    UnknownKey { name: String, nearest: Option<Key> },
    #[error("{value:?} is no {key}{}", hint(.nearest))]
    UnknownValue {
        key: Key,
        value: String,
        nearest: Option<String>,
    },
    #[error("{key} has no order: write it without {sign}")]
    NoOrder { key: Key, sign: &'static str },
    #[error("{value:?} is no number for {key}; write {example}")]
    BadNumber {
        key: Key,
        value: String,
        example: &'static str,
    },
    #[error("{value:?} is no time for {key}; write {example}")]
    BadTime {
        key: Key,
        value: String,
        example: &'static str,
    },
    #[error("{value:?} is no address; write 192.0.2.7, 192.0.2.0/24, 192.0.2.* or 2001:db8::7")]
    BadAddress { value: String },
    #[error(
        "{value:?} is no MAC address; write 12 hexadecimal digits in any spelling, or * for a part of them"
    )]
    BadMac { value: String },
}

impl QueryError {
    /// The key with words of which a value is none.
    fn key_of_words(&self) -> Option<Key> {
        match self.problem {
            Problem::UnknownValue { key, .. } => Some(key),
            _ => None,
        }
    }
}

impl Problem {
    /// The key or value that is nearest to the wrong one.
    pub fn nearest(&self) -> Option<String> {
        match self {
            Self::UnknownKey { nearest, .. } => nearest.map(|key| key.name().to_owned()),
            Self::UnknownValue { nearest, .. } => nearest.clone(),
            _ => None,
        }
    }
}

fn hint<T: fmt::Display>(nearest: &Option<T>) -> String {
    nearest
        .as_ref()
        .map(|nearest| format!("; is it {nearest}?"))
        .unwrap_or_default()
}

impl fmt::Display for QueryErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let between = if index == 0 { "" } else { " ; " };
            write!(f, "{between}at byte {}: {error}", error.range.start)?;
        }
        // Once for each key, however many of its values are wrong: there are dozens of some.
        let keys: BTreeSet<Key> = self.0.iter().filter_map(QueryError::key_of_words).collect();
        for key in keys {
            let more = match key {
                Key::Disk => "a number, a size, ",
                _ => "",
            };
            write!(f, " ; {key} takes {more}{}", key.words().join(", "))?;
        }
        Ok(())
    }
}
