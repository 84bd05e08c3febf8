//! The agent of the discovery image, as a library: what it finds out about a host, how it talks to a
//! service, and what it does as the first process of the image.

pub mod config;
pub mod net;
pub mod run;
pub mod session;
pub mod time;
