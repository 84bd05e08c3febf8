//! Lists over many records, as operators see them: hosts of all InfraEnvs, the stream of changes, links between hosts and with switches, node
//! pools, troubles; and sessions of operators. Additions to the protocol.

pub mod changes;
pub mod connectivity;
pub mod links;
pub mod node_pools;
pub mod search;
pub mod session;
pub mod troubles;
