//! Converts JSON to values for rules, by the types that the schema declares. Source: `k8s.io/apiserver` 0.34 `pkg/cel/common/values.go`.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta};
use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value;

use super::declared::{RESERVED, escape};
use crate::schema::structural::{Schema, Type};

/// The value of a node of the schema; of what the schema leaves open, as it is. A text that is not of its format stays one.
pub fn of(schema: Option<&Schema>, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => {
            let is_double = schema.is_some_and(|schema| schema.kind == Some(Type::Number));
            match number.as_i64() {
                Some(whole) if !is_double => Cel::Int(whole),
                _ => whole_or_float(schema, number.as_f64().unwrap_or(f64::NAN)),
            }
        }
        Value::String(text) => of_text(schema, text),
        Value::Array(elements) => {
            let items = schema.and_then(|schema| schema.items.as_deref());
            let elements = elements.iter().map(|element| of(items, element));
            Cel::List(Arc::new(elements.collect()))
        }
        Value::Object(members) => {
            let is_map =
                schema.is_some_and(|schema| schema.additional.is_some() && schema.properties.is_empty());
            let mut map: HashMap<Key, Cel> = HashMap::with_capacity(members.len());
            for (name, member) in members {
                let child = schema.and_then(|schema| schema.member(name));
                let value = of(child.map(|child| &**child), member);
                let key = |name: &str| Key::String(Arc::new(name.to_owned()));
                if is_map {
                    map.insert(key(name), value);
                } else if let Some(escaped) = escape(name) {
                    // Both forms of a reserved word are accepted.
                    if RESERVED.contains(&name.as_str()) {
                        map.insert(key(name), value.clone());
                    }
                    map.insert(key(&escaped), value);
                }
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

/// `1.0` is a whole number where the schema wants one.
fn whole_or_float(schema: Option<&Schema>, number: f64) -> Cel {
    match schema {
        Some(schema) if schema.kind == Some(Type::Integer) && number.fract() == 0.0 => {
            Cel::Int(number as i64)
        }
        _ => Cel::Float(number),
    }
}

fn of_text(schema: Option<&Schema>, text: &str) -> Cel {
    let typed = || {
        let schema = schema.filter(|schema| schema.kind == Some(Type::String))?;
        match schema.rules.format.as_deref()? {
            "byte" => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
                Some(Cel::Bytes(Arc::new(bytes)))
            }
            "date-time" => Some(Cel::Timestamp(DateTime::parse_from_rfc3339(text).ok()?)),
            "date" => {
                let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
                Some(Cel::Timestamp(
                    day.and_time(NaiveTime::MIN).and_utc().fixed_offset(),
                ))
            }
            "duration" => Some(Cel::Duration(duration(text)?)),
            _ => None,
        }
    };
    typed().unwrap_or_else(|| Cel::String(Arc::new(text.to_owned())))
}

/// Units of durations, nanoseconds.
const UNITS: [(&str, f64); 9] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 6e10),
    ("h", 3.6e12),
    ("d", 8.64e13),
    ("w", 6.048e14),
];

/// A duration such as `1h30m`, `-1.5s` or `0`.
fn duration(text: &str) -> Option<TimeDelta> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    if rest == "0" {
        return Some(TimeDelta::zero());
    }
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = rest.split_at(end);
        let end = unit
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        nanoseconds += number.parse::<f64>().ok()? * length;
        rest = after;
    }
    (!text.is_empty()).then(|| TimeDelta::nanoseconds((sign * nanoseconds) as i64))
}
