//! Installations to loop devices, from a service made for the test, over real HTTP.

mod cloud;
mod coreos;
pub mod disk;
mod faults;
mod service;
mod straight;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use disk::Disk;
use muster_agent::client::Client;
use muster_agent::drivers::devices::Devices;
use muster_agent::install::control::Control;
use muster_agent::install::retry::Patience;
use muster_agent::install::tools::Tools;
use muster_agent::net::names::Names;
use muster_agent::session::steps::install::{Install, Restart};
use muster_agent::step::{Running, StepHandler, StepOutput};
use muster_api::steps::{ImageFormat, InstallRequest, OsImage};
use service::{Delivery, Service};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::{HOST, INFRA_ENV, settings};

pub const CLUSTER: &str = "0f3e7a52-0b0d-4c3c-9a9e-222222222222";

/// An agent that installs.
pub struct Agent {
    pub install: Install,
    pub control: Arc<Control>,
    restarts: watch::Receiver<usize>,
}

impl Agent {
    pub fn of(service: &Service) -> Self {
        Self::with(service, None)
    }

    /// An agent on a live system with that program.
    pub fn with(service: &Service, coreos_installer: Option<PathBuf>) -> Self {
        let (count, restarts) = watch::channel(0);
        let restart = move || {
            count.send_modify(|count| *count += 1);
            Ok(())
        };
        Self::made(service, coreos_installer, Arc::new(restart), restarts)
    }

    /// An agent on a machine that cannot be restarted, for this reason.
    pub fn stuck(service: &Service, reason: &'static str) -> Self {
        let restart = move || Err(reason.to_owned());
        Self::made(service, None, Arc::new(restart), watch::channel(0).1)
    }

    fn made(
        service: &Service,
        coreos_installer: Option<PathBuf>,
        restart: Restart,
        restarts: watch::Receiver<usize>,
    ) -> Self {
        let settings = settings(service.url(), "the-token");
        let names = Names::configured_by("/nonexistent");
        let tools = Tools {
            client: Client::new(&settings, &names).unwrap(),
            settings: Arc::new(settings),
            names,
            devices: Devices::of_running_system(),
            patience: Patience {
                few: 2,
                many: 4,
                first_pause: Duration::from_millis(10),
                longest_pause: Duration::from_millis(50),
                limit: Duration::from_secs(20),
            },
            firmware: None,
            sets_clock: false,
            coreos_installer,
        };
        let control = Arc::<Control>::default();
        Self {
            install: Install::new(tools, Arc::clone(&control), restart),
            control,
            restarts,
        }
    }

    pub async fn run(&self, request: &InstallRequest) -> StepOutput {
        self.run_text(serde_json::to_string(request).unwrap()).await
    }

    pub async fn run_text(&self, argument: String) -> StepOutput {
        let running = self.install.run(vec![argument], Arc::new(Running));
        tokio::time::timeout(Duration::from_secs(120), running)
            .await
            .expect("an installation ends")
    }

    pub fn restarts(&self) -> usize {
        *self.restarts.borrow()
    }

    pub async fn until_restarted(&self) {
        let mut restarts = self.restarts.clone();
        let restarted = restarts.wait_for(|count| *count == 1);
        tokio::time::timeout(Duration::from_secs(60), restarted)
            .await
            .expect("the machine is restarted")
            .expect("the agent is there");
    }
}

/// A request to install `image` (as stored) to the disk with this node.
pub fn request(node: &str, image: &[u8], format: ImageFormat) -> InstallRequest {
    InstallRequest {
        infra_env_id: INFRA_ENV.into(),
        cluster_id: CLUSTER.into(),
        host_id: HOST.into(),
        role: "worker".into(),
        boot_device: node.into(),
        os_image: Some(OsImage {
            url: format!("/api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts/{HOST}/downloads/os-image"),
            sha256: Some(hex::encode(Sha256::digest(image))),
            size: Some(image.len() as u64),
            format,
            ..OsImage::default()
        }),
        ..InstallRequest::default()
    }
}

/// A machine that is installed: an image as it is served, a disk with room for it, and an agent.
pub struct World {
    pub image: Vec<u8>,
    pub service: Service,
    pub agent: Arc<Agent>,
    pub disk: Disk,
}

impl World {
    /// None if this machine has no loop devices.
    pub async fn new(delivery: Delivery) -> Option<Self> {
        disk::available().then_some(())?;
        let image = disk::image();
        let service = Service::start(image.clone(), delivery).await;
        Some(Self {
            image,
            agent: Arc::new(Agent::of(&service)),
            service,
            disk: Disk::roomy(),
        })
    }

    /// A request to install the image to the disk.
    pub fn request(&self) -> InstallRequest {
        request(&self.disk.node(), &self.image, ImageFormat::Raw)
    }

    /// Runs an installation that succeeds.
    pub async fn install(&self, request: &InstallRequest) {
        succeeded(&self.agent.run(request).await);
    }
}

#[track_caller]
pub fn succeeded(output: &StepOutput) {
    assert_eq!((output.exit_code, output.error.as_str()), (0, ""));
}
