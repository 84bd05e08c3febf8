//! What operators see over many records: lists over all InfraEnvs, the stream of their changes, who reaches whom, switches, node pools; and
//! sessions of operators. Additions to the protocol.

pub mod changes;
pub mod connectivity;
pub mod links;
pub mod node_pools;
pub mod search;
pub mod session;
pub mod troubles;
