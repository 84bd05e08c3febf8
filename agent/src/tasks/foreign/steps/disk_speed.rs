//! `installation-disk-speed-check`: measures the duration of synchronous writes. Arguments:
//! [`DiskSpeedCheckRequest`], and the time limit in seconds, as text. Source:
//! docs/protocol/agent-protocol.md#6; differences: [`crate::foreign::disk_speed`].

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::{DiskSpeedCheckRequest, DiskSpeedCheckResponse};

use crate::foreign::disk_speed::{self, Outcome, SpeedError, Stop};
use crate::net::http::causes;
use crate::step::{
    EXIT_DEADLINE, EXIT_INTERNAL, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply,
};

const NAME: StepType = StepType::InstallationDiskSpeedCheck;
/// The default limit.
const USUAL: Duration = Duration::from_secs(480);
const LONGEST: Duration = Duration::from_secs(3600);
/// Time beyond the given limit, so that the step itself replies: with the path, which the service reads also from
/// a failure.
const GRACE: Duration = Duration::from_secs(5);

pub struct DiskSpeedCheck;

impl StepHandler for DiskSpeedCheck {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        USUAL + GRACE
    }

    fn deadline_for(&self, args: &[String]) -> Duration {
        limit(args).unwrap_or(USUAL) + GRACE
    }

    fn when_running(&self, _args: &[String]) -> Option<StepOutput> {
        Some(StepOutput::good(String::new()))
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let in_thread = Arc::clone(&running);
        reply(running, async move {
            let (request, limit) = (request(&args)?, limit(&args)?);
            let answer = DiskSpeedCheckResponse {
                path: request.path.clone(),
                io_sync_duration: 0,
            };
            // Dropped with this future, so that a cancelled step stops writing.
            let stop = StopWhenDropped(Stop::default());
            let stop_check = stop.0.clone();
            let checking = tokio::task::spawn_blocking(move || {
                let _running = in_thread;
                disk_speed::check(&request.path, limit, &stop_check)
            });
            Ok(match tokio::time::timeout(limit, checking).await {
                Ok(Ok(outcome)) => report(answer, outcome),
                Ok(Err(error)) => StepOutput::json(&answer).ending(EXIT_INTERNAL, error.to_string()),
                Err(_) => StepOutput::json(&answer).ending(
                    EXIT_DEADLINE,
                    format!("{} did not answer within {} s", answer.path, limit.as_secs_f32()),
                ),
            })
        })
    }
}

struct StopWhenDropped(Stop);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.now();
    }
}

fn report(mut answer: DiskSpeedCheckResponse, outcome: Result<Outcome, SpeedError>) -> StepOutput {
    match outcome {
        Ok(Outcome::Measured { p99, writes }) => {
            tracing::info!(
                disk = answer.path,
                p99_us = p99.as_micros(),
                writes,
                "disk speed measured"
            );
            answer.io_sync_duration = i64::try_from(p99.as_millis()).unwrap_or(i64::MAX);
            StepOutput::json(&answer)
        }
        Ok(Outcome::NotMeasured(reason)) => {
            tracing::warn!(
                disk = answer.path,
                "disk speed not measured, nothing was written: {reason}"
            );
            StepOutput::json(&answer)
        }
        Err(error) => {
            let code = match error {
                SpeedError::TooFew { .. } => EXIT_DEADLINE,
                _ => EXIT_INTERNAL,
            };
            StepOutput::json(&answer).ending(code, causes(&error))
        }
    }
}

fn request(args: &[String]) -> Result<DiskSpeedCheckRequest, StepError> {
    let request: DiskSpeedCheckRequest = one_argument(NAME, &args[..args.len().min(1)])?;
    if request.path.is_empty() {
        return Err(StepError::of(NAME, "the path of a disk is missing"));
    }
    Ok(request)
}

fn limit(args: &[String]) -> Result<Duration, StepError> {
    match args {
        [_] => Ok(USUAL),
        [_, text] => match text.trim().parse::<f64>() {
            Ok(seconds) if seconds > 0.0 && seconds.is_finite() => {
                Ok(Duration::from_secs_f64(seconds.min(LONGEST.as_secs_f64())))
            }
            _ => Err(StepError::of(NAME, format!("`{text}` is no time in seconds"))),
        },
        _ => {
            let (name, number) = (NAME.name(), args.len());
            Err(StepError(format!("{name} takes two arguments, not {number}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(args: &[&str]) -> StepOutput {
        let args = args.iter().map(|text| (*text).to_owned()).collect();
        DiskSpeedCheck.run(args, Arc::new(Running)).await
    }

    #[tokio::test]
    async fn wrong_arguments_are_refused() {
        for args in [
            &[][..],
            &["x", "480.00"],
            &["{}", "480.00"],
            &[r#"{"path":"/dev/sda"}"#, "soon"],
            &[r#"{"path":"/dev/sda"}"#, "-1"],
            &[r#"{"path":"/dev/sda"}"#, "1", "2"],
        ] {
            let reply = run(args).await;
            assert_eq!(reply.exit_code, EXIT_INTERNAL, "{args:?}");
            assert!(reply.error.contains(NAME.name()), "{}", reply.error);
        }
    }

    #[tokio::test]
    async fn a_failure_names_the_disk_in_json_for_the_service_reads_it() {
        let reply = run(&[r#"{"path":"/dev/no-such-disk"}"#, "10.00"]).await;
        assert_eq!(reply.exit_code, EXIT_INTERNAL);
        assert_eq!(reply.output, r#"{"path":"/dev/no-such-disk"}"#);
        assert!(reply.error.contains("no disk of this host"), "{}", reply.error);
    }

    #[test]
    fn an_outcome_becomes_milliseconds_or_their_absence() {
        let answer = || DiskSpeedCheckResponse {
            path: "/dev/sda".into(),
            io_sync_duration: 0,
        };
        let p99 = Duration::from_micros(12_900);
        let measured = report(answer(), Ok(Outcome::Measured { p99, writes: 20_000 }));
        assert_eq!(
            measured,
            StepOutput::good(r#"{"path":"/dev/sda","io_sync_duration":12}"#.to_owned())
        );
        let not = report(answer(), Ok(Outcome::NotMeasured("it is mounted".into())));
        assert_eq!(not, StepOutput::good(r#"{"path":"/dev/sda"}"#.to_owned()));
    }

    #[test]
    fn the_deadline_is_the_second_argument() {
        let args = |time: &str| vec!["{}".to_owned(), time.to_owned()];
        assert_eq!(
            DiskSpeedCheck.deadline_for(&args("480.00")),
            Duration::from_secs(485)
        );
        assert_eq!(
            DiskSpeedCheck.deadline_for(&args("7.50")),
            Duration::from_millis(12_500)
        );
        assert_eq!(DiskSpeedCheck.deadline_for(&args("1e300")), LONGEST + GRACE);
    }
}
