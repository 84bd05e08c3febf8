//! Reads numbers and truth values of nmstate's documents, which may be in quotes. Source: nmstate 2.2.62 (`deserializer.rs`).

use std::fmt::Display;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

/// A number, or its digits as text, hexadecimal after `0x`; `null` is none.
pub(super) fn number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
    T::Error: Display,
{
    let value = Value::deserialize(deserializer)?;
    let wrong = || Error::custom(format!("{value} is not a number as it is expected here"));
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_i64(),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let number = T::try_from(number.ok_or_else(wrong)?);
    number.map(Some).map_err(|_| wrong())
}

/// As [`number`], but required.
pub(super) fn needed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
    T::Error: Display,
{
    number(deserializer)?.ok_or_else(|| Error::custom("a number is expected"))
}

/// A truth value, or a word or number for one; `null` is none.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    match truth(&value) {
        Some(truth) => Ok(Some(truth)),
        None => Err(Error::custom(format!("{value} is neither true nor false"))),
    }
}

/// The truth value of a scalar.
pub(super) fn truth(value: &Value) -> Option<bool> {
    let text = super::document::text(value).to_lowercase();
    match text.as_str() {
        "1" | "true" | "yes" | "on" | "y" => Some(true),
        "0" | "false" | "no" | "off" | "n" => Some(false),
        _ => None,
    }
}
