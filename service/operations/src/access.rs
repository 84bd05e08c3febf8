//! Tokens and sessions, the random values in them, and the URLs that carry them.

pub mod auth;
pub mod random;
pub mod urls;
