//! Events about clusters. Names and severities follow docs/protocol/events.tsv; the wording is ours, but for fixed texts that scripts
//! match.

use muster_api::event::{Category, Severity};
use muster_api::time::Timestamp;
use serde_json::{Map, Value};

use crate::record::{Cluster, MAX_MESSAGE, NewEvent};
use crate::text::cut;

fn about(
    cluster: &Cluster,
    name: &'static str,
    severity: Severity,
    message: &str,
    now: Timestamp,
) -> NewEvent {
    NewEvent {
        name: name.into(),
        severity,
        category: Category::User,
        message: cut(message, MAX_MESSAGE).to_owned(),
        props: Map::new(),
        host_id: None,
        infra_env_id: None,
        cluster_id: Some(cluster.id),
        at: now,
    }
}

/// A cluster that exists is known from now on.
pub fn registered(cluster: &Cluster, now: Timestamp) -> NewEvent {
    // Scripts match the text before the name.
    let message = format!("Successfully registered cluster {}", cluster.data.name);
    let name = "cluster_registration_succeeded";
    let mut event = about(cluster, name, Severity::Info, &message, now);
    event
        .props
        .insert("cluster_kind".into(), Value::String("AddHostsCluster".into()));
    event
}

/// A user set other proxies.
pub fn proxy_settings_changed(cluster: &Cluster, now: Timestamp) -> NewEvent {
    let message = format!("Proxy settings of cluster {} were changed", cluster.data.name);
    about(cluster, "proxy_settings_changed", Severity::Info, &message, now)
}

/// The cluster's record was deleted; the cluster itself keeps running.
pub fn deregistered(cluster: &Cluster, now: Timestamp) -> NewEvent {
    let message = format!("Cluster {} was deleted", cluster.data.name);
    about(cluster, "cluster_deregistered", Severity::Info, &message, now)
}

/// The cluster could not be deleted.
pub fn deregister_failed(cluster: &Cluster, why: &str, now: Timestamp) -> NewEvent {
    let message = format!("Cluster {} could not be deleted: {why}", cluster.data.name);
    about(
        cluster,
        "cluster_deregister_failed",
        Severity::Error,
        &message,
        now,
    )
}
