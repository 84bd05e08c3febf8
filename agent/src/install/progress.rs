//! Reports stages to the service: the latest one, repeated until it is taken, and never an older one after it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::host::HostStage;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing::{info, warn};

use crate::session::machine::Failure;

/// Sends one report to the service.
pub type Send =
    Arc<dyn Fn(HostStage, String) -> BoxFuture<'static, Result<(), Failure>> + std::marker::Send + Sync>;

/// First pause after a failed report; doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Points of progress between two reports. Source: docs/protocol/install-flow.md#6.
const STEP: u8 = 5;

#[derive(Debug, Clone)]
struct Report {
    number: u64,
    stage: Option<HostStage>,
    info: String,
}

/// The reports of one installation. Dropping it ends them.
pub struct Reporter {
    latest: watch::Sender<Report>,
    taken: watch::Receiver<u64>,
    task: AbortHandle,
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Reporter {
    pub fn start(send: Send) -> Self {
        let (latest, receiver) = watch::channel(Report {
            number: 0,
            stage: None,
            info: String::new(),
        });
        let (sender, taken) = watch::channel(0);
        let task = tokio::spawn(report(send, receiver, sender)).abort_handle();
        Self { latest, taken, task }
    }

    /// Sends this report as soon as possible, instead of those that wait.
    pub fn tell(&self, stage: HostStage, info: impl Into<String>) {
        let info = info.into();
        info!(stage = stage.name(), info, "installation");
        self.latest.send_modify(|report| {
            report.number += 1;
            report.stage = Some(stage);
            report.info = info;
        });
    }

    /// Waits until the service has the last report. False when it has not within `at_most`.
    pub async fn told(&self, at_most: Duration) -> bool {
        let number = self.latest.borrow().number;
        let mut taken = self.taken.clone();
        let waiting = taken.wait_for(|taken| *taken >= number);
        tokio::time::timeout(at_most, waiting)
            .await
            .is_ok_and(|taken| taken.is_ok())
    }
}

async fn report(send: Send, mut latest: watch::Receiver<Report>, taken: watch::Sender<u64>) {
    while latest.changed().await.is_ok() {
        let mut pause = FIRST_PAUSE;
        loop {
            let Report { number, stage, info } = latest.borrow_and_update().clone();
            let Some(stage) = stage else { break };
            match send(stage, info).await {
                Ok(()) => {
                    taken.send_replace(number);
                    break;
                }
                // The service knows better (a stage that it has passed, a host that it has forgotten).
                Err(failure @ Failure::Status(400..=499, _)) if !passing(&failure) => {
                    warn!(stage = stage.name(), "report refused: {}", failure.text());
                    taken.send_replace(number);
                    break;
                }
                Err(failure) => warn!(stage = stage.name(), "report lost: {}", failure.text()),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = latest.changed() => if changed.is_err() { return },
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

fn passing(failure: &Failure) -> bool {
    matches!(failure, Failure::Status(408 | 423 | 425 | 429, _))
}

/// Percentages that are worth a report.
#[derive(Debug, Default)]
pub struct Percent {
    reported: u8,
}

impl Percent {
    /// The text to report at `part` of `whole`, if it is far enough above the last one.
    pub fn worth(&mut self, part: u64, whole: u64) -> Option<String> {
        if whole == 0 {
            return None;
        }
        let percent = u8::try_from(u128::from(part.min(whole)) * 100 / u128::from(whole)).unwrap_or(100);
        let worth = percent >= self.reported.saturating_add(STEP) || (percent == 100 && self.reported < 100);
        worth.then(|| {
            self.reported = percent;
            format!("{percent}%")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn every_fifth_point_is_reported_once_and_the_last_one() {
        let mut percent = Percent::default();
        let told: Vec<String> = (0..=1000).filter_map(|part| percent.worth(part, 1000)).collect();
        assert_eq!(told.len(), 20);
        assert_eq!((told[0].as_str(), told[19].as_str()), ("5%", "100%"));
        assert_eq!(percent.worth(1000, 1000), None);
        assert_eq!(Percent::default().worth(1, 0), None);
        let mut percent = Percent::default();
        assert_eq!(percent.worth(97, 100).as_deref(), Some("97%"));
        assert_eq!(percent.worth(100, 100).as_deref(), Some("100%"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_report_is_repeated_until_a_newer_one_takes_its_place() {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let answers = Arc::new(Mutex::new(vec![503, 503, 503, 200, 409]));
        let (log, queue) = (Arc::clone(&seen), Arc::clone(&answers));
        let reporter = Reporter::start(Arc::new(move |stage, info| {
            log.lock().unwrap().push(format!("{} {info}", stage.name()));
            let code = queue.lock().unwrap().remove(0);
            async move {
                match code {
                    200 => Ok(()),
                    code => Err(Failure::Status(code, String::new())),
                }
            }
            .boxed()
        }));
        reporter.tell(HostStage::Installing, "worker");
        assert!(!reporter.told(Duration::from_millis(700)).await);
        reporter.tell(HostStage::WritingImageToDisk, "5%");
        assert!(reporter.told(Duration::from_secs(60)).await);
        // A refused report is not repeated.
        reporter.tell(HostStage::Installing, "late");
        assert!(reporter.told(Duration::from_secs(60)).await);
        let seen = seen.lock().unwrap().clone();
        assert_eq!(seen[0], "Installing worker");
        assert_eq!(seen[3..], ["Writing image to disk 5%", "Installing late"]);
    }
}
