//! Ends the process some seconds after it should have ended, whatever holds it up.
//!
//! A disk that hangs, or work that never yields its thread, can hold up everything that an orderly stop waits for. Commits of the
//! database are kept.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::signals::Signals;

/// Time after the drain in which the process ends by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Waits for the first signal in a thread of its own.
pub(super) fn start(drain: Duration) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let waiting = async move {
        let Ok(mut signals) = Signals::new() else { return };
        signals.next().await;
        sleep(drain + GRACE).await;
        eprintln!(
            "the service did not stop within {} s after its drain timeout: it is ended",
            GRACE.as_secs()
        );
        std::process::exit(1);
    };
    std::thread::Builder::new()
        .name("last-resort".into())
        .spawn(move || runtime.block_on(waiting))
        .context("a thread cannot be started")?;
    Ok(())
}
