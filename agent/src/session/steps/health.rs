//! `health`: measures the machine at most once a minute, and answers with the report before while nothing has changed beyond the
//! hysteresis. An equal answer is not sent again (`session/replies`), so a machine at rest sends none. While disks are erased or written,
//! nothing is measured.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{HealthReport, HealthRequest};
use tokio::time::Instant;

use crate::health::{measure, settled};
use crate::root::Root;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

const NAME: StepType = StepType::Health;
/// Least time between two measurements.
const LEAST: Duration = Duration::from_secs(60);

/// True while disks are erased or written: their controllers get no further commands.
pub type IsBusy = Box<dyn Fn() -> bool + Send + Sync>;

/// Measures on a thread of its own: disks may block.
pub struct HealthStep {
    root: fn() -> Root,
    is_busy: IsBusy,
    last: Arc<Mutex<Option<Last>>>,
}

/// The last measurement.
struct Last {
    at: Instant,
    /// The report that stands.
    report: HealthReport,
    /// Time from which on it stands.
    since: Instant,
}

impl HealthStep {
    /// Of this machine.
    pub fn new(is_busy: IsBusy) -> Self {
        Self::of(Root::live, is_busy)
    }

    fn of(root: fn() -> Root, is_busy: IsBusy) -> Self {
        Self {
            root,
            is_busy,
            last: Arc::default(),
        }
    }
}

impl StepHandler for HealthStep {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (last, root, is_busy) = (Arc::clone(&self.last), self.root, (self.is_busy)());
        let in_thread = Arc::clone(&running);
        reply(running, async move {
            let request: HealthRequest = one_argument(NAME, &args)?;
            let interval = LEAST.max(Duration::from_secs(request.interval_seconds.into()));
            if let Some(report) = recent(&last, interval) {
                return Ok(StepOutput::json(&report));
            }
            let before = standing(&last);
            if is_busy {
                let busy = || StepError::of(NAME, "disks are erased or written: it is measured afterwards");
                return before.map(|report| StepOutput::json(&report)).ok_or_else(busy);
            }
            let measured = tokio::task::spawn_blocking(move || {
                let _running = in_thread;
                measure(&root(), before.as_ref())
            });
            let measured = measured
                .await
                .map_err(|error| StepError::of(NAME, format!("the measurement broke: {error}")))?;
            Ok(StepOutput::json(&keep(&last, measured)))
        })
    }
}

/// The report of the last measurement, if that is younger than `interval`.
fn recent(last: &Mutex<Option<Last>>, interval: Duration) -> Option<HealthReport> {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let young = last.as_ref().filter(|last| last.at.elapsed() < interval);
    young.map(|last| last.report.clone())
}

/// The report that stands.
fn standing(last: &Mutex<Option<Last>>) -> Option<HealthReport> {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().map(|last| last.report.clone())
}

/// Stores a measurement; returns the report that stands from now on.
fn keep(last: &Mutex<Option<Last>>, measured: HealthReport) -> HealthReport {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let since = last.as_ref().map_or(now, |last| last.since);
    let before = last.as_ref().map(|last| &last.report);
    let report = settled(before, now.duration_since(since), measured);
    let stands = before == Some(&report);
    *last = Some(Last {
        at: now,
        report: report.clone(),
        since: if stands { since } else { now },
    });
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::QUIET;

    fn loaded(load_percent: u32) -> HealthReport {
        HealthReport {
            load_percent,
            ..HealthReport::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_is_measured_once_a_minute_and_small_changes_are_no_report() {
        let last = Mutex::new(None);
        assert_eq!(recent(&last, LEAST), None);
        assert_eq!(keep(&last, loaded(10)), loaded(10));
        tokio::time::advance(LEAST - Duration::from_secs(1)).await;
        assert_eq!(recent(&last, LEAST), Some(loaded(10)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(recent(&last, LEAST), None);
        assert_eq!(keep(&last, loaded(30)), loaded(10), "not beyond the hysteresis");
        assert_eq!(keep(&last, loaded(70)), loaded(10), "not urgent, and too early");
        tokio::time::advance(QUIET).await;
        assert_eq!(keep(&last, loaded(70)), loaded(70));
        assert_eq!(recent(&last, LEAST), Some(loaded(70)));
        assert_eq!(keep(&last, loaded(10)), loaded(70), "the next is too early again");
    }

    #[tokio::test(start_paused = true)]
    async fn while_disks_are_erased_or_written_the_report_before_stands() {
        fn nothing_is_read() -> Root {
            panic!("a busy machine is measured")
        }
        let step = HealthStep::of(nothing_is_read, Box::new(|| true));
        let args = || vec![r#"{"interval_seconds":60}"#.to_owned()];
        let reply = step.run(args(), Arc::new(Running)).await;
        assert_eq!(reply.exit_code, -1);
        assert!(reply.error.contains("measured afterwards"), "{}", reply.error);
        keep(&step.last, loaded(10));
        tokio::time::advance(LEAST).await;
        let reply = step.run(args(), Arc::new(Running)).await;
        assert_eq!(reply, StepOutput::json(&loaded(10)));
    }

    #[tokio::test]
    async fn a_request_is_answered_with_a_report_and_a_wrong_one_refused() {
        // A tree that is gone again: nothing of this machine is read.
        let step = HealthStep::of(
            || Root::tree(tempfile::tempdir().unwrap().path()).unwrap(),
            Box::new(|| false),
        );
        let reply = step
            .run(vec![r#"{"interval_seconds":60}"#.to_owned()], Arc::new(Running))
            .await;
        assert_eq!(reply.exit_code, 0, "{reply:?}");
        serde_json::from_str::<HealthReport>(&reply.output).unwrap();
        for args in [vec![], vec!["{}".to_owned()], vec!["7".to_owned()]] {
            let reply = step.run(args, Arc::new(Running)).await;
            assert_eq!(reply.exit_code, -1);
            assert!(reply.error.contains("health"), "{}", reply.error);
        }
    }
}
