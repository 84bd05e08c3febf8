//! Runs an installation from the first check to the report that the host restarts. Source: docs/protocol/install-flow.md#2.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muster_api::host::HostStage;
use muster_api::steps::{ImageConfiguration, Seed};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::boot::config::{self, BootConfig};
use super::boot::esp::Among;
use super::boot::firmware;
use super::coreos_installer;
use super::disk::choose::{self, Chosen};
use super::disk::wipe;
use super::error::{InstallError, Step, refuse};
use super::image::source::Source;
use super::progress::Reporter;
use super::request::{Image, Plan, Role};
use super::tools::Tools;
use super::waiting;
use super::writing::{FirstBoot, Writing};
use super::{ignition, seed};
use crate::client::Failure;
use crate::gpt::Table;
use crate::inventory;
use crate::logs::Redactor;
use crate::logs::upload::{self, Destination};
use crate::root::Root;
use crate::step::Running;
use crate::time::{clock, rtc};

/// Longest wait for the disks of power-on.
const SETTLING: Duration = Duration::from_secs(10);
/// Longest wait for the service to accept the last report. The disk is whole: the host joins without it, too.
const LAST_REPORT: Duration = Duration::from_secs(30 * 60);
/// Longest wait for another disk than the chosen one.
const FORMATTING: Duration = Duration::from_secs(60);
/// Longest wait for the firmware and the clock.
const FIRMWARE: Duration = Duration::from_secs(2 * 60);
/// Longest upload of the logs.
const LOGS: Duration = Duration::from_secs(10 * 60);

/// The program that restarts the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Restart,
    /// Ironic restarts it, and only the agent's own unit is to end.
    LeaveToIronic,
}

/// The way to bring the image to the disk.
enum Way {
    Write(Source),
    /// coreos-installer
    Program(PathBuf),
}

/// One installation.
pub struct Installation<'a> {
    pub tools: &'a Tools,
    pub plan: &'a Plan,
    pub reporter: &'a Reporter,
    pub stop: &'a CancellationToken,
    pub running: Arc<Running>,
}

impl Installation<'_> {
    /// # Errors
    /// [`InstallError`]; then the disk is as it was, or does not boot.
    pub async fn run(&self) -> Result<Ending, InstallError> {
        let role = self.plan.role.name();
        self.reporter.tell(HostStage::StartingInstallation, role);
        let chosen = self.choose().await?;
        let way = self.way()?;
        let network = match way {
            Way::Write(_) => self.network()?,
            // coreos-installer copies them itself.
            Way::Program(_) => Vec::new(),
        };
        let downloads = self.tools.downloads(self.plan.proxy.as_ref())?;
        self.reporter.tell(HostStage::Installing, role);
        match &way {
            Way::Write(source) => {
                let first_boot = self.or_stop(self.first_boot(network)).await??;
                self.begin_writing(&chosen).await;
                let writing = Writing {
                    downloads: &downloads,
                    source,
                    chosen: &chosen,
                    first_boot,
                    reporter: self.reporter,
                    stop: self.stop,
                    running: Arc::clone(&self.running),
                };
                let placed = writing.run().await?;
                self.before_restart(&chosen, Some(placed.table().clone())).await?;
                placed.seal(Arc::clone(&self.running)).await?;
            }
            Way::Program(program) => {
                let ignition = self.or_stop(self.ignition()).await??;
                self.begin_writing(&chosen).await;
                let order = coreos_installer::Order {
                    program,
                    chosen: &chosen,
                    ignition: &ignition,
                    arguments: &self.plan.arguments.given,
                    keeps_content: self.plan.keeps_content,
                    reporter: self.reporter,
                    stop: self.stop,
                    running: Arc::clone(&self.running),
                };
                order.run().await?;
                if let Err(error) = self.before_restart(&chosen, None).await {
                    order.unboot().await;
                    return Err(error);
                }
            }
        }
        Ok(self.end().await)
    }

    async fn begin_writing(&self, chosen: &Chosen) {
        self.format(chosen).await;
        self.reporter.tell(HostStage::WritingImageToDisk, "");
    }

    /// The part between writing and the restart: the cluster, the firmware, the logs. `table`: of the image, if it is known.
    async fn before_restart(&self, chosen: &Chosen, table: Option<Table>) -> Result<(), InstallError> {
        if self.plan.role == Role::Worker {
            self.reporter.tell(HostStage::WaitingForControlPlane, "");
            let waiting =
                waiting::for_control_plane(&self.tools.client, self.plan.cluster, self.plan.joins_existing);
            self.or_stop(waiting).await??;
        }
        self.tell_firmware(chosen.disk.node(), table).await;
        self.or_stop(self.send_logs()).await
    }

    async fn choose(&self) -> Result<Chosen, InstallError> {
        if !self.tools.devices.settled(SETTLING).await {
            warn!("storage has not settled");
        }
        let (wishes, running) = (self.plan.disks.clone(), Arc::clone(&self.running));
        let chosen = tokio::task::spawn_blocking(move || {
            let _running = running;
            let root = Root::live();
            choose::choose(&root, &inventory::listed_disks(&root), &wishes)
        });
        let chosen = chosen.await.unwrap_or_else(|error| {
            Err(InstallError::Unprepared {
                step: Step::Disks,
                reason: format!("the disks cannot be listed: {error}"),
            })
        })?;
        info!(disk = chosen.disk.name, twins = ?chosen.twins, "chosen");
        Ok(chosen)
    }

    fn way(&self) -> Result<Way, InstallError> {
        let program = self.tools.coreos_installer.clone();
        let service = &self.tools.settings.service_url;
        let source = match (&self.plan.image, program) {
            (Image::OfLiveSystem, Some(program)) => return Ok(Way::Program(program)),
            (Image::OfLiveSystem, None) => {
                return refuse(
                    Step::Image,
                    "the service names no image to install (os_image, or --image-url in the installer arguments), and this \
                     live system has no coreos-installer with an image of its own. Give the service an OS image for this \
                     version and architecture (--os-images)",
                );
            }
            _ if self.plan.keeps_content => {
                return refuse(
                    Step::Image,
                    "partitions of the old system are to be kept (--save-partlabel, --save-partindex), which only \
                     coreos-installer can, with the image of its live system",
                );
            }
            (Image::Named(image), _) => Source::of(image, service),
            (Image::Url(url), _) => Source::of_url(url, service),
            (Image::File(path), _) => Ok(Source::of_file(path)),
        };
        source.map(Way::Write).map_err(|error| InstallError::Refused {
            step: Step::Image,
            reason: error.to_string(),
        })
    }

    fn network(&self) -> Result<Vec<(String, Vec<u8>)>, InstallError> {
        let Some(folder) = &self.plan.arguments.copy_network else {
            return Ok(Vec::new());
        };
        config::network_files(folder).map_err(|error| InstallError::Refused {
            step: Step::Network,
            reason: format!(
                "--copy-network: this live system has no network configuration to copy ({error})"
            ),
        })
    }

    /// The configuration of the image's first boot. `network`: the files of `--copy-network`.
    async fn first_boot(&self, network: Vec<(String, Vec<u8>)>) -> Result<FirstBoot, InstallError> {
        match self.plan.image.configuration() {
            ImageConfiguration::Ignition => Ok(FirstBoot::CoreOs(BootConfig {
                ignition: self.ignition().await?,
                append_kargs: self.plan.arguments.append_kargs.clone(),
                delete_kargs: self.plan.arguments.delete_kargs.clone(),
                network,
            })),
            ImageConfiguration::CloudInit => Ok(FirstBoot::CloudInit {
                seed: self.seed().await?,
                uefi: self.tools.firmware.is_some(),
            }),
        }
    }

    /// The host's seed for cloud-init.
    async fn seed(&self) -> Result<Seed, InstallError> {
        let parse = |body: &[u8]| seed::parse(body).map_err(|error| error.to_string());
        self.configuration("seed for cloud-init", Step::Seed, parse).await
    }

    /// The host's ignition, with the agent's program if the node is to run it.
    async fn ignition(&self) -> Result<Vec<u8>, InstallError> {
        let parse = |body: &[u8]| ignition::parse(body).map_err(|error| error.to_string());
        let config = self.configuration("ignition", Step::Ignition, parse).await?;
        let node_agent = self.plan.node_agent;
        let made = tokio::task::spawn_blocking(move || {
            let config = if node_agent {
                ignition::with_own_program(config)?
            } else {
                config
            };
            Ok::<_, ignition::IgnitionError>(config.to_string().into_bytes())
        });
        match made.await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => refuse(Step::Ignition, error.to_string()),
            Err(error) => Err(InstallError::Unprepared {
                step: Step::Ignition,
                reason: format!("the ignition cannot be made: {error}"),
            }),
        }
    }

    /// The host's configuration from the service, as `parse` takes it; requested again while that may help. `name`: for
    /// messages.
    async fn configuration<T>(
        &self,
        name: &str,
        step: Step,
        parse: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<T, InstallError> {
        let (began, mut failures, mut told) = (Instant::now(), 0, String::new());
        loop {
            let fetched = self
                .tools
                .client
                .node_ignition(self.plan.infra_env, self.plan.host)
                .await;
            let failure = match fetched {
                Ok(body) => match parse(&body) {
                    Ok(config) => return Ok(config),
                    Err(error) => Failure::Malformed(error),
                },
                Err(failure) => failure,
            };
            failures += 1;
            let pause = self
                .tools
                .patience
                .pause(&failure, failures, began, Instant::now(), rand::random());
            let text = failure.text();
            let Some(pause) = pause else {
                let reason = format!("the {name} of this host cannot be had: {text} ({failures} attempts)");
                return refuse(step, reason);
            };
            warn!(failures, "waiting for the {name}: {text}");
            if text != told {
                let role = self.plan.role.name();
                self.reporter.tell(
                    HostStage::Installing,
                    format!("{role}; waiting for the {name}: {text}"),
                );
                told = text;
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Clears the first sector of the other disks that are to be formatted. A failure does not end the installation.
    async fn format(&self, chosen: &Chosen) {
        for disk in chosen.to_format.clone() {
            let formatting = format!("formatting {}", disk.id);
            within(
                FORMATTING,
                &formatting,
                &self.running,
                move || match wipe::format(&disk) {
                    Ok(()) => info!(disk = disk.id, "formatted"),
                    Err(error) => warn!(disk = disk.id, "not formatted: {error}"),
                },
            )
            .await;
        }
    }

    /// Makes the firmware start the disk first, and sets the clock. No failure ends the installation.
    async fn tell_firmware(&self, node: String, table: Option<Table>) {
        let (variables, sets_clock) = (self.tools.firmware.clone(), self.tools.sets_clock);
        let among = match self.plan.image.configuration() {
            ImageConfiguration::Ignition => Among::All,
            // Entries of its own are made by the image.
            ImageConfiguration::CloudInit => Among::Fallback,
        };
        within(FIRMWARE, "setting up the firmware", &self.running, move || {
            if let Some(variables) = variables {
                match firmware::boot_first(&variables, &node, table, among) {
                    Ok(line) => info!("{line}"),
                    Err(error) => warn!("the firmware's boot order was not changed: {error}"),
                }
            }
            if sets_clock
                && !clock::is_unset()
                && let Err(error) = rtc::set_to_system_time()
            {
                warn!("the battery-backed clock was not set: {error}");
            }
        })
        .await;
    }

    /// A failure does not end the installation.
    async fn send_logs(&self) {
        let to = Destination {
            cluster: Some(self.plan.cluster),
            host: self.plan.host,
            infra_env: self.plan.infra_env,
        };
        let sending = upload::send(
            &self.tools.client,
            to,
            Redactor::of(&self.tools.settings),
            Arc::clone(&self.running),
        );
        match tokio::time::timeout(LOGS, sending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!("{error}"),
            Err(_) => warn!("the logs were not taken within {} s", LOGS.as_secs()),
        }
    }

    async fn end(&self) -> Ending {
        let ending = if is_ironics() {
            Ending::LeaveToIronic
        } else {
            Ending::Restart
        };
        let info = match ending {
            Ending::Restart => "",
            Ending::LeaveToIronic => "Ironic will reboot the node shortly",
        };
        self.reporter.tell(HostStage::Rebooting, info);
        if !self.reporter.told(LAST_REPORT).await {
            warn!("the service does not take the last report; the host restarts all the same");
        }
        ending
    }

    async fn or_stop<T>(&self, work: impl Future<Output = T>) -> Result<T, InstallError> {
        tokio::select! {
            done = work => Ok(done),
            () = self.stop.cancelled() => Err(InstallError::Stopped),
        }
    }
}

/// Runs work on a thread that the installation does not depend on, and gives up waiting after `limit`: a device that hangs does
/// not hold up the rest. False if it has not ended.
async fn within(
    limit: Duration,
    what: &str,
    running: &Arc<Running>,
    work: impl FnOnce() + Send + 'static,
) -> bool {
    let running = Arc::clone(running);
    let done = tokio::task::spawn_blocking(move || {
        let _running = running;
        work();
    });
    match tokio::time::timeout(limit, done).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => warn!("{what} broke: {error}"),
        Err(_) => warn!(
            "{what} has not ended within {} s, and is given up",
            limit.as_secs()
        ),
    }
    false
}

/// True if Ironic's agent runs on the same system. Source: docs/protocol/install-flow.md#2, line 13.
fn is_ironics() -> bool {
    ["/etc", "/run", "/usr/lib"].iter().any(|place| {
        Path::new(place)
            .join("systemd/system/ironic-agent.service")
            .exists()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn work_that_hangs_is_given_up_and_keeps_the_step_from_starting_again() {
        let running = Arc::new(Running);
        assert!(within(Duration::from_secs(20), "work", &running, || {}).await);
        let (release, hanging) = mpsc::channel::<()>();
        let limit = Duration::from_millis(50);
        let hangs = move || {
            let _ = hanging.recv();
        };
        assert!(!within(limit, "work", &running, hangs).await);
        assert_eq!(Arc::strong_count(&running), 2);
        drop(release);
    }
}
