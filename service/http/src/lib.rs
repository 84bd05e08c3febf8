//! Holds what all HTTP listeners share: the gate, readers of requests, refusals, attachments, request ids.

mod audit;
pub mod body;
mod cookie;
pub mod download;
pub mod gate;
pub mod listener;
mod objects;
mod origin;
pub mod problem;
pub mod proof;
pub mod request_id;
mod unread;

pub use audit::{Made, OperationIds};
pub use body::{Body, Path, Query};
pub use cookie::SessionCookie;
pub use gate::{Allowed, Caller, Gate};
pub use origin::only_known_names;
pub use problem::Problem;
