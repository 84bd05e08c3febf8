//! Reconciles one NodePool: reads the objects that it refers to, creates and deletes Machines, writes its status.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_api::time::now;
use muster_controller::error::Error;
use muster_controller::references::kube_ref;
use muster_controller::retry::{RETRY_INTERVAL, soonest};
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::{finalizers, status as statuses};
use muster_core::rules::ignition::check_bootstrap;
use muster_resources::cluster_api::Cluster;
use muster_resources::hypershift::{AGENT, FINALIZER, HostedCluster, NodePool, UpgradeType};
use muster_resources::{AgentMachineTemplate, names};
use serde_json::Value;

use super::desired::{self, Place, Target};
use super::plan::{View, plan, rolling};
use super::repair::{self, Decision, Rules, Ward};
use super::status::{Outcome, Reason, Repairs, status};
use super::{delete, machines};
use crate::context::Context;
use crate::nodepool::{objects, places, waits};

/// Brings a pool's Machines in line with it.
pub async fn reconcile(pool: Arc<NodePool>, context: Arc<Context>, ward: &Ward) -> Result<Action, Error> {
    let namespace = pool.namespace().unwrap_or_default();
    if pool.metadata.deletion_timestamp.is_some() {
        ward.forget(&kube_ref(&*pool));
        return delete::delete(&pool, &context).await;
    }
    if objects::is_paused(pool.spec.paused_until.as_deref(), now()) {
        write(&pool, &context, &Outcome::Paused).await?;
        return Ok(Action::requeue(RETRY_INTERVAL));
    }
    if pool.spec.platform.type_ != AGENT {
        let why = format!("spec.platform.type: only {AGENT} is served here");
        write(
            &pool,
            &context,
            &Outcome::Refused(Reason::UnsupportedPlatform, why),
        )
        .await?;
        return Ok(Action::await_change());
    }
    if let Err(why) = desired::check_scaling(&pool) {
        write(&pool, &context, &Outcome::Refused(Reason::ValidationFailed, why)).await?;
        return Ok(Action::await_change());
    }
    if let Err(why) = desired::architecture(&pool) {
        let outcome = Outcome::Refused(Reason::UnsupportedPlatform, why);
        write(&pool, &context, &outcome).await?;
        return Ok(Action::await_change());
    }
    let api = Api::<NodePool>::namespaced(context.client.clone(), &namespace);
    let pool = match finalizers::set(&api, &pool, FINALIZER).await? {
        Some(newer) => Arc::new(newer),
        None => pool,
    };
    let (place, rules) = match place(&pool, &context).await? {
        Ok(found) => found,
        Err((reason, why)) => {
            write(&pool, &context, &Outcome::Refused(reason, why)).await?;
            return Ok(Action::requeue(RETRY_INTERVAL));
        }
    };
    let (template, object) = desired::template(&pool, &place);
    let template_spec = object["spec"]["template"]["spec"].clone();
    objects::apply::<AgentMachineTemplate>(&context.client, &template, object).await?;
    let data = data_secret(&pool, &place, &context).await?;
    let target = Target {
        data_secret: data.as_ref().ok().cloned(),
        template: template.name,
        in_place: pool.spec.management.upgrade_type == UpgradeType::InPlace,
    };
    let mended = Mended { ward, rules: &rules };
    converge(
        &pool,
        &context,
        &place,
        (&target, &template_spec),
        data.err(),
        mended,
    )
    .await
}

/// What repairs depend on.
#[derive(Clone, Copy)]
struct Mended<'a> {
    ward: &'a Ward,
    rules: &'a Rules,
}

/// Returns the place of the pool's objects and the rules of repairs; an `Err` names what is missing.
async fn place(
    pool: &NodePool,
    context: &Context,
) -> Result<Result<(Place, Rules), (Reason, String)>, Error> {
    let namespace = pool.namespace().unwrap_or_default();
    let name = &pool.spec.cluster_name;
    let hosted = Api::<HostedCluster>::namespaced(context.client.clone(), &namespace);
    let Some(hosted) = hosted.get_opt(name).await? else {
        let why = format!("spec.clusterName: there is no HostedCluster {name} in the namespace {namespace}");
        return Ok(Err((Reason::HostedClusterNotFound, why)));
    };
    let wait = |why: String| Ok(Err((Reason::WaitingForCluster, why)));
    let cluster = places::cluster(&hosted);
    let clusters = Api::<Cluster>::namespaced(context.client.clone(), &cluster.namespace);
    let found = clusters.get_opt(&cluster.name).await?;
    let Some(found) = found.filter(|cluster| cluster.metadata.deletion_timestamp.is_none()) else {
        return wait(format!(
            "waits for the HostedCluster {name} to have its Cluster {cluster}"
        ));
    };
    let rules = repair::rules(pool, &hosted);
    let agent = hosted.spec.platform.agent.unwrap_or_default();
    let place = Place {
        namespace: cluster.namespace,
        cluster: cluster.name,
        cluster_uid: found.uid().unwrap_or_default(),
        agent_namespace: agent.agent_namespace,
    };
    Ok(Ok((place, rules)))
}

/// Copies the bootstrap data; an `Err` names what is missing.
async fn data_secret(
    pool: &NodePool,
    place: &Place,
    context: &Context,
) -> Result<Result<String, String>, Error> {
    let given = places::user_data(&pool.namespace().unwrap_or_default(), &pool.name_any());
    let key = names::key::CAPI_VALUE;
    let data = match secrets::read_secret(&context.client, &given.namespace, &given.name, key).await {
        Ok(data) => data,
        Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
        Err(error) => {
            return Ok(Err(format!(
                "{error}: create the Secret {given} with the key {key}: the Ignition config that nodes boot with, whole or as a \
                 pointer to the Ignition server"
            )));
        }
    };
    if let Err(why) = check_ignition(data.reveal()) {
        return Ok(Err(format!("the Secret {given}, key {key}: {why}")));
    }
    let (name, object) = desired::data_secret(pool, place, data.reveal());
    objects::apply::<k8s_openapi::api::core::v1::Secret>(&context.client, &name, object).await?;
    Ok(Ok(name.name))
}

/// Checks that bootstrap data are Ignition, version 3. The error quotes none of them.
fn check_ignition(data: &str) -> Result<(), String> {
    let config: Value = serde_json::from_str(data)
        .map_err(|_| "it is no JSON; an Ignition config of version 3 is expected")?;
    let version = config["ignition"]["version"].as_str().unwrap_or_default();
    if version.starts_with("3.") {
        check_bootstrap(data).map_err(|why| format!("it {why}"))
    } else {
        Err("it is no Ignition config of version 3 (ignition.version)".into())
    }
}

async fn converge(
    pool: &NodePool,
    context: &Context,
    place: &Place,
    (target, template_spec): (&Target, &Value),
    missing: Option<String>,
    mended: Mended<'_>,
) -> Result<Action, Error> {
    let mut present = machines::of(pool, &place.namespace, context).await?;
    let health = match pool.spec.management.auto_repair {
        true => mended.ward.look(&kube_ref(pool), &present, mended.rules, now()),
        false => {
            mended.ward.forget(&kube_ref(pool));
            Decision::default()
        }
    };
    machines::repair(&health.repair, place, &present, context).await?;
    if !health.repair.is_empty() {
        present = machines::of(pool, &place.namespace, context).await?;
    }
    let alive = present
        .iter()
        .filter(|machine| machine.metadata.deletion_timestamp.is_none());
    let wanted = desired::wanted(pool, alive.count());
    let views: Vec<View> = present
        .iter()
        .map(|machine| desired::view(machine, target))
        .collect();
    let mut plan = plan(&views, wanted, rolling(&pool.spec.management, wanted));
    if missing.is_some() {
        plan.create = 0;
        plan.upgrade.clear();
    }
    machines::delete(&plan.delete, place, context).await?;
    machines::upgrade(&plan.upgrade, pool, place, (target, &present[..]), context).await?;
    let made = machines::create(pool, place, target, plan.create, context).await?;
    present.extend(made);
    if !plan.delete.is_empty() || !plan.upgrade.is_empty() {
        present = machines::of(pool, &place.namespace, context).await?;
    }
    machines::complete(pool, place, template_spec, &present, context).await?;
    machines::propagate(pool, target, &present, context).await?;
    machines::clear(pool, place, target, &present, context).await?;
    let has_missing = missing.is_some();
    let outcome = Outcome::Reconciled {
        machines: &present,
        target,
        wanted,
        missing,
        repairs: Repairs {
            held: health.held,
            mistakes: &mended.rules.mistakes,
        },
    };
    let overdue = write(pool, context, &outcome).await?;
    // A Secret that was never read is not watched.
    let missing = has_missing.then_some(RETRY_INTERVAL);
    Ok(soonest([missing, health.again, overdue]))
}

/// Writes the status. Returns the time after which to check whether the wait that it shows is overdue.
pub(super) async fn write(
    pool: &NodePool,
    context: &Context,
    outcome: &Outcome<'_>,
) -> Result<Option<Duration>, Error> {
    let mut next = status(pool, outcome, now());
    let overdue = waits::tell::<Reason>(context, pool, &mut next.conditions, &[("Ready", "True")]);
    statuses::write(context, pool, pool.status.as_ref(), &next).await?;
    Ok(overdue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrap_data_are_ignition_and_errors_hold_nothing_of_them() {
        assert_eq!(check_ignition(r#"{"ignition":{"version":"3.2.0"}}"#), Ok(()));
        for bad in ["", "hunter2", "{}", r#"{"ignition":{"version":"2.2.0"}}"#] {
            let why = check_ignition(bad).unwrap_err();
            assert!(why.contains("version 3") && !why.contains("hunter"), "{why}");
        }
        let refused = r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"hunter2"}]}}"#;
        let why = check_ignition(refused).unwrap_err();
        assert!(
            why.contains("storage.files.0.path") && !why.contains("hunter"),
            "{why}"
        );
    }
}
