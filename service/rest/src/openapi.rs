//! The OpenAPI description: what holds for all operations, statuses that the field declares, the document as it is sent.

pub mod serve;
pub mod shared;
pub mod statuses;
