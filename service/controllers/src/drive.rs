//! How a kube-rs controller is run here: errors, retries, metrics, the end.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use kube::Resource;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::ObjectRef;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::{Context, Error};

/// Reconciles of one kind at the same time.
const CONCURRENCY: u16 = 8;

/// Before what failed is tried again, and before something that nobody tells of is looked for again. Source: docs/protocol/kube-controllers.md#0.
pub const AGAIN: Duration = Duration::from_secs(10);

/// Before what met another's write is tried again.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// Runs `controller` (with its watches and triggers) until `stop`. Reconciles that run then are finished.
///
/// An error of the object's writer waits for a change; a conflict is looked at again at once; anything else after ten seconds.
pub async fn drive<K, R, F>(
    name: &'static str,
    controller: Controller<K>,
    context: Arc<Context>,
    stop: CancellationToken,
    reconcile: R,
) where
    K: Clone + Resource<DynamicType = ()> + DeserializeOwned + Debug + Send + Sync + 'static,
    R: Fn(Arc<K>, Arc<Context>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, Error>> + Send + 'static,
{
    controller
        .with_config(Config::default().concurrency(CONCURRENCY))
        .graceful_shutdown_on(async move { stop.cancelled().await })
        .run(
            move |object, context| {
                let began = Instant::now();
                let reconciled = reconcile(object, context);
                async move {
                    let outcome = reconciled.await;
                    measure(name, began.elapsed(), outcome.as_ref().err());
                    outcome
                }
            },
            move |object, error, _| {
                let object = ObjectRef::from_obj(&*object);
                after(name, &object, error)
            },
            context,
        )
        .for_each(async |outcome| {
            use kube::runtime::controller::Error as Trouble;
            match outcome {
                // Told where it was decided what follows, or a record whose object is not there (yet).
                Ok(_) | Err(Trouble::ReconcilerFailed(..) | Trouble::ObjectNotFound(_)) => {}
                Err(error) => {
                    tracing::debug!(controller = name, %error, "a watch was interrupted; it goes on by itself");
                }
            }
        })
        .await;
}

/// What follows a failure.
fn after<K: Resource<DynamicType = ()>>(name: &'static str, object: &ObjectRef<K>, error: &Error) -> Action {
    if error.is_conflict() {
        return Action::requeue(AFTER_CONFLICT);
    }
    if error.is_input() {
        tracing::debug!(controller = name, %object, %error, "waiting for its writer");
        return Action::await_change();
    }
    tracing::warn!(controller = name, %object, %error, "not reconciled; trying again");
    Action::requeue(AGAIN)
}

/// Counts a reconcile. Also for those that are not run by [`drive`].
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
