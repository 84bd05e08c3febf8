//! The service root and its services.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::forms::{collection, link};
use crate::bmc::Bmc;
use crate::tasks::{Task, TaskState};

pub(super) fn root(bmc: &Bmc) -> Value {
    let product = &bmc.quirks.product;
    let mut root = json!({
        "@odata.id": "/redfish/v1",
        "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
        "Id": "RootService",
        "Name": "Root Service",
        "RedfishVersion": product.redfish_version,
        "UUID": bmc.hardware.uuid,
        "Systems": link("/redfish/v1/Systems"),
        "Managers": link("/redfish/v1/Managers"),
        "Chassis": link("/redfish/v1/Chassis"),
        "UpdateService": link("/redfish/v1/UpdateService"),
        "ProtocolFeaturesSupported": {"ExpandQuery": {"Levels": false, "ExpandAll": false}},
        "Links": {},
    });
    for (name, value) in [("Vendor", &product.vendor), ("Product", &product.product)] {
        if !value.is_empty() {
            root[name] = value.as_str().into();
        }
    }
    if !product.oem.is_empty() {
        root["Oem"] = Value::Object(Map::from_iter([(product.oem.clone(), json!({}))]));
    }
    if !bmc.quirks.no_sessions {
        root["SessionService"] = link("/redfish/v1/SessionService");
        root["Links"]["Sessions"] = link("/redfish/v1/SessionService/Sessions");
    }
    if bmc.quirks.tasks.is_some() {
        root["Tasks"] = link("/redfish/v1/TaskService");
    }
    root
}

pub(super) fn sessions(bmc: &mut Bmc, path: &[&str], now: Instant) -> Option<Value> {
    let ids = bmc.sessions.ids(bmc.quirks.session_timeout, now);
    let at = |id: &str| format!("/redfish/v1/SessionService/Sessions/{id}");
    match path {
        [] => Some(json!({
            "@odata.id": "/redfish/v1/SessionService",
            "@odata.type": "#SessionService.v1_1_8.SessionService",
            "Id": "SessionService",
            "Name": "Session Service",
            "ServiceEnabled": true,
            "SessionTimeout": bmc.quirks.session_timeout.as_secs(),
            "Sessions": link("/redfish/v1/SessionService/Sessions"),
        })),
        ["Sessions"] => {
            let members: Vec<String> = ids.iter().map(|id| at(id)).collect();
            Some(collection(bmc, "SessionService/Sessions", "Session", &members))
        }
        ["Sessions", id] if ids.iter().any(|known| known == id) => {
            Some(session(&at(id), id, bmc.sessions.user()))
        }
        _ => None,
    }
}

/// A session at that path.
pub(crate) fn session(path: &str, id: &str, user: &str) -> Value {
    json!({
        "@odata.id": path,
        "@odata.type": "#Session.v1_3_0.Session",
        "Id": id,
        "Name": "User Session",
        "UserName": user,
    })
}

pub(super) fn tasks(bmc: &Bmc, path: &[&str], now: Instant) -> Option<Value> {
    match path {
        [] => Some(json!({
            "@odata.id": "/redfish/v1/TaskService",
            "@odata.type": "#TaskService.v1_2_0.TaskService",
            "Id": "TaskService",
            "Name": "Task Service",
            "ServiceEnabled": true,
            "Tasks": link("/redfish/v1/TaskService/Tasks"),
        })),
        ["Tasks"] => {
            let seen = bmc.tasks.seen(now);
            let members: Vec<String> = seen
                .map(|task| format!("/redfish/v1/TaskService/Tasks/{}", task.id))
                .collect();
            Some(collection(bmc, "TaskService/Tasks", "Task", &members))
        }
        ["Tasks", id] => bmc
            .tasks
            .seen(now)
            .find(|task| task.id == *id)
            .map(|found| task(found, now)),
        _ => None,
    }
}

/// A task as it is now.
pub(crate) fn task(task: &Task, now: Instant) -> Value {
    let (state, status, percent, messages) = match task.state(now) {
        TaskState::Running => ("Running", "OK", 50, json!([])),
        TaskState::Completed => ("Completed", "OK", 100, json!([])),
        TaskState::Exception(reason) => {
            let message = json!({"MessageId": "Base.1.8.GeneralError", "Message": reason});
            ("Exception", "Critical", 100, json!([message]))
        }
    };
    json!({
        "@odata.id": format!("/redfish/v1/TaskService/Tasks/{}", task.id),
        "@odata.type": "#Task.v1_6_0.Task",
        "Id": task.id,
        "Name": task.name,
        "TaskState": state,
        "TaskStatus": status,
        "PercentComplete": percent,
        "Messages": messages,
        "TaskMonitor": format!("/redfish/v1/TaskService/TaskMonitors/{}", task.id),
    })
}

pub(super) fn updates(bmc: &Bmc, path: &[&str]) -> Option<Value> {
    let product = &bmc.quirks.product;
    let at = |id: &str| format!("/redfish/v1/UpdateService/FirmwareInventory/{id}");
    let firmware = |id: &str, version: &str| {
        json!({
            "@odata.id": at(id),
            "@odata.type": "#SoftwareInventory.v1_8_0.SoftwareInventory",
            "Id": id, "Name": id, "Version": version, "Updateable": true,
        })
    };
    match path {
        [] => Some(json!({
            "@odata.id": "/redfish/v1/UpdateService",
            "@odata.type": "#UpdateService.v1_11_0.UpdateService",
            "Id": "UpdateService",
            "Name": "Update Service",
            "ServiceEnabled": true,
            "FirmwareInventory": link("/redfish/v1/UpdateService/FirmwareInventory"),
        })),
        ["FirmwareInventory"] => {
            let members = [at("BMC"), at("BIOS")];
            Some(collection(
                bmc,
                "UpdateService/FirmwareInventory",
                "SoftwareInventory",
                &members,
            ))
        }
        ["FirmwareInventory", "BMC"] => Some(firmware("BMC", &product.firmware)),
        ["FirmwareInventory", "BIOS"] => Some(firmware("BIOS", &product.bios)),
        _ => None,
    }
}
