//! Writes values as JSON text.

use serde::Serialize;

/// Returns `value` as JSON text, for types that cannot fail to serialize: text keys and finite numbers.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("these types have text keys and finite numbers, so they are JSON")
}
