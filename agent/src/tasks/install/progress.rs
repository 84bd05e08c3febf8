//! Reports stages to the service: every stage, in order, each with its latest information and repeated until it is accepted.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::host::HostStage;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing::{info, warn};

use crate::client::Failure;

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
    stage: HostStage,
    info: String,
}

/// The reports of one installation. Dropping it ends them.
pub struct Reporter {
    /// One report of each stage, numbered upwards.
    reports: watch::Sender<Vec<Report>>,
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
        let (reports, receiver) = watch::channel(Vec::new());
        let (sender, taken) = watch::channel(0);
        let task = tokio::spawn(report(send, receiver, sender)).abort_handle();
        Self { reports, taken, task }
    }

    /// Sends this report as soon as possible: after reports of earlier stages, and instead of a waiting one of the same stage.
    pub fn tell(&self, stage: HostStage, info: impl Into<String>) {
        let info = info.into();
        info!(stage = stage.name(), info, "installation");
        self.reports.send_modify(|reports| {
            let number = last_number(reports) + 1;
            reports.pop_if(|last| last.stage == stage);
            reports.push(Report { number, stage, info });
        });
    }

    /// Waits until the service has the last report. False if it does not have it within `at_most`.
    pub async fn told(&self, at_most: Duration) -> bool {
        let number = last_number(&self.reports.borrow());
        let mut taken = self.taken.clone();
        let waiting = taken.wait_for(|taken| *taken >= number);
        tokio::time::timeout(at_most, waiting)
            .await
            .is_ok_and(|taken| taken.is_ok())
    }
}

async fn report(send: Send, mut reports: watch::Receiver<Vec<Report>>, taken: watch::Sender<u64>) {
    while reports.changed().await.is_ok() {
        let mut pause = FIRST_PAUSE;
        while let Some(Report { number, stage, info }) = next(&mut reports, &taken) {
            match send(stage, info).await {
                Ok(()) => {
                    taken.send_replace(number);
                    pause = FIRST_PAUSE;
                    continue;
                }
                // The service has newer data (a stage that has passed, a host that was deleted).
                Err(failure @ Failure::Status(400..=499, _)) if !passing(&failure) => {
                    warn!(stage = stage.name(), "report refused: {}", failure.text());
                    taken.send_replace(number);
                    continue;
                }
                Err(failure) => warn!(stage = stage.name(), "report lost: {}", failure.text()),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = reports.changed() => if changed.is_err() { return },
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// 0 before the first report.
fn last_number(reports: &[Report]) -> u64 {
    reports.last().map_or(0, |last| last.number)
}

/// The first report that is not yet accepted.
fn next(reports: &mut watch::Receiver<Vec<Report>>, taken: &watch::Sender<u64>) -> Option<Report> {
    let (reports, taken) = (reports.borrow_and_update(), *taken.borrow());
    reports.iter().find(|report| report.number > taken).cloned()
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
    async fn every_stage_is_told_in_order_and_a_lost_report_is_repeated_with_what_is_known_by_then() {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let answers = Arc::new(Mutex::new(vec![200, 503, 503, 503, 200, 200, 409]));
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
        let whole = Duration::from_secs(60);
        // Both are reported, although the first is not yet on its way when the second comes.
        reporter.tell(HostStage::StartingInstallation, "worker");
        reporter.tell(HostStage::Installing, "worker");
        assert!(!reporter.told(Duration::from_millis(700)).await);
        reporter.tell(HostStage::WritingImageToDisk, "5%");
        reporter.tell(HostStage::WritingImageToDisk, "10%");
        assert!(reporter.told(whole).await);
        // A refused report is not repeated.
        reporter.tell(HostStage::Rebooting, "");
        assert!(reporter.told(whole).await);
        let mut expected = vec!["Starting installation worker"];
        expected.extend(["Installing worker"; 4]);
        expected.extend(["Writing image to disk 10%", "Rebooting "]);
        assert_eq!(*seen.lock().unwrap(), expected);
    }
}
