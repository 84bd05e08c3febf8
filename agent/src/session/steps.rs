//! The steps that this agent can do, one file each. A new step is a file here and a line in [`Registry::standard`].

pub mod api_vip;
pub mod boot_artifacts;
pub mod connectivity;
pub mod disk_speed;
pub mod domains;
pub mod free_addresses;
pub mod images;
pub mod install;
pub mod inventory;
pub mod logs;
pub mod ntp;
pub mod reboot;
pub mod tang;
pub mod upgrade;
pub mod vips;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::executor::EXIT_INTERNAL;
use crate::config::Settings;
use crate::devices::Devices;
use crate::net::names::Names;
use crate::time::sources::TimeSources;

/// A step's name on the wire.
pub type StepType = &'static str;

/// Held while anything of a step runs; a thread that outlives its step's task keeps a clone.
#[derive(Debug)]
pub struct Running;

/// What a step gives: the parts of a reply that are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutput {
    /// 0 when it went well.
    pub exit_code: i64,
    /// JSON text.
    pub output: String,
    /// What went wrong.
    pub error: String,
}

impl StepOutput {
    /// It went well.
    pub fn good(output: String) -> Self {
        Self {
            exit_code: 0,
            output,
            error: String::new(),
        }
    }

    /// It went well, and this is the answer.
    pub fn json(answer: &impl Serialize) -> Self {
        match serde_json::to_string(answer) {
            Ok(text) => Self::good(text),
            Err(error) => Self::failed(format!("the answer cannot be written as JSON: {error}")),
        }
    }

    /// The same answer with another ending.
    #[must_use]
    pub fn ending(self, exit_code: i64, error: impl Into<String>) -> Self {
        Self {
            exit_code,
            error: error.into(),
            ..self
        }
    }

    /// It could not be done.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            exit_code: EXIT_INTERNAL,
            output: String::new(),
            error: error.into(),
        }
    }
}

/// One kind of step.
pub trait StepHandler: Send + Sync {
    /// Its name on the wire.
    fn step_type(&self) -> StepType;
    /// After this long it is answered for.
    fn deadline(&self) -> Duration;
    /// The same for a step whose arguments say how long it may take.
    fn deadline_for(&self, _args: &[String]) -> Duration {
        self.deadline()
    }
    /// What is replied when one of the type runs already: mostly nothing, for that one will answer.
    fn when_running(&self) -> Option<StepOutput> {
        None
    }
    /// Does it. Arguments are as the service sent them, not yet checked.
    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput>;
}

/// The one argument of most steps: JSON text.
///
/// # Errors
/// Another number of arguments, or JSON that is not of this step.
fn one_argument<T: DeserializeOwned>(step: StepType, args: &[String]) -> Result<T, String> {
    match args {
        [text] => serde_json::from_str(text).map_err(|error| format!("{step}: {error}")),
        _ => Err(format!("{step} takes one argument, not {}", args.len())),
    }
}

/// What steps are made of: the parts of the agent that they share with it.
pub struct Means {
    /// The host's time sources.
    pub time: TimeSources,
    /// Whether disks are all there, and that they change.
    pub devices: Devices,
    /// What the agent was told.
    pub settings: Arc<Settings>,
    /// The resolver.
    pub names: Names,
    /// The service.
    pub client: Client,
}

/// The steps by name.
pub struct Registry {
    handlers: HashMap<StepType, Arc<dyn StepHandler>>,
}

impl Registry {
    /// A registry of these.
    pub fn new(handlers: Vec<Arc<dyn StepHandler>>) -> Self {
        Self {
            handlers: handlers
                .into_iter()
                .map(|handler| (handler.step_type(), handler))
                .collect(),
        }
    }

    /// Every step that this agent can do.
    pub fn standard(means: &Means) -> Self {
        Self::new(vec![
            Arc::new(inventory::InventoryStep::new(means.devices.clone())),
            Arc::new(ntp::NtpSynchronizer::new(means.time.clone())),
            Arc::new(connectivity::ConnectivityCheck),
            Arc::new(free_addresses::FreeNetworkAddresses),
            Arc::new(vips::VerifyVips),
            Arc::new(domains::DomainResolution::new(means.names.clone())),
            Arc::new(api_vip::ApiVipConnectivityCheck::new(means.names.clone())),
            Arc::new(disk_speed::DiskSpeedCheck),
            Arc::new(images::ImageAvailability::new(means)),
            Arc::new(tang::TangConnectivity::new(means)),
            Arc::new(logs::LogsGather::new(means)),
            Arc::new(upgrade::UpgradeAgent),
            Arc::new(install::Install),
            Arc::new(install::StopInstallation),
            Arc::new(boot_artifacts::DownloadBootArtifacts::new(means)),
            Arc::new(reboot::RebootForReclaim),
        ])
    }

    /// The step of that name.
    pub fn get(&self, name: &str) -> Option<(StepType, Arc<dyn StepHandler>)> {
        self.handlers
            .get_key_value(name)
            .map(|(name, handler)| (*name, Arc::clone(handler)))
    }
}
