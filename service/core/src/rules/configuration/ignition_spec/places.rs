//! An object of a config and its path, for the rules.

use serde_json::{Map, Value};

use super::problem::{Problem, joined};

pub(super) struct Place<'a> {
    pub(super) path: &'a str,
    pub(super) object: &'a Map<String, Value>,
    pub(super) minor: u8,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl<'a> Place<'a> {
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.object.contains_key(name)
    }

    /// Returns an empty text for an unset member: rules for which that makes a difference check if it is set.
    pub(super) fn text(&self, name: &str) -> &'a str {
        text_of(self.object, name)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.object.get(name).and_then(Value::as_i64)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.object.get(name).and_then(Value::as_bool)
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    pub(super) fn list(&self, name: &str) -> &'a [Value] {
        let list = self.object.get(name).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// The objects of a list.
    pub(super) fn objects(
        &self,
        name: &str,
    ) -> impl Iterator<Item = &'a Map<String, Value>> + Clone + use<'a> {
        self.list(name).iter().filter_map(Value::as_object)
    }

    /// Records a fault. `at`: below this object; empty for the object itself.
    pub(super) fn fail(&mut self, at: impl std::fmt::Display, why: impl Into<String>) {
        let at = at.to_string();
        let path = if at.is_empty() {
            self.path.to_owned()
        } else {
            joined(self.path, at)
        };
        self.problems.push(Problem {
            path,
            why: why.into(),
            unreadable: false,
        });
    }

    pub(super) fn fail_if(&mut self, failed: Result<(), &'static str>, at: impl std::fmt::Display) {
        if let Err(why) = failed {
            self.fail(at, why);
        }
    }
}

pub(super) fn text_of<'a>(object: &'a Map<String, Value>, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}
