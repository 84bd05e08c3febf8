//! Streams images: an answer is a byte plan over a base file, sent without a copy of the image on disk or in memory.
//!
//! [`download`] describes what is sent, [`selection`] decides from the request's headers which part of it, [`serve`] makes the
//! answer, [`body`] produces its bytes and [`transport`] writes them to a socket. [`routes`] are the addresses of boot artifacts:
//! our short ones and those of the upstream image service (docs/protocol/image-service.md#2).

mod artifact;
pub mod body;
pub mod buffers;
pub mod download;
pub mod downloads;
mod routes;
pub mod selection;
mod serve;
pub mod transport;

pub use download::{Download, Meta};
pub use downloads::{Downloads, Limits};
pub use routes::{host_routes, routes};
pub use serve::serve;
pub use transport::{DownloadListener, FileChannel, FileStream, Peer};
