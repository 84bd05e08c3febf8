//! The resources that a client can read.

mod chassis;
mod forms;
mod inventory;
mod manager;
mod media;
mod root;
mod system;

use std::time::Instant;

use serde_json::Value;

use forms::{BASEBOARD, collection};

use crate::bmc::Bmc;
use crate::quirks::Systems;

pub(crate) use root::{session, task as task_json};

/// The resource at that path (its parts below `/redfish/v1`).
pub(crate) fn read(bmc: &mut Bmc, path: &[&str], now: Instant) -> Option<Value> {
    let product = bmc.quirks.product.clone();
    let is_two = bmc.quirks.several_systems != Systems::One;
    match path {
        [] => Some(root::root(bmc)),
        ["SessionService", rest @ ..] if !bmc.quirks.no_sessions => root::sessions(bmc, rest, now),
        ["TaskService", rest @ ..] if bmc.quirks.tasks.is_some() => root::tasks(bmc, rest, now),
        ["UpdateService", rest @ ..] => root::updates(bmc, rest),
        ["Systems"] => {
            let baseboard = is_two.then(|| format!("/redfish/v1/Systems/{BASEBOARD}"));
            let members: Vec<String> = baseboard.into_iter().chain([bmc.system()]).collect();
            Some(collection(bmc, "Systems", "ComputerSystem", &members))
        }
        ["Systems", BASEBOARD] if is_two => Some(system::baseboard(bmc)),
        ["Systems", id, rest @ ..] if *id == product.system => system::read(bmc, rest, now),
        ["Managers"] => Some(collection(bmc, "Managers", "Manager", &[bmc.manager()])),
        ["Managers", id, rest @ ..] if *id == product.manager => manager::read(bmc, rest, now),
        ["Chassis"] => Some(collection(bmc, "Chassis", "Chassis", &[bmc.chassis()])),
        ["Chassis", id, rest @ ..] if *id == product.chassis => chassis::read(bmc, rest),
        _ => None,
    }
}
