//! Carries the id of the present request to the events that it causes.

use std::sync::Arc;

use muster_store::Store;

tokio::task_local! {
    static CURRENT: Arc<str>;
}

/// Runs `work` under a request's id.
pub async fn scope<F: Future>(id: &str, work: F) -> F::Output {
    CURRENT.scope(id.into(), work).await
}

/// The id of the present request; `None` in background jobs.
pub fn current() -> Option<String> {
    CURRENT.try_with(|id| id.to_string()).ok()
}

/// The store for writes of the present request: their events name it. Background jobs have no request id.
pub(crate) fn naming(store: &Store) -> Store {
    match CURRENT.try_with(Arc::clone) {
        Ok(id) => store.on_behalf_of(id),
        Err(_) => store.clone(),
    }
}
