//! The addresses that the service connects to because a user named them: of BMCs, of the API servers of workload clusters. They must
//! not lead to the service itself or to its neighbours (docs/protocol/redfish.md#7).
//!
//! A caller that connects resolves a name by [`Networks::resolve`], and connects to the addresses that it returns and to no others.

mod networks;
mod plain;

pub use networks::{NetworkError, Networks};
