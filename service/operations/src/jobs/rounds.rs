//! Records when each job began its last round, to detect jobs that hang.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest round of a healthy job. A crowd of hosts that is lost at once takes a while to be written.
const LONGEST: Duration = Duration::from_secs(300);

/// The begin of the last round of each job.
#[derive(Debug, Default)]
pub struct Rounds(Mutex<BTreeMap<&'static str, Instant>>);

impl Rounds {
    fn begun(&self) -> MutexGuard<'_, BTreeMap<&'static str, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the job begins a round. It begins another at least every 30 s unless it hangs.
    pub fn begin(&self, job: &'static str) {
        self.begun().insert(job, Instant::now());
    }

    /// Time since each job began its last round.
    pub fn ages(&self) -> Vec<(&'static str, Duration)> {
        let begun = self.begun();
        begun.iter().map(|(job, at)| (*job, at.elapsed())).collect()
    }

    /// `ok`, or the jobs that hang.
    pub fn describe(&self) -> String {
        describe(&self.ages())
    }
}

fn describe(ages: &[(&'static str, Duration)]) -> String {
    let late = ages.iter().filter(|(_, age)| *age > LONGEST);
    let texts: Vec<String> = late
        .map(|(job, age)| format!("{job} have not come round for {} s", age.as_secs()))
        .collect();
    if texts.is_empty() {
        return "ok".into();
    }
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_hangs_is_named() {
        let ages = |outbox| {
            [
                ("deadlines", Duration::from_secs(3)),
                ("changes", Duration::from_secs(outbox)),
            ]
        };
        assert_eq!(describe(&ages(300)), "ok");
        assert_eq!(describe(&ages(301)), "changes have not come round for 301 s");
        assert_eq!(Rounds::default().describe(), "ok");
    }
}
