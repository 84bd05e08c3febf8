//! Reconciles one BMC: reads the objects that it refers to, brings its record in line, writes its status.

use std::sync::Arc;

use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use muster_controller::conditions::Synced;
use muster_controller::events::warning;
use muster_controller::finalizers;
use muster_controller::references::kube_ref;
use muster_controller::retry::RETRY_INTERVAL;
use muster_core::record;
use muster_core::record::KubeRef;
use muster_operations::bmcs::{BmcProblem, Following};
use muster_operations::{OperationError, now};
use muster_resources::{Bmc, names};

use super::conditions::Found;
use super::delete;
use super::status::status;
use super::wanted::{asked, refused, wanted};
use crate::context::Context;
use crate::error::{Error, Refusal};

/// Brings record and status in line with the resource.
pub async fn reconcile(bmc: Arc<Bmc>, context: Arc<Context>) -> Result<Action, Error> {
    let Some(bmc) = newest(bmc, &context).await? else {
        return Ok(Action::await_change());
    };
    if bmc.metadata.deletion_timestamp.is_some() {
        return delete::delete(&bmc, &context).await;
    }
    let api = api(&context, &bmc);
    let bmc = match finalizers::set(&api, &*bmc, names::finalizer::BMC).await? {
        Some(newer) => Arc::new(newer),
        None => bmc,
    };
    match converge(&bmc, &context).await {
        Ok(following) => {
            if let Some(why) = following.refused {
                let event = warning("Discover", "NotDiscoveredAgain", &why);
                context
                    .events
                    .publish(event, kube::Resource::object_ref(&*bmc, &()));
            }
            let found = Found {
                record: Some(&following.bmc),
                synced: Synced::Ok(None),
                waits: following.waits.as_deref(),
                blocked: None,
            };
            write(&bmc, &context, &found).await?;
            Ok(Action::await_change())
        }
        Err(Refusal::Input { why, retry }) => {
            let record = context.operations.bmcs.find_by_kube(&kube_ref(&*bmc)).await?;
            let found = Found {
                record: record.as_ref(),
                synced: Synced::Input(why),
                waits: None,
                blocked: None,
            };
            write(&bmc, &context, &found).await?;
            Ok(retry.map_or_else(Action::await_change, Action::requeue))
        }
        Err(Refusal::Later(error)) => Err(error),
    }
}

/// The latest version of the resource, if `bmc` seems to request something: a request of an older version is not repeated.
async fn newest(bmc: Arc<Bmc>, context: &Context) -> Result<Option<Arc<Bmc>>, Error> {
    let stored = context.operations.bmcs.find_by_kube(&kube_ref(&*bmc)).await?;
    let known = stored.and_then(|stored| stored.resource);
    if known.is_none_or(|known| known.asked == asked(&bmc)) {
        return Ok(Some(bmc));
    }
    let newest = api(context, &bmc).get_opt(&bmc.name_any()).await?;
    Ok(newest.map(Arc::new))
}

async fn converge(bmc: &Bmc, context: &Context) -> Result<Following, Refusal> {
    let infra_env = KubeRef::new(bmc.namespace().unwrap_or_default(), &bmc.spec.infra_env_ref.name);
    let Some(found) = context.operations.infra_envs.find_by_kube(&infra_env).await? else {
        return Err(Refusal::Input {
            why: format!(
                "spec.infraEnvRef: there is no InfraEnv {infra_env} yet, or it is not made; it goes on when it is"
            ),
            retry: None,
        });
    };
    let wanted = wanted(bmc, context).await?;
    let followed = context
        .operations
        .bmcs
        .follow(&kube_ref(bmc), found.id, &wanted)
        .await;
    followed.map_err(not_followed)
}

fn not_followed(error: OperationError) -> Refusal {
    match error {
        OperationError::Invalid(invalid) => refused(&invalid),
        // Another BMC is in the way, and no watch shows that.
        OperationError::Bmc(problem @ (BmcProblem::Taken(_) | BmcProblem::NotNow(_))) => Refusal::Input {
            why: problem.to_string(),
            retry: Some(RETRY_INTERVAL),
        },
        error => error.into(),
    }
}

/// Writes the status, if it differs from the one that was read.
pub(super) async fn write(bmc: &Bmc, context: &Context, found: &Found<'_>) -> Result<(), Error> {
    let before = bmc.status.as_ref();
    let next = status(bmc, found, now());
    Ok(muster_controller::status::write(context, bmc, before, &next).await?)
}

pub(super) fn api(context: &Context, bmc: &Bmc) -> Api<Bmc> {
    let namespace = bmc.namespace().unwrap_or_default();
    Api::namespaced(context.client.clone(), &namespace)
}

/// True while a host runs from the medium: removing it would stop the host's system.
pub(super) fn runs_from_medium(record: &record::Bmc) -> bool {
    let left = record.progress.leftover.as_ref();
    left.is_some_and(|left| left.in_use)
}
