//! Reads filters.

use std::net::IpAddr;
use std::ops::Range;
use std::str::FromStr;

use ipnet::IpNet;

use super::error::{Problem, QueryError, QueryErrors};
use super::key::{Key, Kind, only_word};
use super::lex::{self, MAX_VALUE_BYTES, MAX_VALUES, RawTerm, RawValue};
use super::mac;
use super::pattern::Pattern;
use super::quantity::{Age, Comparison, Quantity};
use super::term::{Query, Term};
use super::value::{OVERDUE, Value};
use crate::query::nearest::nearest;
use crate::text::one_line;

/// Longest part of a wrong filter that an error repeats, bytes.
const MAX_QUOTED: usize = 64;

impl Query {
    /// Reads a filter; an empty text lets every host pass.
    ///
    /// # Errors
    /// Each term and value that is wrong, with its place and, for keys and words, the nearest right one.
    pub fn parse(text: &str) -> Result<Self, QueryErrors> {
        let ranges = lex::terms(text).map_err(|error| QueryErrors(vec![error]))?;
        let (mut terms, mut errors, mut values) = (Vec::new(), Vec::new(), 0);
        for range in ranges {
            let raw = match lex::term(text, range.clone()) {
                Ok(raw) => raw,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            values += raw.values.len();
            if values > MAX_VALUES {
                let limit = MAX_VALUES;
                errors.push(lex::error(range, Problem::TooManyValues { limit }));
                break;
            }
            match term(text, raw) {
                Ok(term) => terms.push(term),
                Err(faults) => errors.extend(faults),
            }
        }
        match errors.is_empty() {
            true => Ok(Self { terms }),
            false => Err(QueryErrors(errors)),
        }
    }
}

impl FromStr for Query {
    type Err = QueryErrors;

    fn from_str(text: &str) -> Result<Self, QueryErrors> {
        Self::parse(text)
    }
}

impl Term {
    /// The term for hosts with exactly this text of a key with texts or words; empty: for those without one.
    pub(in crate::query) fn exactly(key: Key, text: &str) -> Self {
        let value = match (key, text) {
            (_, "") => Value::None,
            (Key::State, name) => Value::Text(Pattern::exactly(only_word(name))),
            (_, text) => Value::Text(Pattern::exactly(text)),
        };
        Self {
            is_negated: false,
            key: Some(key),
            values: vec![value],
        }
    }
}

fn term(text: &str, raw: RawTerm) -> Result<Term, Vec<QueryError>> {
    let key = raw
        .key
        .map(|range| key(text, range))
        .transpose()
        .map_err(|error| vec![error])?;
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for raw in raw.values {
        let range = raw.range.clone();
        let read = check_length(&raw).and_then(|()| match key {
            Some(key) => value(key, raw),
            None => check_colon(&raw).and_then(|()| word(raw)),
        });
        match read {
            Ok(value) => values.push(value),
            Err(problem) => errors.push(lex::error(range, problem)),
        }
    }
    match errors.is_empty() {
        true => Ok(Term {
            is_negated: raw.is_negated,
            key,
            values,
        }),
        false => Err(errors),
    }
}

fn key(text: &str, range: Range<usize>) -> Result<Key, QueryError> {
    let name = &text[range.clone()];
    name.parse::<Key>().map_err(|_| {
        let problem = Problem::UnknownKey {
            name: quoted(name),
            nearest: nearest_key(name),
        };
        lex::error(range, problem)
    })
}

fn check_length(raw: &RawValue) -> Result<(), Problem> {
    let bytes: usize = raw.parts.iter().map(String::len).sum();
    let limit = MAX_VALUE_BYTES;
    match bytes > limit || raw.parts.len() > limit {
        true => Err(Problem::ValueTooLong { bytes, limit }),
        false => Ok(()),
    }
}

/// # Errors
/// For `cpu>32`, which would be searched for as text, and be found nowhere.
fn check_colon(raw: &RawValue) -> Result<(), Problem> {
    let text = raw.parts.join("*");
    let Some(at) = text.find(['<', '>']).filter(|_| !raw.is_quoted) else {
        return Ok(());
    };
    let (name, compared) = text.split_at(at);
    match named_key(name).filter(|key| has_order(*key)) {
        Some(key) => Err(Problem::NoColon {
            key,
            value: quoted(compared),
        }),
        None => Ok(()),
    }
}

fn has_order(key: Key) -> bool {
    match key.kind() {
        Kind::Count | Kind::Memory | Kind::Speed | Kind::Age | Kind::Wait | Kind::Disk | Kind::Gpu => true,
        Kind::Text | Kind::Word | Kind::Flag | Kind::Label | Kind::Mac | Kind::Address | Kind::Bmc => false,
    }
}

/// The key of this name, or under which users know it.
fn named_key(name: &str) -> Option<Key> {
    let other = || {
        OTHER_NAMES
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    name.parse().ok().or_else(|| other().map(|(_, key)| *key))
}

fn word(raw: RawValue) -> Result<Value, Problem> {
    if raw.literal() == Some("") {
        return Err(Problem::NoText);
    }
    Ok(Value::Word {
        mac: raw.literal().and_then(mac::part),
        pattern: Pattern::new(raw.parts),
    })
}

fn value(key: Key, raw: RawValue) -> Result<Value, Problem> {
    if raw.is_missing() {
        return Err(Problem::NoValue { key });
    }
    if raw.comparison.is_none() && raw.is_any() {
        return Ok(Value::Any);
    }
    if raw.comparison.is_none() && raw.literal() == Some("") {
        return Ok(Value::None);
    }
    match key.kind() {
        Kind::Count | Kind::Memory | Kind::Speed => number(key, &raw),
        Kind::Disk | Kind::Gpu if is_number(key, &raw) => number(key, &raw),
        Kind::Age => age(key, &raw, Comparison::AtMost, "<5m, >1h30m or 24h"),
        Kind::Wait if is_overdue(&raw) => Ok(Value::Overdue),
        Kind::Wait => age(key, &raw, Comparison::AtLeast, ">10m, <1h or overdue"),
        Kind::Text
        | Kind::Word
        | Kind::Flag
        | Kind::Label
        | Kind::Mac
        | Kind::Address
        | Kind::Bmc
        | Kind::Disk
        | Kind::Gpu => text(key, raw),
    }
}

/// A value of a key without order.
fn text(key: Key, raw: RawValue) -> Result<Value, Problem> {
    if let Some(comparison) = raw.comparison {
        let sign = comparison.sign();
        return Err(Problem::NoOrder { key, sign });
    }
    match key.kind() {
        Kind::Word | Kind::Disk => one_of(key, raw),
        Kind::Flag => flag(key, &raw),
        Kind::Label => Ok(label(Pattern::new(raw.parts))),
        Kind::Mac => whole_mac(&raw),
        Kind::Address => address(raw),
        Kind::Bmc => Ok(network(&raw).unwrap_or_else(|| Value::Text(Pattern::new(raw.parts)))),
        _ => Ok(Value::Text(Pattern::new(raw.parts))),
    }
}

/// True if it is to be read as a number: types of disks begin with a letter, models of GPUs are not digits alone.
fn is_number(key: Key, raw: &RawValue) -> bool {
    let is_number = |text: &str| match key {
        Key::Disk => text.starts_with(|c: char| c.is_ascii_digit()),
        _ => text.bytes().all(|byte| byte.is_ascii_digit()),
    };
    raw.comparison.is_some() || raw.literal().is_some_and(is_number)
}

fn is_overdue(raw: &RawValue) -> bool {
    let is_word = |word: &str| word.eq_ignore_ascii_case(OVERDUE);
    raw.comparison.is_none() && raw.literal().is_some_and(is_word)
}

fn number(key: Key, raw: &RawValue) -> Result<Value, Problem> {
    let quantity = raw.literal().and_then(|text| Quantity::read(key.kind(), text));
    let comparison = raw.comparison.unwrap_or(Comparison::Equal);
    let example = match key.kind() {
        Kind::Memory => "64GiB, >=1.5T",
        Kind::Disk => ">1T, 480GB, or 4 for their number",
        Kind::Speed => "25G, >=10000M",
        _ => "8, >=32",
    };
    quantity
        .map(|quantity| Value::Number(comparison, quantity))
        .ok_or_else(|| Problem::BadNumber {
            key,
            value: written(raw),
            example,
        })
}

fn age(key: Key, raw: &RawValue, unsigned: Comparison, example: &'static str) -> Result<Value, Problem> {
    let age = raw.literal().and_then(Age::read);
    let comparison = raw.comparison.unwrap_or(unsigned);
    age.map(|age| Value::Age(comparison, age))
        .ok_or_else(|| Problem::BadTime {
            key,
            value: written(raw),
            example,
        })
}

/// A pattern that fits at least one of the key's words.
fn one_of(key: Key, raw: RawValue) -> Result<Value, Problem> {
    let value = written(&raw);
    let parts = match key {
        Key::Stage => raw.parts.iter().map(|part| part.replace(' ', "-")).collect(),
        _ => raw.parts,
    };
    let pattern = Pattern::new(parts);
    let words = key.words();
    if words.iter().any(|word| pattern.is_all_of(word)) {
        return Ok(Value::Text(pattern));
    }
    let nearest = nearest(&value, words.iter().map(String::as_str)).map(str::to_owned);
    Err(Problem::UnknownValue { key, value, nearest })
}

fn flag(key: Key, raw: &RawValue) -> Result<Value, Problem> {
    let word = raw.literal().unwrap_or_default().to_ascii_lowercase();
    let flag = match word.as_str() {
        "yes" | "true" | "on" | "enabled" => "yes",
        "no" | "false" | "off" | "disabled" => "no",
        _ => {
            let value = written(raw);
            let nearest = nearest(&value, ["yes", "no"].into_iter()).map(str::to_owned);
            return Err(Problem::UnknownValue { key, value, nearest });
        }
    };
    Ok(Value::Text(Pattern::exactly(flag)))
}

fn label(pattern: Pattern) -> Value {
    match pattern.split_at('=') {
        Some((key, value)) => Value::Label {
            key,
            value: Some(value),
        },
        None => Value::Label {
            key: pattern,
            value: None,
        },
    }
}

fn network(raw: &RawValue) -> Option<Value> {
    let text = raw.literal()?;
    let network = text.parse::<IpNet>().ok();
    network
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
        .map(Value::Network)
}

fn address(raw: RawValue) -> Result<Value, Problem> {
    if let Some(network) = network(&raw) {
        return Ok(network);
    }
    let may_be = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b".:".contains(&byte))
    };
    match raw.parts.len() > 1 && raw.parts.iter().all(|part| may_be(part)) {
        true => Ok(Value::Text(Pattern::new(raw.parts))),
        false => Err(Problem::BadAddress { value: written(&raw) }),
    }
}

fn whole_mac(raw: &RawValue) -> Result<Value, Problem> {
    let parts: Vec<String> = raw.parts.iter().map(|part| mac::digits(part)).collect();
    let is_good = parts.iter().all(|part| mac::are_hex(part));
    let is_enough = match &parts[..] {
        [digits] => mac::is_whole(digits),
        parts => parts.iter().any(|digits| !digits.is_empty()),
    };
    match is_good && is_enough {
        true => Ok(Value::Mac(Pattern::new(parts))),
        false => Err(Problem::BadMac { value: written(raw) }),
    }
}

/// The value for an error, with its wildcards and without its sign.
fn written(raw: &RawValue) -> String {
    quoted(&raw.parts.join("*"))
}

fn quoted(text: &str) -> String {
    one_line(text, MAX_QUOTED)
}

/// Names under which users know keys.
const OTHER_NAMES: [(&str, Key); 17] = [
    ("infraenv", Key::Pool),
    ("infra-env", Key::Pool),
    ("hostname", Key::Name),
    ("status", Key::State),
    ("validation", Key::Check),
    ("ram", Key::Memory),
    ("threads", Key::Cpu),
    ("cores", Key::Cpu),
    ("processor", Key::Cpu),
    ("storage", Key::Disk),
    ("speed", Key::NicSpeed),
    ("address", Key::Ip),
    ("sn", Key::Serial),
    ("manufacturer", Key::Vendor),
    ("product", Key::Model),
    ("last-seen", Key::Seen),
    ("temperature", Key::Temp),
];

fn nearest_key(name: &str) -> Option<Key> {
    let keys = Key::ALL.iter().map(|key| (key.name(), *key));
    let names: Vec<(&str, Key)> = keys.chain(OTHER_NAMES).collect();
    let found = nearest(name, names.iter().map(|(name, _)| *name))?;
    names.iter().find(|(name, _)| *name == found).map(|(_, key)| *key)
}
