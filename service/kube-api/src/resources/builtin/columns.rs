//! Computes the table columns of built-in kinds, with the names and the order that an API server prints.

use serde_json::{Value, json};

use crate::object;
use crate::resources::Strategy;
use crate::resources::table::{BuiltInColumns, age, age_since, human_duration};

pub fn of(strategy: Strategy) -> BuiltInColumns {
    match strategy {
        Strategy::Namespace => BuiltInColumns {
            columns: &[("Name", 0), ("Status", 0), ("Age", 0)],
            cells: |object| {
                vec![
                    text(object, &["metadata", "name"]),
                    text(object, &["status", "phase"]),
                    age(object),
                ]
            },
        },
        Strategy::Secret => BuiltInColumns {
            columns: &[("Name", 0), ("Type", 0), ("Data", 0), ("Age", 0)],
            cells: |object| {
                vec![
                    text(object, &["metadata", "name"]),
                    text(object, &["type"]),
                    count(object, &["data"]).into(),
                    age(object),
                ]
            },
        },
        Strategy::ConfigMap => BuiltInColumns {
            columns: &[("Name", 0), ("Data", 0), ("Age", 0)],
            cells: |object| {
                let entries = count(object, &["data"]) + count(object, &["binaryData"]);
                vec![text(object, &["metadata", "name"]), entries.into(), age(object)]
            },
        },
        Strategy::Lease => BuiltInColumns {
            columns: &[("Name", 0), ("Holder", 0), ("Age", 0)],
            cells: |object| {
                vec![
                    text(object, &["metadata", "name"]),
                    text(object, &["spec", "holderIdentity"]),
                    age(object),
                ]
            },
        },
        Strategy::Event | Strategy::GroupedEvent => BuiltInColumns {
            columns: &[
                ("Last Seen", 0),
                ("Type", 0),
                ("Reason", 0),
                ("Object", 0),
                ("Subobject", 1),
                ("Source", 1),
                ("Message", 0),
                ("First Seen", 1),
                ("Count", 1),
                ("Name", 1),
            ],
            cells: event,
        },
        Strategy::Node => BuiltInColumns {
            columns: &[
                ("Name", 0),
                ("Status", 0),
                ("Roles", 0),
                ("Age", 0),
                ("Version", 0),
                ("Internal-IP", 1),
                ("External-IP", 1),
                ("OS-Image", 1),
                ("Kernel-Version", 1),
                ("Container-Runtime", 1),
            ],
            cells: node,
        },
        Strategy::SigningRequest => BuiltInColumns {
            columns: &[
                ("Name", 0),
                ("Age", 0),
                ("SignerName", 0),
                ("Requestor", 0),
                ("RequestedDuration", 0),
                ("Condition", 0),
            ],
            cells: signing_request,
        },
        Strategy::Definition => BuiltInColumns {
            columns: &[("Name", 0), ("Created At", 0)],
            cells: |object| {
                vec![
                    text(object, &["metadata", "name"]),
                    text(object, &["metadata", "creationTimestamp"]),
                ]
            },
        },
        Strategy::Custom | Strategy::Identity | Strategy::Access | Strategy::Rules | Strategy::Service => {
            BuiltInColumns {
                columns: &[("Name", 0), ("Age", 0)],
                cells: |object| vec![text(object, &["metadata", "name"]), age(object)],
            }
        }
    }
}

fn text(object: &Value, path: &[&str]) -> Value {
    object::at(object, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .into()
}

fn count(object: &Value, path: &[&str]) -> usize {
    match object::at(object, path) {
        Some(Value::Object(members)) => members.len(),
        Some(Value::Array(elements)) => elements.len(),
        _ => 0,
    }
}

fn event(object: &Value) -> Vec<Value> {
    // `events.k8s.io` has the same members under other names.
    let core = if object.get("involvedObject").is_some() {
        object.clone()
    } else {
        crate::resources::event::ungrouped(object.clone())
    };
    let involved = &core["involvedObject"];
    let shown = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = format!(
        "{}/{}",
        shown(&involved["kind"]).to_lowercase(),
        shown(&involved["name"])
    );
    let source = [
        shown(&core["source"]["component"]),
        shown(&core["source"]["host"]),
    ];
    let source: Vec<String> = source.into_iter().filter(|part| !part.is_empty()).collect();
    let source = if source.is_empty() {
        shown(&core["reportingComponent"])
    } else {
        source.join(", ")
    };
    let first = [
        &core["firstTimestamp"],
        &core["eventTime"],
        &core["metadata"]["creationTimestamp"],
    ];
    let first = first.into_iter().find_map(Value::as_str).unwrap_or_default();
    let last = [&core["series"]["lastObservedTime"], &core["lastTimestamp"]];
    let last = last.into_iter().find_map(Value::as_str).unwrap_or(first);
    let count = [&core["series"]["count"], &core["count"]]
        .into_iter()
        .find_map(Value::as_i64)
        .unwrap_or(1);
    vec![
        age_since(last),
        text(&core, &["type"]),
        text(&core, &["reason"]),
        about.into(),
        text(involved, &["fieldPath"]),
        source.into(),
        shown(&core["message"]).trim().into(),
        age_since(first),
        count.into(),
        text(&core, &["metadata", "name"]),
    ]
}

fn node(object: &Value) -> Vec<Value> {
    let conditions = object::at(object, &["status", "conditions"]).and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Ready");
    let mut status = match ready.map(|condition| &condition["status"]) {
        Some(status) if *status == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if object["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let roles = object::labels(object)
        .into_iter()
        .flatten()
        .filter_map(|(label, value)| {
            let named = label
                .strip_prefix("node-role.kubernetes.io/")
                .filter(|role| !role.is_empty());
            named.or_else(|| {
                if label == "kubernetes.io/role" {
                    value.as_str()
                } else {
                    None
                }
            })
        });
    let mut roles: Vec<&str> = roles.collect();
    roles.sort_unstable();
    let roles = if roles.is_empty() {
        "<none>".to_owned()
    } else {
        roles.join(",")
    };
    let address = |kind: &str| {
        let addresses = object::at(object, &["status", "addresses"]).and_then(Value::as_array);
        let found = addresses
            .into_iter()
            .flatten()
            .find(|address| address["type"] == kind);
        found
            .and_then(|address| address["address"].as_str())
            .unwrap_or("<none>")
            .to_owned()
    };
    let info = |name: &str| match object::at(object, &["status", "nodeInfo", name]).and_then(Value::as_str) {
        None | Some("") => json!("<unknown>"),
        Some(text) => text.into(),
    };
    vec![
        text(object, &["metadata", "name"]),
        status.into(),
        roles.into(),
        age(object),
        text(object, &["status", "nodeInfo", "kubeletVersion"]),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

fn signing_request(object: &Value) -> Vec<Value> {
    let conditions = object::at(object, &["status", "conditions"]).and_then(Value::as_array);
    let types: Vec<&str> = conditions
        .into_iter()
        .flatten()
        .filter_map(|condition| condition["type"].as_str())
        .collect();
    let mut shown: Vec<&str> = ["Approved", "Denied", "Failed"]
        .into_iter()
        .filter(|kind| types.contains(kind))
        .collect();
    if shown.is_empty() {
        shown.push("Pending");
    }
    if object["status"]["certificate"]
        .as_str()
        .is_some_and(|certificate| !certificate.is_empty())
    {
        shown.push("Issued");
    }
    let duration = object["spec"]["expirationSeconds"].as_i64();
    let duration = duration.map_or("<none>".to_owned(), |seconds| {
        human_duration(chrono::TimeDelta::seconds(seconds))
    });
    vec![
        text(object, &["metadata", "name"]),
        age(object),
        text(object, &["spec", "signerName"]),
        text(object, &["spec", "username"]),
        duration.into(),
        shown.join(",").into(),
    ]
}
