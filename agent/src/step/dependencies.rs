//! The parts of the agent that steps share with it.

use std::sync::Arc;

use tokio::sync::watch;

use crate::client::Client;
use crate::config::Settings;
use crate::drivers::devices::Devices;
use crate::handover::plan::Handover;
use crate::net::names::Names;
use crate::time::sources::TimeSources;
use crate::view::erasure::ErasureView;

/// Each step handler takes what it needs of these.
pub struct Dependencies {
    pub time: TimeSources,
    pub devices: Devices,
    pub settings: Arc<Settings>,
    pub names: Names,
    pub client: Client,
    /// `None`: this program hands over to no other.
    pub handover: Option<Arc<Handover>>,
    /// Receives how far the erasure of disks is; `None` while none is erased.
    pub erasure: watch::Sender<Option<ErasureView>>,
}
