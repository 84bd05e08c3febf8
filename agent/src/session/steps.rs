//! The steps that this agent can do, one file each. A new step is a file here and a line in [`Registry::standard`].

pub mod api_vip;
pub mod argument;
pub mod connectivity;
pub mod domains;
pub mod free_addresses;
pub mod inventory;
pub mod ntp;
pub mod vips;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::executor::EXIT_INTERNAL;
use crate::devices::Devices;
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
    /// Does it. Arguments are as the service sent them, not yet checked.
    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput>;
}

/// What steps are made of: the parts of the agent that they share with it.
pub struct Means {
    /// The host's time sources.
    pub time: TimeSources,
    /// Whether disks are all there, and that they change.
    pub devices: Devices,
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
            Arc::new(domains::DomainResolution::new(means.time.names().clone())),
            Arc::new(api_vip::ApiVipConnectivityCheck::new(means.time.names().clone())),
        ])
    }

    /// The step of that name.
    pub fn get(&self, name: &str) -> Option<(StepType, Arc<dyn StepHandler>)> {
        self.handlers
            .get_key_value(name)
            .map(|(name, handler)| (*name, Arc::clone(handler)))
    }
}
