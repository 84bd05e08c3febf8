//! Writes values as JSON text.

use serde::Serialize;

/// `value` as JSON text. For types with text keys and finite numbers, whose serialization cannot fail.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("these types have text keys and finite numbers, so they are JSON")
}
