//! `inventory`: collects the hardware inventory. Arguments: the host id, then `--name=value` options of newer
//! services. Source: docs/protocol/agent-protocol.md#6, docs/protocol/agent-inventory.md#13.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::drivers::devices::Devices;
use crate::inventory::{self, Collected, Options};
use crate::root::Root;
use crate::step::{Running, StepError, StepHandler, StepOutput, StepType, reply};

/// Longest wait for the disks of power-on; a later one makes the agent poll again and send a new inventory.
const SETTLING: Duration = Duration::from_secs(10);
/// Attempts to list disks while disks appear.
const TRIES: usize = 3;

/// Collects the inventory on a thread of its own: probes read files that may block.
pub struct InventoryStep {
    devices: Devices,
}

impl InventoryStep {
    /// Waits for storage to settle according to `devices` before it reads disks.
    pub fn new(devices: Devices) -> Self {
        Self { devices }
    }
}

impl StepHandler for InventoryStep {
    fn step_type(&self) -> StepType {
        StepType::Inventory
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let devices = self.devices.clone();
        let in_thread = Arc::clone(&running);
        reply(running, async move {
            if let Some(strange) = args.iter().skip(1).find(|arg| !arg.starts_with("--")) {
                return Err(StepError(format!(
                    "inventory takes a host id and options, not `{strange}`"
                )));
            }
            if !devices.settled(SETTLING).await {
                tracing::info!(
                    "storage has not settled: the inventory may lack disks, which will be reported when they come"
                );
            }
            let collected = tokio::task::spawn_blocking(move || {
                let _running = in_thread;
                let options = Options::from_arguments(args.iter().skip(1).map(String::as_str));
                let collected = collect_undisturbed(&devices, options);
                for problem in &collected.problems {
                    tracing::info!(field = problem.field, "not known: {}", problem.reason);
                }
                serde_json::to_string(&collected.inventory)
            });
            match collected.await {
                Ok(Ok(text)) => Ok(StepOutput::good(text)),
                Ok(Err(error)) => Err(StepError(format!(
                    "the inventory cannot be written as JSON: {error}"
                ))),
                Err(error) => Err(StepError(format!("the inventory broke: {error}"))),
            }
        })
    }
}

/// An inventory during which no disk was added or removed, if possible.
fn collect_undisturbed(devices: &Devices, options: Options) -> Collected {
    for _ in 1..TRIES {
        let before = devices.changes();
        let collected = inventory::collect(&Root::live(), options);
        if devices.changes() == before {
            return collected;
        }
    }
    inventory::collect(&Root::live(), options)
}
