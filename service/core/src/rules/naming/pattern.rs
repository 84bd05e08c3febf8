//! Patterns of names: `node-{n:03}`, `{switch}-{port}`.

use std::str::FromStr;

use thiserror::Error;

use super::Nameless;
use crate::text::one_line;

/// Most digits of a number.
const MOST_DIGITS: usize = 9;

/// Longest pattern, bytes.
const MAX_LENGTH: usize = 256;

/// Longest part of a pattern that an error repeats, bytes.
const MAX_QUOTED: usize = 64;

/// A pattern of host names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The place of the host, with at least so many digits.
    Number(usize),
    Serial,
    Switch,
    Port,
    Mac,
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadPattern {
    #[error("the pattern is empty; write one such as node-{{n:03}}")]
    Empty,
    #[error("the pattern has {length} bytes; at most {MAX_LENGTH} are read")]
    Long { length: usize },
    #[error(
        "{part:?} is no part of a pattern; write {{n}}, {{n:03}}, {{serial}}, {{switch}}, {{port}} or {{mac}}"
    )]
    Unknown { part: String },
    #[error("a brace is not closed, or not opened: {rest:?}")]
    Brace { rest: String },
    #[error(
        "the pattern is the same for each host; write a part of each into it, such as {{n}} or {{serial}}"
    )]
    Constant,
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(BadPattern::Long { length: text.len() });
        }
        let unmatched = |rest: &str| BadPattern::Brace {
            rest: one_line(rest, MAX_QUOTED),
        };
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            let inner = from.strip_prefix('{').and_then(|after| after.split_once('}'));
            let (name, after) = inner.ok_or_else(|| unmatched(from))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::of(name)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        match parts.iter().all(|part| matches!(part, Part::Text(_))) {
            true => Err(BadPattern::Constant),
            false => Ok(Self(parts)),
        }
    }
}

impl Part {
    /// The part with this name between braces.
    fn of(name: &str) -> Result<Self, BadPattern> {
        let unknown = || BadPattern::Unknown {
            part: one_line(&format!("{{{name}}}"), MAX_QUOTED),
        };
        Ok(match name {
            "n" => Self::Number(1),
            "serial" => Self::Serial,
            "switch" => Self::Switch,
            "port" => Self::Port,
            "mac" => Self::Mac,
            _ => {
                let digits = name
                    .strip_prefix("n:0")
                    .and_then(|digits| digits.parse::<usize>().ok());
                let digits = digits.filter(|digits| (1..=MOST_DIGITS).contains(digits));
                Self::Number(digits.ok_or_else(unknown)?)
            }
        })
    }
}

impl Pattern {
    /// The name of a host at this place. Values of the host are written as names are: in lower case, with hyphens for other signs.
    ///
    /// # Errors
    /// The value that is not known of the host.
    pub fn fill(&self, number: u64, host: &Nameless) -> Result<String, String> {
        let mut name = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Number(digits) => {
                    let digits = *digits;
                    name.push_str(&format!("{number:0digits$}"));
                }
                Part::Serial => name.push_str(&known(&host.serial, "serial number")?),
                Part::Switch => name.push_str(&known(&host.switch, "switch")?),
                Part::Port => name.push_str(&known(&host.port, "switch port")?),
                Part::Mac => name.push_str(&known(&host.mac, "MAC address")?),
            }
        }
        Ok(name)
    }

    /// The pattern for the host at this place alone: with its number, and with the other parts as they are.
    pub fn numbered(&self, number: u64) -> String {
        let texts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Number(digits) => {
                let digits = *digits;
                format!("{number:0digits$}")
            }
            Part::Serial => "{serial}".to_owned(),
            Part::Switch => "{switch}".to_owned(),
            Part::Port => "{port}".to_owned(),
            Part::Mac => "{mac}".to_owned(),
        });
        texts.collect()
    }
}

/// A value as a part of a name.
fn known(value: &str, what: &str) -> Result<String, String> {
    let signs = value.chars().map(|sign| match sign.to_ascii_lowercase() {
        sign if sign.is_ascii_alphanumeric() => sign,
        _ => '-',
    });
    let name: String = signs.collect();
    let name = name.trim_matches('-');
    match name.is_empty() {
        true => Err(format!("its {what} is not known")),
        false => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};

    use super::*;

    fn host() -> Nameless {
        Nameless {
            infra_env_id: InfraEnvId::random(),
            id: HostId::random(),
            cluster_id: None,
            name: "old".into(),
            serial: "ABC 123/x".into(),
            switch: "SW-1.lab".into(),
            port: "Ethernet1/7".into(),
            mac: "52:54:00:12:34:56".into(),
        }
    }

    fn filled(pattern: &str) -> String {
        let pattern: Pattern = pattern.parse().unwrap();
        pattern.fill(7, &host()).unwrap()
    }

    #[test]
    fn parts_are_replaced_by_values_of_the_host() {
        for (pattern, name) in [
            ("{n}", "7"),
            ("node-{n:03}", "node-007"),
            ("node-{n:01}.lab", "node-7.lab"),
            ("h{serial}", "habc-123-x"),
            ("{switch}-{port}", "sw-1-lab-ethernet1-7"),
            ("m-{mac}", "m-52-54-00-12-34-56"),
        ] {
            assert_eq!(filled(pattern), name, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_for_one_host_has_its_number_and_the_other_parts() {
        let text = "a{n:03}-{serial}{switch}.{port}{mac}";
        let pattern: Pattern = text.parse().unwrap();
        let numbered = pattern.numbered(12);
        assert_eq!(numbered, "a012-{serial}{switch}.{port}{mac}");
        let again: Pattern = numbered.parse().unwrap();
        assert_eq!(again.fill(1, &host()), pattern.fill(12, &host()));
    }

    #[test]
    fn numbers_longer_than_their_digits_are_whole() {
        let pattern: Pattern = "n{n:02}".parse().unwrap();
        assert_eq!(pattern.fill(12_345, &host()).unwrap(), "n12345");
    }

    #[test]
    fn a_value_that_is_not_known_is_named() {
        let pattern: Pattern = "{switch}-{n}".parse().unwrap();
        let bare = Nameless {
            switch: "//".into(),
            ..host()
        };
        assert_eq!(pattern.fill(1, &bare), Err("its switch is not known".to_owned()));
    }

    #[test]
    fn other_texts_are_refused_with_their_reason() {
        let parse = |text: &str| text.parse::<Pattern>().unwrap_err();
        assert_eq!(parse(""), BadPattern::Empty);
        assert_eq!(parse("node"), BadPattern::Constant);
        assert_eq!(parse(&"{n}".repeat(100)), BadPattern::Long { length: 300 });
        for text in ["{", "a}b", "{n", "{n}}"] {
            assert!(matches!(parse(text), BadPattern::Brace { .. }), "{text}");
        }
        for text in [
            "{}", "{N}", "{n:3}", "{n:00}", "{n:0}", "{n:010}", "{rack}", "{{n}}",
        ] {
            assert!(matches!(parse(text), BadPattern::Unknown { .. }), "{text}");
        }
    }
}
