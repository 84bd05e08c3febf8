//! Parses requests: path, query, headers and body.

pub mod body;
mod caller;
mod info;
pub mod negotiate;
mod options;
mod path;
mod protobuf;

pub use caller::{Caller, MASTERS, VIEWERS};
pub use info::{Hide, RequestInfo, field_manager};
pub use options::{FieldValidation, Options, Propagation, invalid_options};
pub use path::Target;
