//! Converts the spec and the status of Machines.

use super::parts::{
    Members, V1BETA2, joined, put, reference, renamed, same, seconds_to_timeouts, split, take,
    timeouts_to_seconds,
};

const SPEC: [&str; 5] = [
    "clusterName",
    "version",
    "providerID",
    "failureDomain",
    "readinessGates",
];
const STATUS: [&str; 6] = [
    "nodeInfo",
    "lastUpdated",
    "addresses",
    "certificatesExpiryDate",
    "observedGeneration",
    "deletion",
];
const INITIALIZATION: [(&str, &str); 2] = [
    ("bootstrapReady", "bootstrapDataSecretCreated"),
    ("infrastructureReady", "infrastructureProvisioned"),
];

pub fn spec(mut from: Members, namespace: &str, to: &str) -> Members {
    let mut spec = Members::new();
    same(&mut from, &mut spec, &SPEC);
    reference(&mut from, &mut spec, "infrastructureRef", namespace, to);
    if let Some(mut bootstrap) = take(&mut from, "bootstrap") {
        let mut converted = Members::new();
        same(&mut bootstrap, &mut converted, &["dataSecretName"]);
        reference(&mut bootstrap, &mut converted, "configRef", namespace, to);
        // It is required in both versions.
        spec.insert("bootstrap".into(), converted.into());
    }
    if to == V1BETA2 {
        timeouts_to_seconds(&mut from, &mut spec);
    } else {
        seconds_to_timeouts(&mut from, &mut spec);
    }
    spec
}

pub fn status(mut from: Members, _: &str, to: &str) -> Members {
    let mut status = Members::new();
    same(&mut from, &mut status, &STATUS);
    if to == V1BETA2 {
        same(&mut from, &mut status, &["phase"]);
        if let Some(mut node) = take(&mut from, "nodeRef") {
            let mut converted = Members::new();
            same(&mut node, &mut converted, &["name"]);
            put(&mut status, "nodeRef", converted);
        }
        let mut initialization = Members::new();
        for (older, newer) in INITIALIZATION {
            renamed(&mut from, older, &mut initialization, newer);
        }
        put(&mut status, "initialization", initialization);
        split(&mut from, &mut status, &["conditions"]);
        return status;
    }
    if let Some(phase) = from.remove("phase") {
        // v1beta1 does not know it.
        let phase = if phase == "Updating" {
            "Running".into()
        } else {
            phase
        };
        status.insert("phase".into(), phase);
    }
    if let Some(mut node) = take(&mut from, "nodeRef")
        && node.contains_key("name")
    {
        let mut converted = Members::new();
        converted.insert("apiVersion".into(), "v1".into());
        converted.insert("kind".into(), "Node".into());
        same(&mut node, &mut converted, &["name"]);
        put(&mut status, "nodeRef", converted);
    }
    let mut initialization = take(&mut from, "initialization").unwrap_or_default();
    for (older, newer) in INITIALIZATION {
        renamed(&mut initialization, newer, &mut status, older);
    }
    joined(&mut from, &mut status, &["conditions"]);
    status
}
