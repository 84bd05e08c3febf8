//! Declares the service that empties the drives of machines: the controllers do not access BMCs.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use muster_core::record::Secret;

/// A BMC, as a BareMetalHost names it.
#[derive(Debug, Clone)]
pub struct HostBmc {
    /// The address: `http://HOST:PORT` or `https://HOST:PORT`.
    pub address: String,
    /// The id of the system; `None`: the only one.
    pub system: Option<String>,
    pub user_name: String,
    pub password: Secret,
    /// False: its certificate is not checked.
    pub verify: bool,
}

/// The outcome; an error is for users.
pub type Emptied = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Accesses BMCs.
pub trait Drives: Debug + Send + Sync {
    /// Ejects the media in the drives, and clears the boot override.
    fn empty(&self, bmc: HostBmc) -> Emptied;
}
