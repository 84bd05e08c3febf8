//! What operators see over all InfraEnvs, and their sessions. Additions to the protocol.

pub mod changes;
pub mod search;
pub mod session;
pub mod troubles;
