//! Digests of values, for comparisons within this process.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

/// Equal for equal values.
///
/// # Panics
/// If `value` is no JSON; resources have text keys and finite numbers, so they are.
pub fn digest<T: Serialize>(value: &T) -> u64 {
    let text =
        serde_json::to_string(value).expect("resources have text keys and finite numbers, so they are JSON");
    digest_of(text.as_bytes())
}

/// Equal for equal bytes.
pub fn digest_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
