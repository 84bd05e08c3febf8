//! Authenticates and authorizes clients from outside the process, over TLS.

mod auth;
mod listen;
mod tls;

pub use auth::Tokens;
pub use tls::{Authority, Credentials, Identity, TlsError, kubeconfig, write_private};
