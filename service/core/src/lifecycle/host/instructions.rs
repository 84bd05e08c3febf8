//! Plans the steps of a host. Source: docs/protocol/instructions.md#2 and #3.

mod arguments;
mod handover;
mod installer_args;
mod plan;

pub use handover::{Offer, handover};
pub use plan::{instructions, needs_inventory, next_secs, upgrade};
