//! Holds what all HTTP listeners share: the gate, readers of requests, refusals, attachments, request ids.

pub mod body;
pub mod download;
pub mod gate;
pub mod listener;
mod objects;
pub mod problem;
pub mod request_id;

pub use body::{Body, Path, Query};
pub use gate::{Allowed, Caller, Gate};
pub use problem::Problem;
