//! The resources that a client can read.

mod chassis;
mod inventory;
mod manager;
mod media;
mod root;
mod system;

use std::time::Instant;

use serde_json::{Value, json};

use crate::bmc::Bmc;
use crate::quirks::Systems;

pub(crate) use root::{session, task as task_json};

/// The second System, where there is one.
pub(crate) const BASEBOARD: &str = "HGX_Baseboard_0";

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

/// A collection at that path below `/redfish/v1`.
fn collection(bmc: &Bmc, path: &str, kind: &str, members: &[String]) -> Value {
    let links: Vec<Value> = members.iter().map(|member| link(member)).collect();
    let links = if links.is_empty() && bmc.quirks.null_members {
        Value::Null
    } else {
        Value::Array(links)
    };
    json!({
        "@odata.id": format!("/redfish/v1/{path}"),
        "@odata.type": format!("#{kind}Collection.{kind}Collection"),
        "Name": format!("{kind} Collection"),
        "Members@odata.count": members.len(),
        "Members": links,
    })
}

fn link(path: &str) -> Value {
    json!({"@odata.id": path})
}
