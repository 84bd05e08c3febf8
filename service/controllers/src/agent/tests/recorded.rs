//! Compares Agents of hosts like the recorded ones with the recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_api::host::{HostKind, HostRole, HostStatus};
use muster_api::validation::ValidationsInfo;
use muster_controller::conditions::Synced;
use muster_core::record::{Host, HostState, NotBooted, Progress};
use muster_resources::names::annotation;
use muster_resources::{AgentStatus, DeprovisionInfo};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{at, cluster_id, host};
use crate::agent::{metadata, status};

#[derive(Deserialize)]
struct Moment {
    moment: String,
    agent: Value,
}

fn moments() -> Vec<Moment> {
    serde_json::from_str(include_str!("recorded.json")).expect("the recording is JSON")
}

/// The host behind a recorded Agent, by its annotations and status.
fn host_of(agent: &Value) -> Host {
    let annotation = |name: &str| {
        let value = &agent["metadata"]["annotations"][format!("agent.agent-install.openshift.io/{name}")];
        value.get("<json>").unwrap_or(value).clone()
    };
    let status = &agent["status"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let state: HostStatus = text(&annotation("state")).parse().expect("a known state");
    let mut host = host(state_of(state));
    host.inventory = serde_json::from_value(annotation("inventory")).ok().map(Arc::new);
    host.cluster_id = (status["kind"] != "Host").then(cluster_id);
    let data = &mut host.data;
    data.kind = if host.cluster_id.is_some() {
        HostKind::AddToExistingClusterHost
    } else {
        HostKind::Host
    };
    data.role = match text(&annotation("role")).as_str() {
        "worker" => HostRole::Worker,
        _ => HostRole::AutoAssign,
    };
    data.validations = checks(&annotation("validations-info"));
    data.installation_disk_id = text(&status["installation_disk_id"]);
    data.ntp_sources = serde_json::from_value(json!(status["ntpSources"].as_array().map(|sources| {
        let sources = sources.iter();
        let told =
            sources.map(|one| json!({"source_name": one["sourceName"], "source_state": one["sourceState"]}));
        told.collect::<Vec<_>>()
    })))
    .expect("sources");
    let progress = &status["progress"];
    data.progress = progress["currentStage"]
        .as_str()
        .and_then(|stage| stage.parse().ok())
        .map(|stage| Progress {
            stage,
            percentage: progress["installationPercentage"].as_i64().unwrap_or_default(),
            info: text(&progress["progressInfo"]),
            stage_started_at: at(0),
            stage_updated_at: at(0),
        });
    host
}

fn state_of(status: HostStatus) -> HostState {
    let all = HostState::one_of_each();
    let found = all.into_iter().find(|state| state.status() == status);
    found.unwrap_or(HostState::InstallingPendingUserAction {
        why: NotBooted::TooSlow,
    })
}

/// The checks, by category and id in the recording.
fn checks(recorded: &Value) -> ValidationsInfo {
    let Some(categories) = recorded.as_object() else {
        return ValidationsInfo::new();
    };
    let list = |checks: &Value| {
        let checks = checks.as_object().expect("checks by id").values();
        let checks = checks.map(|check| serde_json::from_value(check.clone()).expect("a check"));
        checks.collect()
    };
    categories
        .iter()
        .map(|(name, checks)| (name.clone(), list(checks)))
        .collect()
}

/// Converts to the form of the recording: conditions by type, checks by id, placeholders for wording and times.
fn folded(value: Value, key: &str) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(key, _)| key != "lastHeartbeatTime");
            Value::Object(
                members
                    .map(|(key, value)| (key.clone(), folded(value, &key)))
                    .collect(),
            )
        }
        Value::Array(items) => {
            let name = |item: &Value, by: &str| item.get(by).and_then(Value::as_str).map(str::to_owned);
            let by = if key == "conditions" { "type" } else { "id" };
            let named = (key == "conditions" || items.iter().all(|item| item.get("status").is_some()))
                && !items.is_empty();
            if named {
                let items = items
                    .into_iter()
                    .map(|item| (name(&item, by).unwrap_or_default(), folded(item, "")));
                return Value::Object(items.collect());
            }
            Value::Array(items.into_iter().map(|item| folded(item, "")).collect())
        }
        Value::String(_) if matches!(key, "message" | "stateInfo") => json!("<words>"),
        Value::String(_) if key.ends_with("Time") => json!("<time>"),
        Value::String(_) if key == "eventsURL" => json!("<eventsURL>"),
        other => other,
    }
}

fn differences(path: &str, ours: &Value, recorded: &Value, found: &mut Vec<String>) {
    match (ours, recorded) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let null = &Value::Null;
                let (a, b) = (a.get(key).unwrap_or(null), b.get(key).unwrap_or(null));
                differences(&format!("{path}/{key}"), a, b, found);
            }
        }
        _ if ours == recorded => {}
        _ => found.push(format!("{path}: {ours} where {recorded} was recorded")),
    }
}

#[test]
fn the_status_is_the_recorded_one_at_every_moment() {
    let mut before = AgentStatus::default();
    let mut found = Vec::new();
    for (index, Moment { moment, agent }) in moments().into_iter().enumerate() {
        let host = host_of(&agent);
        let approved = agent["spec"]["approved"] == true;
        let left = (moment.starts_with("unbound")).then(|| DeprovisionInfo {
            cluster_name: Some("hc1".into()),
            cluster_namespace: Some("wire".into()),
            node_name: Some("worker-5".into()),
            message: Some("why".into()),
        });
        let inputs = status::Inputs {
            host: &host,
            approved,
            synced: &Synced::Ok(None),
            waits: None,
            events_url: host.cluster_id.map(|_| "http://service/events"),
            logs_url: None,
            left: left.as_ref(),
            awaited: None,
        };
        let seconds = i64::try_from(index).expect("few moments");
        before = status::of_host(&inputs, &before, at(seconds));
        let mut recorded = agent["status"].clone();
        // Written by the approval of the node's certificate requests; here it is taken over from one moment
        // to the next.
        recorded.as_object_mut().expect("a status").remove("csrStatus");
        let ours = folded(json!(before), "");
        differences(&moment, &ours, &recorded, &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn conditions_stand_in_the_order_in_which_they_were_first_set() {
    let agent = &moments()[0].agent;
    let inputs = status::Inputs {
        host: &host_of(agent),
        approved: false,
        synced: &Synced::Ok(None),
        waits: None,
        events_url: None,
        logs_url: None,
        left: None,
        awaited: None,
    };
    let status = status::of_host(&inputs, &AgentStatus::default(), at(0));
    let types: Vec<&str> = status.conditions.iter().map(|one| one.type_.as_str()).collect();
    let order = [
        "SpecSynced",
        "Connected",
        "RequirementsMet",
        "Validated",
        "Installed",
        "Bound",
    ];
    assert_eq!(types, order);
}

#[test]
fn annotations_and_labels_are_the_recorded_ones() {
    let mut found = Vec::new();
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    for Moment { moment, agent } in moments() {
        let host = host_of(&agent);
        let namespace = host.cluster_id.map(|_| "wire");
        for (key, value) in metadata::labels(&host, namespace) {
            match value {
                Some(value) => kept.insert(key.to_owned(), value),
                None => kept.remove(key),
            };
        }
        let recorded: Map<String, Value> = agent["metadata"]["labels"]
            .as_object()
            .expect("labels")
            .iter()
            .filter(|(key, _)| key.starts_with("inventory.") || key.starts_with("agent-install."))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        differences(
            &format!("{moment}: labels"),
            &json!(kept),
            &Value::Object(recorded),
            &mut found,
        );

        let own = [annotation::AGENT_HOST_SINCE, annotation::AGENT_MACHINE];
        let ours = metadata::annotations(&host)
            .into_iter()
            .filter(|(key, _)| !own.contains(key));
        let ours = ours.map(|(key, value)| {
            let opened = serde_json::from_str::<Value>(&value)
                .ok()
                .filter(|_| value.starts_with('{'));
            let value = opened.map_or(json!(value), |json| json!({"<json>": unworded(json)}));
            (key.to_owned(), value)
        });
        let ours: Map<String, Value> = ours.collect();
        let mut recorded = agent["metadata"]["annotations"].clone();
        let told = &mut recorded["agent.agent-install.openshift.io/inventory"];
        if told.is_object() {
            told["<json>"]["gpus"] = json!([]);
        }
        if host.inventory.is_none() {
            recorded
                .as_object_mut()
                .expect("annotations")
                .remove("inventory.agent-install.openshift.io/version");
        }
        differences(
            &format!("{moment}: annotations"),
            &Value::Object(ours),
            &recorded,
            &mut found,
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Checks by id, and numbers as JavaScript writes them. An empty list of GPUs that a host did not send is `null`
/// in the recording; Muster writes a list everywhere, as agents send it.
fn unworded(value: Value) -> Value {
    match value {
        Value::Array(items) if items.iter().any(|item| item.get("message").is_some()) => {
            let items = items
                .into_iter()
                .map(|item| (item["id"].as_str().unwrap_or_default().to_owned(), item));
            Value::Object(items.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(unworded).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(key, value)| (key, unworded(value)))
                .collect(),
        ),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            if number.fract() == 0.0 {
                json!(number as i64)
            } else {
                json!(number)
            }
        }
        other => other,
    }
}
