//! Upgrades the node of a Machine in place: same Machine, same host, same name.
//!
//! | step | what | known again after an interruption by |
//! |---|---|---|
//! | drain | cordons the node and evicts its pods, as for a deletion | the AgentMachine has no request of this upgrade |
//! | request | names the new bootstrap data and template; requests that the host is installed again | the request of the AgentMachine |
//! | old Node | is deleted when its host is in discovery and its kubelet is silent | its uid, in the annotation of the upgrade |
//! | end | the new node is ready; takes new pods again | the annotation of the upgrade is gone |
//!
//! The NodePool begins an upgrade by an annotation of the Machine ([`IN_PLACE_UPGRADE`]), and the infrastructure provider shows in the
//! AgentMachine's `status.reinstall` how far the host is. A Node is deleted, since pods and taints of its former system do not describe the
//! next one, and never while its kubelet reports: a name whose Node lives is given to no other machine. The kubelet of the next system gets
//! no certificate before (`join::assess`).

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::Patch;
use kube::{Api, ResourceExt};
use muster_api::time::{Timestamp, now};
use muster_controller::conditions::{ConditionStatus, time};
use muster_controller::error::{Error, unless_absent, words};
use muster_controller::writes::patch_params;
use muster_resources::cluster_api::Machine;
use muster_resources::cluster_api::names::{CLONED_FROM_NAME, EXCLUDE_DRAIN};
use muster_resources::hypershift::InPlaceUpgrade;
use muster_resources::names::annotation::{IN_PLACE_UPGRADE, REINSTALL};
use muster_resources::{AgentMachine, AgentMachineTemplate, Reinstall, ReinstallPhase, ReinstallRequest};
use muster_workload::Workload;
use muster_workload::drain::Drained;
use muster_workload::in_place::is_former;
pub use muster_workload::in_place::upgrade;
use muster_workload::node::read;
use serde_json::{Value, json};

use super::delete;
use super::node::kubeconfig;
use super::reconcile::namespace;
use super::status::{Reason, Updating};
use crate::context::Context;

/// Between two checks of what no watch shows.
const INTERVAL: Duration = Duration::from_secs(5);

/// The outcome of a step.
pub enum Step {
    /// There is no upgrade.
    None,
    /// The Machine was changed, which triggers the next reconcile.
    Changed,
    /// It goes on, or has failed; with the time after which to check again.
    Shown(Updating, Option<Duration>),
}

/// True if the condition of the Machine shows that the upgrade which it has failed.
pub fn has_failed(machine: &Machine) -> bool {
    let failed: &str = Reason::InPlaceUpdateFailed.into();
    let conditions = machine.status.iter().flat_map(|status| &status.conditions);
    let upgrade = upgrade(machine);
    let began = upgrade.and_then(|upgrade| upgrade.began.parse::<Timestamp>().ok());
    // A condition of an earlier attempt is older than this one.
    conditions
        .filter(|one| one.type_ == "Updating" && one.reason == failed)
        .any(|one| began.is_none_or(|began| one.last_transition_time.0.as_second() >= began.timestamp()))
}

/// Does the next step.
///
/// # Errors
/// Fails if the API server does, with a conflict if an object changed. A workload cluster that fails is shown.
pub async fn step(machine: &Machine, context: &Context) -> Result<Step, Error> {
    let Some(upgrade) = upgrade(machine) else {
        return Ok(Step::None);
    };
    let name = &machine.spec.infrastructure_ref.name;
    let api = Api::<AgentMachine>::namespaced(context.client.clone(), &namespace(machine));
    let Some(own) = api.get_opt(name).await? else {
        return Ok(shown(format!("waits for the AgentMachine {name}"), None));
    };
    if requested(&own).as_deref() != Some(upgrade.began.as_str()) {
        if let Some(waiting) = drained(machine, &upgrade, context).await {
            return Ok(waiting);
        }
        return request(machine, &own, &upgrade, context).await;
    }
    let status = own.status.as_ref().and_then(|status| status.reinstall.as_ref());
    let Some(reinstall) = status.filter(|shown| shown.requested == upgrade.began) else {
        let what = "waits for the infrastructure provider to have its host installed again; only Muster's own does so";
        return Ok(shown(what.into(), None));
    };
    follow(machine, &upgrade, reinstall, context).await
}

fn shown(message: String, again: Option<Duration>) -> Step {
    let updating = Updating {
        status: ConditionStatus::True,
        reason: Reason::InPlaceUpdating,
        message,
    };
    Step::Shown(updating, again)
}

fn failed(message: String) -> Step {
    let updating = Updating {
        status: ConditionStatus::False,
        reason: Reason::InPlaceUpdateFailed,
        message,
    };
    Step::Shown(updating, None)
}

/// Time of the last request to install the host again.
fn requested(own: &AgentMachine) -> Option<String> {
    let text = own.annotations().get(REINSTALL)?;
    let request: ReinstallRequest = serde_json::from_str(text).ok()?;
    Some(request.requested)
}

/// Drains the node; `None`: it is drained, or its time is over, or there is none.
async fn drained(machine: &Machine, upgrade: &InPlaceUpgrade, context: &Context) -> Option<Step> {
    if machine.annotations().contains_key(EXCLUDE_DRAIN) {
        return None;
    }
    let node = node_name(machine)?;
    let why = match delete::look(machine, node, context).await {
        Ok(Drained::Yes) => return None,
        Ok(Drained::Waiting(why)) => why,
        // Its pods are not known, so the node stays as it is.
        Err(why) => {
            let what = format!("waits for the workload cluster, to drain the node {node}: {why}");
            return Some(shown(what, Some(INTERVAL)));
        }
    };
    let began = upgrade.began.parse::<Timestamp>().unwrap_or_else(|_| now());
    let until = match delete::timeout(machine) {
        Some(limit) if delete::is_over(&time(began), limit, now()) => return None,
        Some(limit) => format!("until {}", delete::deadline(&time(began), limit)),
        None => "without a limit: nodeDrainTimeout of the NodePool would set one".to_owned(),
    };
    let what = format!("the node {node} is drained, {until}; {why}");
    Some(shown(what, Some(INTERVAL)))
}

fn node_name(machine: &Machine) -> Option<&str> {
    let status = machine.status.as_ref()?;
    Some(status.node_ref.as_ref()?.name.as_str())
}

/// Makes Machine and AgentMachine name what the host is installed with, and requests that. The Machine comes first: the provider waits until
/// it names the bootstrap data of the request.
async fn request(
    machine: &Machine,
    own: &AgentMachine,
    upgrade: &InPlaceUpgrade,
    context: &Context,
) -> Result<Step, Error> {
    let templates = Api::<AgentMachineTemplate>::namespaced(context.client.clone(), &namespace(machine));
    let Some(template) = templates.get_opt(&upgrade.template).await? else {
        let what = format!("waits for the AgentMachineTemplate {}", upgrade.template);
        return Ok(shown(what, Some(INTERVAL)));
    };
    let upgrade = &InPlaceUpgrade {
        node_uid: match &upgrade.node_uid {
            Some(uid) => Some(uid.clone()),
            None => node_uid(machine, context).await,
        },
        ..upgrade.clone()
    };
    let is_recorded = self::upgrade(machine).is_some_and(|recorded| recorded.node_uid == upgrade.node_uid);
    let origin = machine.annotations().get(CLONED_FROM_NAME);
    let is_named = origin == Some(&upgrade.template)
        && machine.spec.bootstrap.data_secret_name.as_ref() == Some(&upgrade.data_secret_name)
        && machine.spec.version == upgrade.version;
    if !is_named || !is_recorded {
        let recorded = serde_json::to_string(upgrade).map_err(|error| Error::Internal(error.to_string()))?;
        let patch: Patch<Value> = Patch::Merge(json!({
            "metadata": {
                "resourceVersion": machine.resource_version(),
                "annotations": {CLONED_FROM_NAME: upgrade.template, IN_PLACE_UPGRADE: recorded},
            },
            "spec": {"bootstrap": {"dataSecretName": upgrade.data_secret_name}, "version": upgrade.version},
        }));
        let api = Api::<Machine>::namespaced(context.client.clone(), &namespace(machine));
        unless_absent(api.patch(&machine.name_any(), &patch_params(), &patch).await)?;
        return Ok(Step::Changed);
    }
    let request = ReinstallRequest {
        requested: upgrade.began.clone(),
        data_secret_name: Some(upgrade.data_secret_name.clone()),
    };
    let request = serde_json::to_string(&request).map_err(|error| Error::Internal(error.to_string()))?;
    let spec = &template.spec.template.spec;
    let patch: Patch<Value> = Patch::Merge(json!({
        "metadata": {
            "resourceVersion": own.resource_version(),
            "annotations": {REINSTALL: request, CLONED_FROM_NAME: upgrade.template},
        },
        "spec": {"osImage": spec.os_image},
    }));
    let api = Api::<AgentMachine>::namespaced(context.client.clone(), &namespace(machine));
    unless_absent(api.patch(&own.name_any(), &patch_params(), &patch).await)?;
    tracing::info!(machine = machine.name_any(), "its host is to be installed again");
    Ok(shown("its host is to be installed again".into(), None))
}

/// The uid of the Machine's Node; `None`: it has none, or the workload cluster does not respond. Then the age of a Node decides.
async fn node_uid(machine: &Machine, context: &Context) -> Option<String> {
    let name = node_name(machine)?;
    let workload = workload(machine, context).await.ok()?;
    let api = Api::<Node>::all(workload.client.clone());
    let found = api.get_opt(name).await.ok().flatten();
    found.filter(|node| delete::is_of(machine, node))?.uid()
}

/// Follows the host.
async fn follow(
    machine: &Machine,
    upgrade: &InPlaceUpgrade,
    reinstall: &Reinstall,
    context: &Context,
) -> Result<Step, Error> {
    let message = |what: &str| match reinstall.message.as_str() {
        "" => what.to_owned(),
        message => format!("{what}: {message}"),
    };
    Ok(match reinstall.phase {
        ReinstallPhase::Waiting => shown(message("its host is to be installed again"), None),
        ReinstallPhase::Leaving => shown(message("its host leaves its former system"), None),
        ReinstallPhase::Installing => {
            let what = message("its host is installed again");
            match old_node(machine, upgrade, context).await {
                None => shown(what, None),
                Some(waits) => shown(format!("{what}; {waits}"), Some(INTERVAL)),
            }
        }
        ReinstallPhase::Done => match schedulable(machine, context).await {
            Ok(()) => return end(machine, context).await,
            Err(why) => shown(format!("waits for the workload cluster: {why}"), Some(INTERVAL)),
        },
        ReinstallPhase::Failed => failed(message("the installation of its host failed")),
        ReinstallPhase::Refused => {
            // Nothing was done with the node.
            if let Err(why) = schedulable(machine, context).await {
                tracing::warn!(machine = machine.name_any(), why, "a node stays cordoned");
            }
            failed(message("its host cannot be installed again"))
        }
    })
}

async fn workload(machine: &Machine, context: &Context) -> Result<std::sync::Arc<Workload>, String> {
    let secret = kubeconfig(&namespace(machine), &machine.spec.cluster_name);
    let workload = context.workloads.of_secret(&secret).await;
    workload.map_err(|error| error.to_string())
}

/// Deletes the Node of the former system, once its kubelet is silent. Returns what that waits for; `None`: it is done, or not necessary.
async fn old_node(machine: &Machine, upgrade: &InPlaceUpgrade, context: &Context) -> Option<String> {
    let name = node_name(machine)?;
    let try_it = async {
        let workload = workload(machine, context).await?;
        let api = Api::<Node>::all(workload.client.clone());
        let found = api.get_opt(name).await.map_err(|error| words(&error))?;
        let Some(found) = found.filter(|node| delete::is_of(machine, node)) else {
            return Ok(None);
        };
        let facts = read(&found);
        if facts.is_leaving || !is_former(&facts, upgrade) {
            return Ok(None);
        }
        if facts.is_heard() {
            return Ok(Some(format!(
                "the Node {name} of its former system goes when its kubelet counts as silent"
            )));
        }
        let deleted = delete::delete_node(&api, &found).await;
        deleted.map_err(|error| error.to_string())?;
        tracing::info!(node = name, "the Node of a former system was deleted");
        Ok::<_, String>(None)
    };
    match try_it.await {
        Ok(waits) => waits,
        Err(why) => Some(format!(
            "the Node {name} of its former system cannot be deleted: {why}"
        )),
    }
}

/// Lets the node take pods again.
///
/// # Errors
/// Returns the reason why the cluster cannot be changed.
async fn schedulable(machine: &Machine, context: &Context) -> Result<(), String> {
    let Some(name) = node_name(machine) else {
        return Ok(());
    };
    let workload = workload(machine, context).await?;
    let api = Api::<Node>::all(workload.client.clone());
    let found = api.get_opt(name).await.map_err(|error| words(&error))?;
    let Some(found) = found.filter(|node| delete::is_of(machine, node)) else {
        return Ok(());
    };
    if found.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true) {
        return Ok(());
    }
    let patch: Patch<Value> = Patch::Merge(json!({"spec": {"unschedulable": null}}));
    let patched = unless_absent(api.patch(name, &patch_params(), &patch).await);
    patched.map(drop).map_err(|error| error.to_string())
}

/// Removes the annotation of the upgrade.
async fn end(machine: &Machine, context: &Context) -> Result<Step, Error> {
    let patch: Patch<Value> = Patch::Merge(json!({"metadata": {
        "resourceVersion": machine.resource_version(), "annotations": {IN_PLACE_UPGRADE: null},
    }}));
    let api = Api::<Machine>::namespaced(context.client.clone(), &namespace(machine));
    unless_absent(api.patch(&machine.name_any(), &patch_params(), &patch).await)?;
    tracing::info!(machine = machine.name_any(), "its node was upgraded in place");
    Ok(Step::Changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(annotation: Option<&str>, updating: Option<(&str, &str)>) -> Machine {
        let annotations = match annotation {
            Some(text) => json!({IN_PLACE_UPGRADE: text}),
            None => json!({}),
        };
        let conditions = match updating {
            Some((reason, at)) => {
                json!([{"type": "Updating", "status": "False", "reason": reason, "message": "", "lastTransitionTime": at}])
            }
            None => json!([]),
        };
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "m", "annotations": annotations}, "spec": {}, "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn a_failure_is_that_of_the_present_attempt() {
        let good = r#"{"began":"2026-11-22T15:00:00.000Z","dataSecretName":"d","template":"t"}"#;
        let failed = |reason, at| has_failed(&machine(Some(good), Some((reason, at))));
        assert!(failed("InPlaceUpdateFailed", "2026-11-22T15:00:01Z"));
        assert!(!failed("InPlaceUpdateFailed", "2026-11-22T14:00:00Z"));
        assert!(!failed("NotUpdating", "2026-11-22T15:00:01Z"));
        assert!(!has_failed(&machine(Some(good), None)));
    }
}
