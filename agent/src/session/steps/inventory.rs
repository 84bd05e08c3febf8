//! `inventory`: what the hardware is. Arguments: the host id, then `--name=value` options of newer services.
//! Source: agent-protocol.md §6, agent-inventory.md §13.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Running, StepHandler, StepOutput, StepType};
use crate::inventory::{self, Options};
use crate::root::Root;

/// Collects the inventory on a thread of its own: probes read files that may block.
pub struct InventoryStep;

impl StepHandler for InventoryStep {
    fn step_type(&self) -> StepType {
        "inventory"
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            if let Some(strange) = args.iter().skip(1).find(|arg| !arg.starts_with("--")) {
                return StepOutput::failed(format!("inventory takes a host id and options, not `{strange}`"));
            }
            let collected = tokio::task::spawn_blocking(move || {
                let _running = running;
                let options = Options::from_arguments(args.iter().skip(1).map(String::as_str));
                let collected = inventory::collect(&Root::live(), options);
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
