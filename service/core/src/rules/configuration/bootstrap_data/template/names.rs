//! Names and their values in a template.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Object, Value};

/// Longest name that is repeated in a refusal.
const SHOWN: usize = 64;

/// The last name that was looked for and has no value.
#[derive(Clone, Default)]
pub(super) struct Missed(Arc<Mutex<Option<String>>>);

impl Missed {
    pub(super) fn last(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, name: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }
}

/// Names with one prefix.
pub(super) struct Names {
    /// With the dot at its end.
    prefix: &'static str,
    values: BTreeMap<&'static str, Value>,
    missed: Missed,
}

impl Names {
    pub(super) fn value(prefix: &'static str, values: Vec<(&'static str, Value)>, missed: &Missed) -> Value {
        Value::from_object(Self {
            prefix,
            values: values.into_iter().collect(),
            missed: missed.clone(),
        })
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names(...)")
    }
}

impl Object for Names {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?.replace('-', "_");
        let found = self.values.get(name.as_str()).cloned();
        if found.is_none() {
            let is_shown = name.len() <= SHOWN && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let shown = if is_shown { name.as_str() } else { "(a name)" };
            self.missed.set(format!("{}{shown}", self.prefix));
        }
        found
    }
}
