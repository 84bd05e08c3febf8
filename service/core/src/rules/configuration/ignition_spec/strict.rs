//! Parses JSON in which objects hold each name once.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::problem::{Problem, unreadable};

struct Strict(Value);

/// Parses `text` as JSON. Go's decoder, which Ignition uses, mixes duplicate members in ways that are never intended,
/// so they are refused.
pub(super) fn json(text: &str) -> Result<Value, Problem> {
    let mut input = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut input).map_err(|error| {
        let path = error.path().iter().filter_map(|segment| match segment {
            serde_path_to_error::Segment::Seq { index } => Some(index.to_string()),
            serde_path_to_error::Segment::Map { key } => Some(key.clone()),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
        });
        unreadable(
            path.collect::<Vec<_>>().join("."),
            format!("is not JSON as Ignition needs it: {}", error.inner()),
        )
    });
    let Strict(value) = value?;
    input
        .end()
        .map_err(|error| unreadable(String::new(), format!("is not JSON: {error}")))?;
    Ok(value)
}

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything).map(Self)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Strict(value) = members.next_value()?;
            if map.contains_key(&name) {
                return Err(A::Error::custom("an object holds a member of this name twice"));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}
