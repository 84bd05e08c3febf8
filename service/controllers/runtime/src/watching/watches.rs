//! Receives which watches fail.

use std::time::Instant;

/// Keeps which watches fail, for the log and `/ready`.
pub trait Watches: Send + Sync {
    /// A watch of objects of `kind` showed something.
    fn works(&self, kind: &str);

    /// A watch of objects of `kind` failed.
    fn fails(&self, kind: &str, error: String, now: Instant);
}
