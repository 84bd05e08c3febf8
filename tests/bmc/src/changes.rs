//! Requests that change something.

mod boot;
mod insert;
mod login;
mod media;
mod power;
mod work;

use std::time::Instant;

use crate::answer::Answer;
use crate::bmc::Bmc;
use crate::call::Call;
use crate::problem::Problem;
use crate::quirks::{SlotKind, count_down};

pub(crate) use login::{log_in, log_out};

/// Handles a `POST` of an action or a `PATCH`; `path` is below `/redfish/v1`.
pub(crate) fn change(bmc: &mut Bmc, call: &Call, path: &[&str], now: Instant) -> Result<Answer, Problem> {
    let product = bmc.quirks.product.clone();
    let at_system = matches!(path, ["Systems", id, ..] if *id == product.system);
    let at_manager = matches!(path, ["Managers", id, ..] if *id == product.manager);
    let has_media = if bmc.quirks.media_at_manager {
        at_manager
    } else {
        at_system
    };
    let below = path.get(2..).unwrap_or_default();
    if count_down(&mut bmc.quirks.not_ready) {
        let message = "The BMC is not ready; try again later.";
        return Err(Problem::new(503, "SYS518", message));
    }
    match (call.method.as_str(), below) {
        ("POST", ["Actions", "ComputerSystem.Reset"]) if at_system => power::reset(bmc, call, now),
        ("PATCH", []) if at_system => boot::patch(bmc, call, path, now),
        ("PATCH", ["Settings"]) if at_system => boot::patch(bmc, call, path, now),
        ("POST", ["VirtualMedia", id, "Actions", "VirtualMedia.InsertMedia"]) if has_media => {
            insert::by_action(bmc, call, id, now)
        }
        ("POST", ["VirtualMedia", id, "Actions", "VirtualMedia.EjectMedia"]) if has_media => {
            media::eject_by_action(bmc, call, id, now)
        }
        ("PATCH", ["VirtualMedia", id]) if has_media => media::patch(bmc, call, id, path, now),
        _ => Err(not_allowed(bmc, call, path, now)),
    }
}

/// 405 for an existing resource.
fn not_allowed(bmc: &mut Bmc, call: &Call, path: &[&str], now: Instant) -> Problem {
    if crate::resources::read(bmc, path, now).is_none() {
        return Problem::not_found(&call.path);
    }
    let message = format!("{} is not allowed on this resource.", call.method);
    Problem::new(405, "OperationNotAllowed", message)
}

/// The kind of an existing drive.
fn kind_of(bmc: &Bmc, id: &str, call: &Call) -> Result<SlotKind, Problem> {
    let slot = bmc.quirks.slots.iter().find(|slot| slot.id == id);
    slot.map(|slot| slot.kind)
        .ok_or_else(|| Problem::not_found(&call.path))
}
