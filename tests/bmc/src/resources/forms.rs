//! Collections and links.

use serde_json::{Value, json};

use crate::bmc::Bmc;

/// The last part of the second System's path, if there is one.
pub(super) const BASEBOARD: &str = "HGX_Baseboard_0";

/// A collection at that path below `/redfish/v1`.
pub(super) fn collection(bmc: &Bmc, path: &str, kind: &str, members: &[String]) -> Value {
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

pub(super) fn link(path: &str) -> Value {
    json!({"@odata.id": path})
}
