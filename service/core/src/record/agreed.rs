//! Stores the last common state of a record and its mirror.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The members of a JSON object. A member that is missing is the same as null.
pub type Fields = Map<String, Value>;

/// Bytes of a digest that are kept: enough to distinguish two values of one field.
const DIGEST: usize = 8;

/// Digests of the fields for which a record and the custom resource that mirrors it were last equal. The side that
/// differs from it has changed since. Digests, because fields can be large or secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Agreed(BTreeMap<String, String>);

impl Agreed {
    /// Both sides have these fields now.
    pub fn of(fields: &Fields) -> Self {
        let mut agreed = Self::default();
        for (field, value) in fields {
            agreed.set(field, value);
        }
        agreed
    }

    /// Both sides have this value now.
    pub fn set(&mut self, field: &str, value: &Value) {
        self.0.insert(field.to_owned(), digest(value));
    }

    /// True if a side with this value has changed since. False as long as both sides never agreed about the field.
    pub fn differs(&self, field: &str, value: &Value) -> bool {
        self.0.get(field).is_some_and(|agreed| *agreed != digest(value))
    }
}

/// Returns an empty text for each form of an unset field.
fn digest(value: &Value) -> String {
    let is_unset = match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    };
    let mut text = String::new();
    if !is_unset {
        for byte in &Sha256::digest(value.to_string())[..DIGEST] {
            let _ = write!(text, "{byte:02x}");
        }
    }
    text
}
