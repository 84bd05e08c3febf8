//! Answers HTTP requests: discovery, reviews, and the operations on resources.

mod discovery;
mod dispatch;
mod response;
mod review;
mod room;
mod streamed;

pub use dispatch::handle;
pub use response::IsList;
