//! Lists that operators see over all InfraEnvs, the stream of their changes, and sessions of operators. Additions to the protocol.

pub mod changes;
pub mod search;
pub mod session;
pub mod troubles;
