//! A place in a cloud-config, with its path.

use serde_json::{Map, Value};

use super::super::refused::Refused;

/// Longest key that a path repeats.
const SHOWN: usize = 64;

/// A value with its path, such as `write_files.2.path`.
#[derive(Clone)]
pub(super) struct Node<'a> {
    value: &'a Value,
    path: String,
}

/// The members of an object; those that are null are absent.
pub(super) struct Members<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    pub(super) fn refuse(&self, why: impl Into<String>) -> Refused {
        // The whole of it has no path.
        let path = if self.path.is_empty() { "value" } else { &self.path };
        Refused::new(path, why)
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// The members, of which none but those of `known` may be there.
    pub(super) fn members(&self, known: &[&str]) -> Result<Members<'a>, Refused> {
        let members = self.any_members()?;
        let unknown = members.map.keys().find(|key| !known.contains(&key.as_str()));
        match unknown {
            Some(key) => Err(Refused::new(
                joined(&self.path, key),
                "has no counterpart in Ignition; use an image with cloud-init, or leave it out",
            )),
            None => Ok(members),
        }
    }

    /// The members, whatever they are called.
    pub(super) fn any_members(&self) -> Result<Members<'a>, Refused> {
        let Value::Object(map) = self.value else {
            return Err(self.refuse("must have members (key: value)"));
        };
        Ok(Members {
            map,
            path: self.path.clone(),
        })
    }

    pub(super) fn items(&self) -> Result<Vec<Node<'a>>, Refused> {
        let Value::Array(items) = self.value else {
            return Err(self.refuse("must be a list"));
        };
        let item = |(index, value)| Node {
            value,
            path: joined(&self.path, &format!("{index}")),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn text(&self) -> Result<&'a str, Refused> {
        self.value
            .as_str()
            .ok_or_else(|| self.refuse("must be a text; quote what YAML takes for something else"))
    }

    /// A text of one line, without characters that control something.
    pub(super) fn line(&self) -> Result<&'a str, Refused> {
        let text = self.text()?;
        if text.chars().any(char::is_control) {
            return Err(self.refuse("must be one line without control characters"));
        }
        Ok(text)
    }

    pub(super) fn flag(&self) -> Result<bool, Refused> {
        self.value
            .as_bool()
            .ok_or_else(|| self.refuse("must be true or false"))
    }

    /// A list of lines, or one line.
    pub(super) fn lines(&self) -> Result<Vec<&'a str>, Refused> {
        if self.value.is_string() {
            return Ok(vec![self.line()?]);
        }
        self.items()?.iter().map(Node::line).collect()
    }
}

impl<'a> Members<'a> {
    pub(super) fn get(&self, name: &str) -> Option<Node<'a>> {
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        Some(Node {
            value,
            path: joined(&self.path, name),
        })
    }

    /// # Errors
    /// The member is not there.
    pub(super) fn need(&self, name: &str) -> Result<Node<'a>, Refused> {
        self.get(name)
            .ok_or_else(|| Refused::new(joined(&self.path, name), "is needed"))
    }

    /// True or false; false when it is not there.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Refused> {
        self.get(name).map_or(Ok(false), |node| node.flag())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        let path = self.path.clone();
        self.map.iter().map(move |(key, value)| {
            let node = Node {
                value,
                path: joined(&path, key),
            };
            (key.as_str(), node)
        })
    }
}

fn joined(path: &str, key: &str) -> String {
    let is_shown = key.len() <= SHOWN && !key.chars().any(char::is_control);
    let key = if is_shown { key } else { "(a key)" };
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
