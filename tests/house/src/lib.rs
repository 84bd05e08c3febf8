//! Reads the source tree and says what does not hold in it. The rules are in `tests/house/main.rs`; start there.

pub mod allowed;
pub mod areas;
pub mod circles;
pub mod citations;
pub mod comments;
pub mod dependencies;
pub mod modules;
pub mod names;
pub mod storeys;
pub mod tree;
