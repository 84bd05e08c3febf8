//! Converts the spec and the status of Clusters.

use std::collections::BTreeMap;

use serde_json::Value;

use super::parts::{Members, V1BETA2, joined, put, reference, renamed, same, split, take};

const SPEC: [&str; 3] = ["paused", "clusterNetwork", "availabilityGates"];
const STATUS: [&str; 2] = ["phase", "observedGeneration"];
/// Members that v1beta1 has below `status.v1beta2`.
const NEWER: [&str; 3] = ["conditions", "controlPlane", "workers"];
const INITIALIZATION: [(&str, &str); 2] = [
    ("controlPlaneReady", "controlPlaneInitialized"),
    ("infrastructureReady", "infrastructureProvisioned"),
];

pub fn spec(mut from: Members, namespace: &str, to: &str) -> Members {
    let mut spec = Members::new();
    same(&mut from, &mut spec, &SPEC);
    for name in ["controlPlaneRef", "infrastructureRef"] {
        reference(&mut from, &mut spec, name, namespace, to);
    }
    if let Some(mut endpoint) = take(&mut from, "controlPlaneEndpoint") {
        // v1beta1 writes an endpoint that is not set as one without a name and with port 0.
        endpoint.retain(|_, value| *value != "" && *value != 0);
        put(&mut spec, "controlPlaneEndpoint", endpoint);
    }
    spec
}

pub fn status(mut from: Members, _: &str, to: &str) -> Members {
    let mut status = Members::new();
    same(&mut from, &mut status, &STATUS);
    let domains = from.remove("failureDomains");
    if to == V1BETA2 {
        let domains = domains.and_then(listed).filter(|domains| !domains.is_empty());
        if let Some(domains) = domains {
            status.insert("failureDomains".into(), domains.into());
        }
        let mut initialization = Members::new();
        for (older, newer) in INITIALIZATION {
            renamed(&mut from, older, &mut initialization, newer);
        }
        put(&mut status, "initialization", initialization);
        split(&mut from, &mut status, &NEWER);
        return status;
    }
    put(
        &mut status,
        "failureDomains",
        domains.and_then(by_name).unwrap_or_default(),
    );
    let mut initialization = take(&mut from, "initialization").unwrap_or_default();
    for (older, newer) in INITIALIZATION {
        renamed(&mut initialization, newer, &mut status, older);
    }
    joined(&mut from, &mut status, &NEWER);
    status
}

/// Failure domains as a list that is sorted by name.
fn listed(domains: Value) -> Option<Vec<Value>> {
    let Value::Object(domains) = domains else {
        return None;
    };
    let domains: BTreeMap<String, Value> = domains.into_iter().collect();
    let domains = domains.into_iter().filter_map(|(name, domain)| match domain {
        Value::Object(mut domain) => {
            domain.insert("name".into(), name.into());
            Some(Value::Object(domain))
        }
        _ => None,
    });
    Some(domains.collect())
}

/// Failure domains by name.
fn by_name(domains: Value) -> Option<Members> {
    let Value::Array(domains) = domains else {
        return None;
    };
    let domains = domains.into_iter().filter_map(|domain| match domain {
        Value::Object(mut domain) => match domain.remove("name") {
            Some(Value::String(name)) => Some((name, Value::Object(domain))),
            _ => None,
        },
        _ => None,
    });
    Some(domains.collect())
}
