//! Which machine it is: ids of its parts, the proof by its key, identifiers that makers left blank.

pub mod fingerprint;
pub mod host_key;
pub mod placeholder;
