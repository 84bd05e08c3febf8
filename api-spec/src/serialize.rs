//! The JSON habits of the protocol, for `#[serde(...)]` attributes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// True for the value that the protocol leaves out: `false`, `0`, `""`, an empty object.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads `null` as the empty value.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Writes an empty list as `null`, as a Go service writes a list that was never allocated.
pub fn empty_as_null<S: Serializer, T: Serialize>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    if list.is_empty() {
        serializer.serialize_none()
    } else {
        list.serialize(serializer)
    }
}
