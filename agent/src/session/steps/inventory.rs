//! `inventory`: what the hardware is. Arguments: the host id, then `--name=value` options of newer services.
//! Source: docs/protocol/agent-protocol.md#6, docs/protocol/agent-inventory.md#13.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Running, StepHandler, StepOutput, StepType};
use crate::inventory::{self, Collected, Options};
use crate::root::Root;
use crate::session::devices::Devices;

/// Disks of power-on are waited for so long; one that comes later makes the agent poll again, and report anew.
const SETTLING: Duration = Duration::from_secs(10);
/// Disks that come while they are listed make the list stale; it is made anew this often at most.
const TRIES: usize = 3;

/// Collects the inventory on a thread of its own: probes read files that may block.
pub struct InventoryStep {
    devices: Devices,
}

impl InventoryStep {
    /// Waits for storage to settle as `devices` say, before it looks at disks.
    pub fn new(devices: Devices) -> Self {
        Self { devices }
    }
}

impl StepHandler for InventoryStep {
    fn step_type(&self) -> StepType {
        "inventory"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let devices = self.devices.clone();
        async move {
            if let Some(strange) = args.iter().skip(1).find(|arg| !arg.starts_with("--")) {
                return StepOutput::failed(format!("inventory takes a host id and options, not `{strange}`"));
            }
            if !devices.settled(SETTLING).await {
                tracing::info!("storage has not settled: the inventory may lack disks, which will be reported when they come");
            }
            let collected = tokio::task::spawn_blocking(move || {
                let _running = running;
                let options = Options::from_arguments(args.iter().skip(1).map(String::as_str));
                let collected = collect_undisturbed(&devices, options);
                for problem in &collected.problems {
                    tracing::info!(field = problem.field, "not known: {}", problem.reason);
                }
                serde_json::to_string(&collected.inventory)
            });
            match collected.await {
                Ok(Ok(text)) => StepOutput::good(text),
                Ok(Err(error)) => {
                    StepOutput::failed(format!("the inventory cannot be written as JSON: {error}"))
                }
                Err(error) => StepOutput::failed(format!("the inventory broke: {error}")),
            }
        }
        .boxed()
    }
}

/// An inventory during which no disk came or went, if there is such a time.
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
