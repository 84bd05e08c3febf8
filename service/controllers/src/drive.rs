//! Runs the controller of one kind: deadlines, retries, metrics, the end. All kinds are run by [`drive`].

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
use super::error::Error;
use super::retry::{Failures, RECONCILE_LIMIT};
use super::watch::Watched;

/// Reconciles of one kind at the same time, where nothing else is said.
pub const CONCURRENCY: u16 = 8;

/// Runs `controller` (with its watches and triggers) until `stop`. Reconciles that run then are finished.
///
/// An error of the object's writer waits for a change; anything else is tried again, later each time. After a
/// conflict the object is fetched anew.
pub async fn drive<K, R, F>(
    name: &'static str,
    concurrency: u16,
    controller: Controller<K>,
    context: Arc<Context>,
    stop: CancellationToken,
    reconcile: R,
) where
    K: Watched + Resource<Scope = NamespaceResourceScope>,
    R: Fn(Arc<K>, Arc<Context>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let failures = Arc::new(Failures::<ObjectRef<K>>::default());
    let reconcile = Arc::new(reconcile);
    let on_error = {
        let failures = failures.clone();
        move |object: Arc<K>, error: &Error, _| after(name, ObjectRef::from_obj(&*object), error, &failures)
    };
    controller
        .with_config(Config::default().concurrency(concurrency))
        .graceful_shutdown_on(async move { stop.cancelled().await })
        .run(
            move |object, context| {
                let (failures, reconcile) = (failures.clone(), reconcile.clone());
                async move {
                    let began = Instant::now();
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
                    let outcome = timeout(RECONCILE_LIMIT, work)
                        .await
                        .unwrap_or(Err(Error::Deadline(RECONCILE_LIMIT)));
                    measure(name, began.elapsed(), outcome.as_ref().err());
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
                // Logged where it was decided what follows; or a record whose object is not there (yet).
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

/// Decides what follows a failure.
fn after<K: Watched>(
    name: &'static str,
    object: ObjectRef<K>,
    error: &Error,
    failures: &Failures<ObjectRef<K>>,
) -> Action {
    if error.is_input() {
        tracing::debug!(controller = name, %object, %error, "waits for its writer");
        failures.clear(&object);
        return Action::await_change();
    }
    let (wait, times) = failures.add(object.clone(), error.is_conflict());
    // Only the first failure is a warning: there are many while the API server is away.
    if times == 1 && !error.is_conflict() {
        tracing::warn!(controller = name, %object, %error, "not reconciled; trying again");
    } else {
        tracing::debug!(controller = name, %object, %error, times, "not reconciled; trying again");
    }
    Action::requeue(wait)
}

/// Counts a reconcile.
pub fn measure(name: &'static str, took: Duration, error: Option<&Error>) {
    let outcome = match error {
        None => "ok",
        Some(error) if error.is_conflict() => "conflict",
        Some(error) if error.is_input() => "input",
        Some(_) => "failed",
    };
    metrics::counter!("muster_reconciles_total", "controller" => name, "outcome" => outcome).increment(1);
    metrics::histogram!("muster_reconcile_duration_seconds", "controller" => name).record(took.as_secs_f64());
}
