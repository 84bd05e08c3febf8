//! Answers HTTP requests: discovery, reviews, and the operations on resources.

mod discovery;
mod dispatch;
mod response;
mod review;

pub use dispatch::handle;
