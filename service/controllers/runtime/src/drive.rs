//! Runs the controller of one kind: deadlines, retries, metrics, shutdown. All kinds are run by [`drive`].

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::{self, Action, Config, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Resource};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::error::{Error, Failure};
use super::retry::{Failures, RECONCILE_LIMIT};
use super::watch::Watched;

/// Default number of reconciles of one kind at the same time.
pub const CONCURRENCY: u16 = 8;

/// Runs `controller` (with its watches and triggers) until `stop`. Reconciles that are running then are finished.
///
/// After an error in the object's spec it waits for a change; anything else is tried again, later each time. After a
/// conflict the object is read again.
pub async fn drive<K, R, F, E, C>(
    name: &'static str,
    concurrency: u16,
    controller: Controller<K>,
    context: Arc<C>,
    stop: CancellationToken,
    reconcile: R,
) where
    K: Watched + Resource<Scope = NamespaceResourceScope>,
    R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: Failure,
    C: Deref<Target = Context> + Send + Sync + 'static,
{
    let failures = Arc::new(Failures::<ObjectRef<K>>::default());
    let reconcile = Arc::new(reconcile);
    let on_error = {
        let failures = failures.clone();
        move |object: Arc<K>, error: &E, _| after(name, ObjectRef::from_obj(&*object), error, &failures)
    };
    controller
        .with_config(Config::default().concurrency(concurrency))
        .graceful_shutdown_on(async move { stop.cancelled().await })
        .run(
            move |object, context| {
                let (failures, reconcile) = (failures.clone(), reconcile.clone());
                async move {
                    let reference = ObjectRef::from_obj(&*object);
                    let is_outdated = failures.is_outdated(&reference);
                    let work = async {
                        let object = if is_outdated {
                            fetched(&reference, &context).await?
                        } else {
                            Some(object)
                        };
                        match object {
                            Some(object) => reconcile(object, context).await,
                            None => Ok(Action::await_change()),
                        }
                    };
                    let outcome = attempt(name, work).await;
                    if outcome.is_ok() {
                        failures.clear(&reference);
                    }
                    outcome
                }
            },
            on_error,
            context,
        )
        .for_each(async |outcome| {
            match outcome {
                // Logged where the next step was decided; or the event of a record without an object (yet).
                Ok(_)
                | Err(controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_)) => {}
                Err(error) => tracing::debug!(controller = name, %error, "a trigger failed"),
            }
        })
        .await;
}

async fn fetched<K>(reference: &ObjectRef<K>, context: &Context) -> Result<Option<Arc<K>>, Error>
where
    K: Watched + Resource<Scope = NamespaceResourceScope>,
{
    let namespace = reference.namespace.as_deref().unwrap_or_default();
    let api = Api::<K>::namespaced(context.client.clone(), namespace);
    Ok(api.get_opt(&reference.name).await?.map(Arc::new))
}

/// Decides how to continue after a failure.
fn after<K: Watched>(
    name: &'static str,
    object: ObjectRef<K>,
    error: &impl Failure,
    failures: &Failures<ObjectRef<K>>,
) -> Action {
    if error.is_input() {
        tracing::debug!(controller = name, %object, %error, "waits for its writer");
        failures.clear(&object);
        return Action::await_change();
    }
    let (wait, times) = failures.add(object.clone(), error.is_conflict());
    // Only the first failure is a warning: there are many while the API server is unavailable.
    if times == 1 && !error.is_conflict() {
        tracing::warn!(controller = name, %object, %error, "not reconciled; trying again");
    } else {
        tracing::debug!(controller = name, %object, %error, times, "not reconciled; trying again");
    }
    Action::requeue(wait)
}

/// Runs one reconcile within [`RECONCILE_LIMIT`], and counts it.
///
/// # Errors
/// [`Error::Deadline`]; else those of `work`.
pub async fn attempt<T, E: Failure>(
    name: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let began = Instant::now();
    let outcome = timeout(RECONCILE_LIMIT, work)
        .await
        .unwrap_or_else(|_| Err(Error::Deadline(RECONCILE_LIMIT).into()));
    measure(name, began.elapsed(), outcome.as_ref().err());
    outcome
}

/// Counts a reconcile.
fn measure(name: &'static str, took: Duration, error: Option<&impl Failure>) {
    let outcome = match error {
        None => "ok",
        Some(error) if error.is_conflict() => "conflict",
        Some(error) if error.is_input() => "input",
        Some(_) => "failed",
    };
    metrics::counter!("muster_reconciles_total", "controller" => name, "outcome" => outcome).increment(1);
    metrics::histogram!("muster_reconcile_duration_seconds", "controller" => name).record(took.as_secs_f64());
    // The names of controller-runtime, which dashboards have.
    let result = if error.is_some() { "error" } else { "success" };
    metrics::counter!("controller_runtime_reconcile_total", "controller" => name, "result" => result)
        .increment(1);
    metrics::counter!("controller_runtime_reconcile_errors_total", "controller" => name)
        .increment(u64::from(error.is_some()));
    metrics::histogram!("controller_runtime_reconcile_time_seconds", "controller" => name)
        .record(took.as_secs_f64());
}
