//! Reconciles one AgentQuota: counts the Agents of its consumer, and writes its status when it differs.

use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt;
use kube::runtime::controller::Action;
use muster_api::time::now;
use muster_controller::error::{Error, is_forbidden};
use muster_controller::status::write;
use muster_resources::AgentQuota;

use super::counts::Counts;
use super::status::{Counted, Found, status};
use crate::capi::provider::Provider;

/// Brings the status of the quota in line with the Agents. Another instance of the provider writes that of quotas for it.
pub async fn reconcile(
    object: Arc<AgentQuota>,
    provider: Arc<Provider>,
    counts: Arc<Counts>,
) -> Result<Action, Error> {
    if !provider.context.is_ours(&*object) {
        return Ok(Action::await_change());
    }
    if !knows_consumer(&object, &provider) {
        forget(&object);
        return Ok(Action::await_change());
    }
    let found = find(&object, &provider, &counts);
    measure(&object, &found);
    let before = object.status.as_ref();
    let next = status(before, &object, &found, now());
    match write(&provider.context, &*object, before, &next).await {
        // HyperShift's Roles have no right for it: what is to read quotas need not write them.
        Err(Error::Kube(error)) if is_forbidden(&error) && provider.context.only_pool().is_some() => {
            tracing::debug!(quota = object.name_any(), "its status may not be written");
        }
        written => written?,
    }
    Ok(Action::await_change())
}

/// True if the AgentMachines of the consumer are served here: two providers that count them differently would overwrite each other for ever.
fn knows_consumer(object: &AgentQuota, provider: &Provider) -> bool {
    let consumer = object.spec.consumer.machines_namespace();
    provider.context.namespaces.contains(&consumer) && !provider.context.turns.is_of_others(&consumer)
}

fn find(object: &AgentQuota, provider: &Provider, counts: &Counts) -> Found {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let count = counts.of(&namespace, provider);
    let quotas = &count.quotas;
    if let Some(why) = quotas.invalid.get(&name) {
        return Found::Invalid(why.clone());
    }
    if let Some(older) = quotas.duplicates.get(&name) {
        return Found::Duplicate(older.clone());
    }
    let Some(at) = quotas.in_force.iter().position(|one| one.name == name) else {
        // It was deleted a moment ago.
        return Found::Unknown;
    };
    let machines = &quotas.in_force[at].consumer;
    let waiting = provider.claims.queue.number(&namespace, machines, Instant::now());
    Found::Counts(Counted {
        usage: count.usage[at],
        reserved: quotas.in_force[at].reserved(),
        limit: quotas.in_force[at].limit,
        waiting,
    })
}

/// The gauges of a quota: number by name.
fn measure(object: &AgentQuota, found: &Found) {
    let Found::Counts(counted) = found else {
        forget(object);
        return;
    };
    set(object, "muster_agent_quota_used", counted.usage.used);
    set(object, "muster_agent_quota_held", counted.usage.held);
    set(object, "muster_agent_quota_reserved", counted.reserved);
    set(object, "muster_agent_quota_waiting", counted.waiting);
    match counted.limit {
        Some(limit) => set(object, "muster_agent_quota_limit", limit),
        None => gauge_of(object, "muster_agent_quota_limit").set(f64::NAN),
    }
}

/// Ends the gauges of a quota that counts no more: a series that exists stays, without a number.
pub fn forget(object: &AgentQuota) {
    for gauge in [
        "muster_agent_quota_used",
        "muster_agent_quota_held",
        "muster_agent_quota_reserved",
        "muster_agent_quota_waiting",
        "muster_agent_quota_limit",
    ] {
        gauge_of(object, gauge).set(f64::NAN);
    }
}

fn set(object: &AgentQuota, gauge: &'static str, number: usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    gauge_of(object, gauge).set(f64::from(number));
}

fn gauge_of(object: &AgentQuota, gauge: &'static str) -> metrics::Gauge {
    let namespace = object.namespace().unwrap_or_default();
    metrics::gauge!(gauge, "namespace" => namespace, "quota" => object.name_any())
}
