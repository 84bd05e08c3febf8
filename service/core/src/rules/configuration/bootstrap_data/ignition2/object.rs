//! Reads objects of specification 2.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::rules::bootstrap_data::refused::Refused;

/// Most letters of an unknown member's name that are repeated.
const LONGEST_NAME: usize = 40;

/// The type of a member that both specifications have by one name.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    /// An empty text has no effect.
    Text,
    /// An empty text has an effect of its own.
    AnyText,
    /// A whole number.
    Number,
    Flag,
    Texts,
    /// Texts of which Ignition 3 refuses a second equal one, and Ignition 2 does not.
    Set,
}

/// An object and its path. Members are taken out of it one by one; [`Object::end`] refuses those that are left.
pub(super) struct Object {
    path: String,
    rest: Map<String, Value>,
}

impl Object {
    /// `path`: of the object; empty for the config itself.
    pub(super) fn read(value: Value, path: String) -> Result<Self, Refused> {
        match value {
            Value::Object(rest) => Ok(Self { path, rest }),
            Value::Null => Ok(Self {
                path,
                rest: Map::new(),
            }),
            _ => Err(Refused::new(path, "must be an object")),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// Refuses a member.
    pub(super) fn refused(&self, name: &str, why: impl Into<String>) -> Refused {
        Refused::new(self.at(name), why)
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a member. `None`: it is absent or has no effect.
    fn value(&mut self, name: &str, holds: Holds) -> Result<Option<Value>, Refused> {
        let Some(mut value) = self.take(name) else {
            return Ok(None);
        };
        let is_texts = |value: &Value| {
            let items = value.as_array();
            items.is_some_and(|items| items.iter().all(Value::is_string))
        };
        let (fits, wanted) = match holds {
            Holds::Text | Holds::AnyText => (value.is_string(), "a string"),
            Holds::Number => (value.is_i64(), "a whole number, in decimal and without quotes"),
            Holds::Flag => (value.is_boolean(), "true or false, without quotes"),
            Holds::Texts | Holds::Set => (is_texts(&value), "a list of strings"),
        };
        if !fits {
            return Err(self.refused(name, format!("must be {wanted}")));
        }
        if let (Holds::Set, Value::Array(items)) = (holds, &mut value) {
            let mut seen = HashSet::new();
            items.retain(|item| seen.insert(item.as_str().map(str::to_owned)));
        }
        let is_unset = match &value {
            Value::String(text) => text.is_empty() && !matches!(holds, Holds::AnyText),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        Ok((!is_unset).then_some(value))
    }

    /// Takes members out of this object, and puts those that have an effect into `to` by the same names.
    pub(super) fn moved(
        &mut self,
        members: &[(&str, Holds)],
        to: &mut Map<String, Value>,
    ) -> Result<(), Refused> {
        for (name, holds) in members {
            if let Some(value) = self.value(name, *holds)? {
                to.insert((*name).to_owned(), value);
            }
        }
        Ok(())
    }

    /// Takes a text; `None`: it is absent or empty.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Refused> {
        let value = self.value(name, Holds::Text)?;
        Ok(value.and_then(|value| value.as_str().map(str::to_owned)))
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<i64>, Refused> {
        let value = self.value(name, Holds::Number)?;
        Ok(value.and_then(|value| value.as_i64()))
    }

    /// Takes a flag; one that is absent is not set.
    pub(super) fn is_set(&mut self, name: &str) -> Result<bool, Refused> {
        let value = self.value(name, Holds::Flag)?;
        Ok(value == Some(Value::Bool(true)))
    }

    /// Takes an object; `None`: it is absent.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<Self>, Refused> {
        let path = self.at(name);
        self.take(name).map(|value| Self::read(value, path)).transpose()
    }

    /// Takes an object; one that is absent is empty.
    pub(super) fn section(&mut self, name: &str) -> Result<Self, Refused> {
        let path = self.at(name);
        Self::read(self.take(name).unwrap_or_default(), path)
    }

    /// Takes a list of objects; one that is absent is empty.
    pub(super) fn objects(&mut self, name: &str) -> Result<Vec<Self>, Refused> {
        let path = self.at(name);
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| Self::read(item, format!("{path}.{index}")))
                .collect(),
            Some(_) => Err(Refused::new(path, "must be a list")),
        }
    }

    /// Refuses the first member that was not taken and has an effect.
    pub(super) fn end(self) -> Result<(), Refused> {
        match self.rest.iter().find(|(_, value)| !is_empty(value)) {
            None => Ok(()),
            Some((name, _)) => {
                let name: String = name.chars().take(LONGEST_NAME).collect();
                Err(self.refused(&name, "is no member of Ignition 2.0 to 2.4; remove it"))
            }
        }
    }
}

/// True for a value that Go writes for "unset".
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Puts a list into an object, unless it is empty.
pub(super) fn put(to: &mut Map<String, Value>, name: &str, items: Vec<Map<String, Value>>) {
    if !items.is_empty() {
        to.insert(name.to_owned(), items.into_iter().map(Value::Object).collect());
    }
}

/// Puts an object into another, unless it is empty.
pub(super) fn put_object(to: &mut Map<String, Value>, name: &str, object: Map<String, Value>) {
    if !object.is_empty() {
        to.insert(name.to_owned(), Value::Object(object));
    }
}
