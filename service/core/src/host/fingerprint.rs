//! What a machine calls itself; the type travels, see `muster_api`.

pub use muster_api::fingerprint::Fingerprint;
