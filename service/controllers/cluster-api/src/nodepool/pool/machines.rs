//! Creates, completes and deletes the Machines of a NodePool.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Patch};
use kube::{Api, ResourceExt};
use muster_api::time::{millis, now};
use muster_controller::conditions::{self, ConditionStatus, DesiredCondition};
use muster_controller::error::{Error, Failure, unless_absent};
use muster_controller::references::kube_ref;
use muster_controller::status as statuses;
use muster_controller::writes::{patch_params, post_params};
use muster_resources::cluster_api::names::{CLONED_FROM_NAME, DEPLOYMENT_NAME};
use muster_resources::cluster_api::{Machine, MachineDeletion};
use muster_resources::hypershift::{InPlaceUpgrade, NODE_POOL, NodePool};
use muster_resources::names::annotation;
use muster_resources::{AgentMachine, AgentMachineTemplate};
use muster_workload::node_settings;
use serde_json::{Value, json};

use super::desired::{self, Place, Target};
use super::repair::{self, Look, Repair};
use crate::context::Context;
use crate::nodepool::machine::in_place;
use crate::nodepool::machine::status::{Reason, Type};
use crate::nodepool::places;

/// Requests that are made at the same time.
const AT_ONCE: usize = 8;

fn of_pool(pool: &NodePool) -> ListParams {
    ListParams::default().labels(&format!("{DEPLOYMENT_NAME}={}", pool.name_any()))
}

/// True for objects of this pool, and not of one with the same name for another HostedCluster.
fn is_of(pool: &NodePool, object: &impl ResourceExt) -> bool {
    object.annotations().get(NODE_POOL) == Some(&places::annotation(&kube_ref(pool)))
}

/// Returns the Machines of a pool, by age and name.
pub async fn of(pool: &NodePool, namespace: &str, context: &Context) -> Result<Vec<Machine>, Error> {
    let api = Api::<Machine>::namespaced(context.client.clone(), namespace);
    let mut machines = api.list(&of_pool(pool)).await?.items;
    machines.retain(|machine| is_of(pool, machine));
    machines.sort_by_key(|machine| {
        let created = machine
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|created| created.0);
        (created, machine.name_any())
    });
    Ok(machines)
}

/// Creates this number of Machines.
pub async fn create(
    pool: &NodePool,
    place: &Place,
    target: &Target,
    count: usize,
    context: &Context,
) -> Result<Vec<Machine>, Error> {
    let api = Api::<Machine>::namespaced(context.client.clone(), &place.namespace);
    let make = |_| async {
        let (_, object) = desired::machine(pool, place, target);
        let machine = serde_json::from_value(object).map_err(|error| Error::Internal(error.to_string()))?;
        Ok::<_, Error>(api.create(&post_params(), &machine).await?)
    };
    stream::iter(0..count)
        .map(make)
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

/// Requests the deletion of these Machines.
pub async fn delete(names: &[String], place: &Place, context: &Context) -> Result<(), Error> {
    let api = Api::<Machine>::namespaced(context.client.clone(), &place.namespace);
    let params = DeleteParams::background();
    stream::iter(names)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, |name| async {
            unless_absent(api.delete(name, &params).await).map(drop)
        })
        .await
}

/// Begins the upgrades in place of these Machines' nodes. A Machine that changed since it was read is left for the next reconcile.
pub async fn upgrade(
    names: &[String],
    pool: &NodePool,
    place: &Place,
    (target, machines): (&Target, &[Machine]),
    context: &Context,
) -> Result<(), Error> {
    let api = Api::<Machine>::namespaced(context.client.clone(), &place.namespace);
    let Some(upgrade) = desired::upgrade(pool, target, millis(Some(now()))) else {
        return Ok(());
    };
    let text = serde_json::to_string(&upgrade).map_err(|error| Error::Internal(error.to_string()))?;
    let chosen = machines
        .iter()
        .filter(|machine| names.contains(&machine.name_any()));
    for machine in chosen {
        let metadata = json!({
            "resourceVersion": machine.resource_version(), "annotations": {annotation::IN_PLACE_UPGRADE: text},
        });
        let patch: Patch<Value> = Patch::Merge(json!({ "metadata": metadata }));
        match api.patch(&machine.name_any(), &patch_params(), &patch).await {
            Ok(_) => {
                tracing::info!(machine = %kube_ref(machine), "its node is upgraded in place");
            }
            // Its change triggers the next reconcile.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Replaces Machines with unhealthy nodes: the reason comes first, which the provider notes at the host. Shows the health of one that was to
/// be replaced and has recovered.
pub async fn repair(
    repairs: &[Repair],
    place: &Place,
    machines: &[Machine],
    context: &Context,
) -> Result<(), Error> {
    let type_: &str = Type::HealthCheckSucceeded.into();
    for machine in machines {
        let Some(before) = &machine.status else { continue };
        let shown = before.conditions.iter().find(|one| one.type_ == type_);
        let is_condemned = shown.is_some_and(|shown| shown.status == "False");
        let found = repairs.iter().find(|repair| repair.name == machine.name_any());
        let condition = match found {
            Some(repair) if !is_condemned => DesiredCondition::new(
                Type::HealthCheckSucceeded,
                ConditionStatus::False,
                repair.reason,
                &repair.why,
            ),
            None if is_condemned && repair::look(machine) == Look::Well => DesiredCondition::new(
                Type::HealthCheckSucceeded,
                ConditionStatus::True,
                Reason::NodeHealthy,
                "",
            ),
            _ => continue,
        };
        let mut next = before.clone();
        conditions::set(&mut next.conditions, condition, now());
        statuses::write(context, machine, Some(before), &next).await?;
    }
    for repair in repairs {
        tracing::warn!(machine = repair.name, why = repair.why, "a Machine is replaced");
    }
    let names: Vec<String> = repairs.iter().map(|repair| repair.name.clone()).collect();
    delete(&names, place, context).await
}

/// Creates missing AgentMachines: a reconcile can be interrupted between a Machine and its AgentMachine.
pub async fn complete(
    pool: &NodePool,
    place: &Place,
    spec: &Value,
    machines: &[Machine],
    context: &Context,
) -> Result<(), Error> {
    let api = Api::<AgentMachine>::namespaced(context.client.clone(), &place.namespace);
    let needs = |machine: &&Machine| {
        let initialization = machine
            .status
            .as_ref()
            .and_then(|status| status.initialization.clone());
        let was_there = initialization.is_some_and(|done| done.infrastructure_provisioned == Some(true));
        machine.metadata.deletion_timestamp.is_none() && !was_there
    };
    let open: Vec<&Machine> = machines.iter().filter(needs).collect();
    if open.is_empty() {
        return Ok(());
    }
    let present = api.list_metadata(&of_pool(pool)).await?;
    let present: BTreeSet<String> = present.items.iter().map(ResourceExt::name_any).collect();
    let missing = open
        .into_iter()
        .filter(|machine| !present.contains(&machine.name_any()));
    stream::iter(missing)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, |machine| async {
            let object = desired::agent_machine(pool, place, machine, spec);
            let object =
                serde_json::from_value(object).map_err(|error| Error::Internal(error.to_string()))?;
            match api.create(&post_params(), &object).await {
                Ok(_) => Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
        .await
}

/// Sets the timeouts of the pool and the settings of its Nodes on Machines, and marks each as up to date or not.
pub async fn propagate(
    pool: &NodePool,
    target: &Target,
    machines: &[Machine],
    context: &Context,
) -> Result<(), Error> {
    let wanted = desired::deletion(pool).unwrap_or_default();
    let timeouts = |deletion: &MachineDeletion| {
        (
            deletion.node_drain_timeout_seconds,
            deletion.node_volume_detach_timeout_seconds,
        )
    };
    for machine in machines {
        let present = machine.spec.deletion.clone().unwrap_or_default();
        let mut patch = json!({});
        if timeouts(&present) != timeouts(&wanted) {
            let (drain, detach) = timeouts(&wanted);
            let deletion =
                json!({"nodeDrainTimeoutSeconds": drain, "nodeVolumeDetachTimeoutSeconds": detach});
            patch["spec"] = json!({ "deletion": deletion });
        }
        if let Some(metadata) = node_settings::machine_metadata(machine, pool) {
            patch["metadata"] = metadata;
        }
        if patch != json!({}) {
            let patch = Patch::Merge(patch);
            let namespace = machine.namespace().unwrap_or_default();
            let api = Api::<Machine>::namespaced(context.client.clone(), &namespace);
            unless_absent(api.patch(&machine.name_any(), &patch_params(), &patch).await)?;
            // The change of the Machine triggers the next reconcile of the pool.
            continue;
        }
        up_to_date(machine, target, context).await?;
    }
    Ok(())
}

async fn up_to_date(machine: &Machine, target: &Target, context: &Context) -> Result<(), Error> {
    // The controller of Machines writes the status first.
    let Some(before) = &machine.status else {
        return Ok(());
    };
    let condition = if in_place::upgrade(machine).is_some() {
        let why = "its node is upgraded in place";
        DesiredCondition::new(Type::UpToDate, ConditionStatus::False, Reason::NotUpToDate, why)
    } else if desired::is_up_to_date(machine, target) {
        DesiredCondition::new(Type::UpToDate, ConditionStatus::True, Reason::UpToDate, "")
    } else {
        let why = "the NodePool requires other bootstrap data, or other Agents";
        DesiredCondition::new(Type::UpToDate, ConditionStatus::False, Reason::NotUpToDate, why)
    };
    let mut next = before.clone();
    conditions::set(&mut next.conditions, condition, now());
    match statuses::write(context, machine, Some(before), &next).await {
        // The controller of Machines was faster; its change triggers the next reconcile of the pool.
        Err(error) if error.is_conflict() || error.is_absent() => Ok(()),
        outcome => outcome,
    }
}

/// Deletes the templates and the copies of bootstrap data that no Machine is made from any more.
pub async fn clear(
    pool: &NodePool,
    place: &Place,
    target: &Target,
    machines: &[Machine],
    context: &Context,
) -> Result<(), Error> {
    let secrets = machines
        .iter()
        .filter_map(|machine| machine.spec.bootstrap.data_secret_name.as_ref());
    let upgrades: Vec<InPlaceUpgrade> = machines.iter().filter_map(in_place::upgrade).collect();
    let coming = upgrades.iter().map(|upgrade| &upgrade.data_secret_name);
    let secrets: BTreeSet<&String> = secrets.chain(&target.data_secret).chain(coming).collect();
    let templates = machines
        .iter()
        .filter_map(|machine| machine.annotations().get(CLONED_FROM_NAME));
    let coming = upgrades.iter().map(|upgrade| &upgrade.template);
    let templates: BTreeSet<&String> = templates.chain([&target.template]).chain(coming).collect();
    let api = Api::<Secret>::namespaced(context.client.clone(), &place.namespace);
    for found in api.list_metadata(&of_pool(pool)).await? {
        // Without data at present, earlier data can be provided again.
        if is_of(pool, &found) && target.data_secret.is_some() && !secrets.contains(&found.name_any()) {
            unless_absent(api.delete(&found.name_any(), &DeleteParams::default()).await)?;
        }
    }
    let api = Api::<AgentMachineTemplate>::namespaced(context.client.clone(), &place.namespace);
    for found in api.list_metadata(&of_pool(pool)).await? {
        if is_of(pool, &found) && !templates.contains(&found.name_any()) {
            unless_absent(api.delete(&found.name_any(), &DeleteParams::default()).await)?;
        }
    }
    Ok(())
}
