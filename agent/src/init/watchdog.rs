//! Feeds the machine's watchdog as long as the agent lives: a machine that hangs is restarted by it. Source:
//! Documentation/watchdog/watchdog-api.rst.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{info, warn};

/// The first of the machine's watchdogs.
const DEVICE: &str = "/dev/watchdog0";
/// `_IOWR('W', 6, int)`
const SET_TIMEOUT: libc::c_ulong = 0xc004_5706;
/// Seconds without feeding after which the machine is reset. Not every watchdog can wait longer.
const TIMEOUT: i32 = 60;
const FEED_INTERVAL: Duration = Duration::from_secs(10);
/// Time without a sign of the agent's parts after which the watchdog is not fed any more. Far longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// Counts signs of life.
static ALIVE: AtomicU64 = AtomicU64::new(0);
/// The open watchdog.
static OPEN: Mutex<Option<File>> = Mutex::new(None);

/// Counts a sign that the agent's parts run.
pub fn alive() {
    ALIVE.fetch_add(1, Ordering::Relaxed);
}

/// Starts the thread that feeds the watchdog, if there is one.
pub fn start() {
    let thread = std::thread::Builder::new()
        .name("watchdog".to_owned())
        .stack_size(128 << 10)
        .spawn(|| {
            let mut patience = Patience::new(Instant::now());
            loop {
                if patience.is_alive(ALIVE.load(Ordering::Relaxed), Instant::now()) {
                    feed();
                } else {
                    warn!("the agent does not go on: its watchdog gets no more and resets the machine");
                }
                std::thread::sleep(FEED_INTERVAL);
            }
        });
    if let Err(error) = thread {
        warn!("the watchdog is not fed: {error}");
    }
}

/// Stops the watchdog, for the end of the machine: firmware and the next system take their time.
pub fn stop() {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mut file) = open.take() {
        // The "magic close".
        if let Err(error) = file.write_all(b"V") {
            warn!("the watchdog is not stopped: {error}");
        }
    }
}

fn feed() {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.is_none() && Path::new(DEVICE).exists() {
        match armed() {
            Ok(file) => *open = Some(file),
            Err(error) => warn!(device = DEVICE, "no watchdog: {error}"),
        }
    }
    if let Some(file) = open.as_mut()
        && let Err(error) = file.write_all(b"\n")
    {
        warn!("the watchdog is not fed: {error}");
    }
}

/// Opens the watchdog, which starts its timer.
#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn armed() -> io::Result<File> {
    let file = OpenOptions::new().write(true).open(DEVICE)?;
    let mut timeout = TIMEOUT;
    // SAFETY: the kernel reads and writes one int, which outlives the call.
    let set = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            SET_TIMEOUT as _,
            std::ptr::from_mut(&mut timeout),
        )
    };
    let name = std::fs::read_to_string("/sys/class/watchdog/watchdog0/identity").unwrap_or_default();
    if set < 0 {
        info!(
            watchdog = name.trim(),
            "armed with a time of its own: {}",
            io::Error::last_os_error()
        );
    } else {
        info!(watchdog = name.trim(), seconds = timeout, "armed");
    }
    Ok(file)
}

/// Detects that no more signs come.
struct Patience {
    signs: u64,
    since: Instant,
}

impl Patience {
    fn new(now: Instant) -> Self {
        Self { signs: 0, since: now }
    }

    fn is_alive(&mut self, signs: u64, now: Instant) -> bool {
        if signs != self.signs {
            self.signs = signs;
            self.since = now;
        }
        now.duration_since(self.since) < PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_stands_still_gets_its_time_and_no_more() {
        let start = Instant::now();
        let mut patience = Patience::new(start);
        assert!(patience.is_alive(0, start + PATIENCE / 2), "it may still start");
        assert!(!patience.is_alive(0, start + PATIENCE));
        assert!(patience.is_alive(1, start + PATIENCE * 2), "it goes on");
        assert!(!patience.is_alive(1, start + PATIENCE * 3));
    }
}
