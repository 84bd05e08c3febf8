//! `install` and `stop-installation`. This agent writes no disk yet, and says so; so there is nothing to stop either.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::steps::InstallRequest;

use super::{Running, StepHandler, StepOutput, StepType, one_argument};
use crate::config::OWN_VERSION;

/// Refuses to install.
pub struct Install;

impl StepHandler for Install {
    fn step_type(&self) -> StepType {
        "install"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn run(&self, args: Vec<String>, _running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            let request: InstallRequest = match one_argument("install", &args) {
                Ok(request) => request,
                Err(error) => return StepOutput::failed(error),
            };
            StepOutput::failed(format!(
                "muster-agent {OWN_VERSION} cannot install yet; {} was not touched. Cancel the installation, and boot this host \
                 from a discovery image whose agent installs",
                if request.boot_device.is_empty() { "the disk" } else { &request.boot_device },
            ))
        }
        .boxed()
    }
}

/// Succeeds: nothing is being installed.
pub struct StopInstallation;

impl StepHandler for StopInstallation {
    fn step_type(&self) -> StepType {
        "stop-installation"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn run(&self, args: Vec<String>, _running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            if !args.is_empty() {
                return StepOutput::failed(format!(
                    "stop-installation takes no arguments, not {}",
                    args.len()
                ));
            }
            tracing::info!("told to stop an installation: none runs");
            StepOutput::good(String::new())
        }
        .boxed()
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
