//! Parses only parts of a document, so that a table of a thousand large objects does not parse all of each.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The members of an object to parse, with the parts of each. Empty means the whole value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts(BTreeMap<String, Parts>);

impl Parts {
    /// `apiVersion`, `kind` and `metadata`.
    pub fn metadata() -> Self {
        let mut parts = Self::default();
        for member in ["apiVersion", "kind", "metadata"] {
            parts.add(&[member.to_owned()]);
        }
        parts
    }

    /// Adds a path of member names; an empty path means the whole object.
    pub fn add(&mut self, path: &[String]) {
        match path {
            [] => self.0.clear(),
            [name] => drop(self.0.insert(name.clone(), Self::default())),
            [name, rest @ ..] => match self.0.get_mut(name) {
                Some(whole) if whole.0.is_empty() => {}
                Some(parts) => parts.add(rest),
                None => {
                    let mut parts = Self::default();
                    parts.add(rest);
                    self.0.insert(name.clone(), parts);
                }
            },
        }
    }

    /// Parses these parts of a document.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn read(&self, document: &str) -> serde_json::Result<Value> {
        let mut reader = serde_json::Deserializer::from_str(document);
        let value = self.deserialize(&mut reader)?;
        reader.end()?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for &Parts {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.0.is_empty() {
            return serde::Deserialize::deserialize(deserializer);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Parts {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match self.0.get(&name) {
                Some(parts) => {
                    let value = members.next_value_seed(parts)?;
                    object.insert(name, value);
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(object.into())
    }

    // Other values have no members and are parsed as a whole.

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parts(paths: &[&str]) -> Parts {
        let mut parts = Parts::default();
        for path in paths {
            parts.add(&path.split('.').map(str::to_owned).collect::<Vec<_>>());
        }
        parts
    }

    #[test]
    fn what_is_not_asked_for_is_not_there() {
        let document = json!({
            "kind": "K", "metadata": {"name": "a", "labels": {"x\ny": "\u{1F600}"}},
            "spec": {"on": true, "deep": {"er": [1, -2, 3.5, null, "t"], "other": {}}, "more": [{"a": 1}]},
            "status": "a text where an object is expected",
        });
        let text = document.to_string();
        let read = |paths: &[&str]| parts(paths).read(&text).unwrap();
        assert_eq!(read(&[]), document);
        assert_eq!(
            read(&["metadata", "spec.deep.er", "spec.on", "status.x", "none.at.all"]),
            json!({
                "metadata": {"name": "a", "labels": {"x\ny": "\u{1F600}"}},
                "spec": {"on": true, "deep": {"er": [1, -2, 3.5, null, "t"]}},
                "status": "a text where an object is expected",
            })
        );
        assert_eq!(read(&["spec.more.a"]), json!({"spec": {"more": [{"a": 1}]}}));
        // The wider part counts, in either order.
        assert_eq!(
            read(&["spec.deep", "spec.deep.er"]),
            read(&["spec.deep.er", "spec.deep"])
        );
        assert!(parts(&["kind"]).read("{\"kind\":1} x").is_err());
    }
}
