//! Waits for requests about many hosts, whose plan takes its time.

use std::io::IsTerminal;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// The longest time that the service may be silent: it reads each host of a plan, and waits for the turn of the plan before.
pub const SILENCE: Duration = Duration::from_secs(900);

/// Interval between two lines of progress.
const LOOK: Duration = Duration::from_secs(1);

/// The result of `work`. At a terminal the time since its beginning is shown, after a second.
pub async fn shown<T>(what: &str, work: impl Future<Output = T>) -> T {
    let is_terminal = std::io::stderr().is_terminal();
    let begun = Instant::now();
    let mut work = pin!(work);
    let mut is_shown = false;
    loop {
        tokio::select! {
            done = &mut work => {
                if is_shown {
                    eprint!("\r\x1b[K");
                }
                return done;
            }
            () = sleep(LOOK), if is_terminal => {
                eprint!("\r{}\x1b[K", progress(what, begun.elapsed()));
                is_shown = true;
            }
        }
    }
}

fn progress(what: &str, time: Duration) -> String {
    format!("{what}: {} s", time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_result_is_that_of_the_work() {
        assert_eq!(shown("the plan is made", async { 7 }).await, 7);
        let time = Duration::from_millis(61_900);
        assert_eq!(progress("the plan is made", time), "the plan is made: 61 s");
    }
}
