//! Describes the schemas of all resources for clients: `kubectl explain`, and the checks before `kubectl
//! apply`.

mod documents;
pub mod protobuf;

pub use documents::OpenApi;
