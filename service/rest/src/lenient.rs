//! Parses booleans in the spellings of clients in several languages.

use serde::{Deserialize, Deserializer};

/// Parses `true` and `1`, `false` and `0`, in any case. Empty is false, as in the protocol for some parameters.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" | "" => Some(false),
        _ => None,
    }
}

/// For `deserialize_with`.
pub fn lenient_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_bool(&text).ok_or_else(|| serde::de::Error::custom("must be true or false"))
}
