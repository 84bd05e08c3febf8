//! Remembers when a connection to a server was last found to be lost. The cause (a restart, a failover) mostly ends all connections, so
//! those that were idle at that moment are tested before they are used again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shared by all pools of this process: at worst a connection of another pool is tested needlessly.
static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Records the time if this error means that the connection was lost.
pub(crate) fn note(error: &sqlx::Error) {
    use sqlx::Error;
    let lost = match error {
        Error::Io(_) | Error::Protocol(_) | Error::WorkerCrashed => true,
        // 57P01 to 57P03: the server ended it, crashed, or does not take connections; 08: the connection failed.
        Error::Database(database) => database
            .code()
            .is_some_and(|code| code.starts_with("57P0") || (code.len() == 5 && code.starts_with("08"))),
        _ => false,
    };
    if lost {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// True when a connection was lost within `idle_for`, the time since this one was used.
pub(crate) fn since(idle_for: Duration) -> bool {
    let last = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.is_some_and(|last| last.elapsed() <= idle_for)
}
