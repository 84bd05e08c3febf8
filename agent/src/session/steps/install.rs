//! `install` and `stop-installation`. This agent cannot write disks yet and refuses, so there is nothing to
//! stop either.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use muster_api::steps::InstallRequest;

use super::{Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};
use crate::config::OWN_VERSION;

pub struct Install;

impl StepHandler for Install {
    fn step_type(&self) -> StepType {
        StepType::Install
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        reply(running, async move {
            let request: InstallRequest = one_argument(StepType::Install, &args)?;
            Err(StepError(format!(
                "muster-agent {OWN_VERSION} cannot install yet; {} was not touched. Cancel the installation, and boot this host \
                 from a discovery image whose agent installs",
                if request.boot_device.is_empty() {
                    "the disk"
                } else {
                    &request.boot_device
                },
            )))
        })
    }
}

pub struct StopInstallation;

impl StepHandler for StopInstallation {
    fn step_type(&self) -> StepType {
        StepType::StopInstallation
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        reply(running, async move {
            if !args.is_empty() {
                return Err(StepError(format!(
                    "stop-installation takes no arguments, not {}",
                    args.len()
                )));
            }
            tracing::info!("no installation runs that could be stopped");
            Ok(StepOutput::good(String::new()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_installation_is_refused_and_stopping_one_is_fine() {
        let request = vec![r#"{"boot_device":"/dev/sda","role":"worker"}"#.to_owned()];
        let reply = Install.run(request, Arc::new(Running)).await;
        assert_eq!(reply.exit_code, -1);
        assert!(
            reply.error.contains("/dev/sda was not touched"),
            "{}",
            reply.error
        );
        assert_eq!(
            StopInstallation.run(Vec::new(), Arc::new(Running)).await,
            StepOutput::good(String::new())
        );
        let reply = StopInstallation.run(vec!["x".into()], Arc::new(Running)).await;
        assert_eq!(reply.exit_code, -1);
    }
}
