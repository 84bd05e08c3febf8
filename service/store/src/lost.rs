//! Remembers when a connection to a server was last found to be lost. What ends one connection (a restart, a failover) mostly
//! ends all of them, so those that lay unused at that moment are asked before they are used again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Of all pools of this process: at worst another's are asked once too often.
static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Notes the time if this error is that of a connection which is no more.
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

/// True when a connection was lost since this one was used, which is so long ago.
pub(crate) fn since(idle_for: Duration) -> bool {
    let last = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.is_some_and(|last| last.elapsed() <= idle_for)
}
