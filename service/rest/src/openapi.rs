//! The OpenAPI description of the API: what holds for all operations, the statuses that the field declares, the description as it is sent.

pub mod serve;
pub mod shared;
pub mod statuses;
