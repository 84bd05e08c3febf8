//! Reads the source tree and returns violations of its rules. The rules are in `tests/house/main.rs`; start there.

pub mod allowed;
pub mod areas;
pub mod circles;
pub mod citations;
pub mod claims;
pub mod comments;
pub mod maps;
pub mod modules;
pub mod names;
pub mod storeys;
pub mod tree;
pub mod words;
