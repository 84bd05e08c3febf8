//! `install` and `stop-installation`. Source: docs/protocol/install-flow.md#2 and #11.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::host::HostStage;
use muster_api::steps::InstallRequest;
use tracing::{error, info, warn};

use crate::erase::erasures::Erasures;
use crate::host::restart::Way;
use crate::install::boot::efi::Variables;
use crate::install::control::Control;
use crate::install::coreos_installer;
use crate::install::error::InstallError;
use crate::install::progress::Reporter;
use crate::install::request::Plan;
use crate::install::retry::Patience;
use crate::install::sequence::{Ending, Installation};
use crate::install::tools::Tools;
use crate::step::{Dependencies, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply};

/// Longest duration of everything; each part has a limit of its own.
const DEADLINE: Duration = Duration::from_secs(10 * 60 * 60);
/// Longest wait until the service has the reason for which the installation failed.
const LAST_REPORT: Duration = Duration::from_secs(60);
/// Time for the reply to be sent.
const REPLY_FIRST: Duration = Duration::from_secs(3);
/// Longest wait for an installation, or an erasure, that is stopped.
const STOPPING: Duration = Duration::from_secs(60);
const EXIT_FAILED: i64 = 1;
/// The exit code of a program that SIGTERM ended.
const EXIT_STOPPED: i64 = 143;

/// Restarts the machine.
pub type Restart = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A second step while one runs gets no reply: the first one will reply.
pub struct Install {
    tools: Tools,
    control: Arc<Control>,
    restart: Restart,
    /// An erasure of disks ends before an installation begins.
    erasures: Option<Arc<Erasures>>,
}

impl Install {
    pub fn new(tools: Tools, control: Arc<Control>, restart: Restart) -> Self {
        Self {
            tools,
            control,
            restart,
            erasures: None,
        }
    }

    /// Stops an erasure that runs before it installs.
    #[must_use]
    pub fn after(self, erasures: Arc<Erasures>) -> Self {
        Self {
            erasures: Some(erasures),
            ..self
        }
    }

    /// Installs on this machine, and restarts it.
    pub fn of_machine(dependencies: &Dependencies, control: Arc<Control>) -> Self {
        let tools = Tools {
            client: dependencies.client.clone(),
            settings: Arc::clone(&dependencies.settings),
            names: dependencies.names.clone(),
            devices: dependencies.devices.clone(),
            patience: Patience::default(),
            firmware: Variables::of_machine(),
            sets_clock: true,
            coreos_installer: coreos_installer::program(),
        };
        let restart = || {
            let way = Way::of_machine().map_err(|error| error.to_string())?;
            way.go().map_err(|error| error.to_string())
        };
        Self::new(tools, control, Arc::new(restart))
    }
}

impl StepHandler for Install {
    fn step_type(&self) -> StepType {
        StepType::Install
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (tools, control, restart) = (
            self.tools.clone(),
            Arc::clone(&self.control),
            Arc::clone(&self.restart),
        );
        let (in_parts, erasures) = (Arc::clone(&running), self.erasures.clone());
        reply(running, async move {
            let request: InstallRequest = one_argument(StepType::Install, &args)?;
            let plan = Plan::of(request).map_err(|reason| StepError::of(StepType::Install, reason))?;
            if let Some(erasures) = erasures
                && !erasures.stop(STOPPING).await
            {
                return Err(StepError::of(
                    StepType::Install,
                    "a disk of this machine erases itself, which cannot be stopped; install when that is over",
                ));
            }
            Ok(install(tools, plan, &control, restart, in_parts).await)
        })
    }
}

async fn install(
    tools: Tools,
    plan: Plan,
    control: &Control,
    restart: Restart,
    running: Arc<Running>,
) -> StepOutput {
    let run = control.begin();
    let client = tools.client.clone();
    let (infra_env, host) = (plan.infra_env, plan.host);
    let reporter = Reporter::start(Arc::new(move |stage, info| {
        let client = client.clone();
        async move { client.progress(infra_env, host, stage, info).await }.boxed()
    }));
    let installation = Installation {
        tools: &tools,
        plan: &plan,
        reporter: &reporter,
        stop: &run.stop,
        running: Arc::clone(&running),
    };
    match installation.run().await {
        Ok(Ending::Restart) => {
            // Held until the end of this system: no other installation begins.
            tokio::spawn(async move {
                let (_running, _run) = (running, run);
                tokio::time::sleep(REPLY_FIRST).await;
                match restart() {
                    Ok(()) => std::future::pending().await,
                    Err(reason) => {
                        error!("installed, and the machine cannot be restarted: {reason}");
                        let info = format!("restart this machine, which its agent cannot: {reason}");
                        reporter.tell(HostStage::Rebooting, info);
                        reporter.told(LAST_REPORT).await;
                    }
                }
            });
            StepOutput::good(String::new())
        }
        Ok(Ending::LeaveToIronic) => StepOutput::good(String::new()),
        Err(InstallError::Stopped) => {
            info!("the installation was stopped");
            StepOutput::failed(InstallError::Stopped.to_string())
                .ending(EXIT_STOPPED, "the installation was stopped")
        }
        Err(error) => {
            let reason = error.to_string();
            warn!("the installation failed: {reason}");
            reporter.tell(HostStage::Failed, reason.clone());
            reporter.told(LAST_REPORT).await;
            StepOutput::failed(reason.clone()).ending(EXIT_FAILED, reason)
        }
    }
}

/// Ends the running installation.
pub struct StopInstallation {
    control: Arc<Control>,
}

impl StopInstallation {
    pub fn new(control: Arc<Control>) -> Self {
        Self { control }
    }
}

impl StepHandler for StopInstallation {
    fn step_type(&self) -> StepType {
        StepType::StopInstallation
    }

    fn deadline(&self) -> Duration {
        STOPPING + Duration::from_secs(10)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let control = Arc::clone(&self.control);
        reply(running, async move {
            if !args.is_empty() {
                return Err(StepError(format!(
                    "stop-installation takes no arguments, not {}",
                    args.len()
                )));
            }
            match control.stop(STOPPING).await {
                None => info!("no installation runs that could be stopped"),
                Some(true) => info!("the installation has ended"),
                Some(false) => {
                    return Err(StepError(format!(
                        "the installation did not end within {} s; the disk may not answer",
                        STOPPING.as_secs()
                    )));
                }
            }
            Ok(StepOutput::good(String::new()))
        })
    }
}
