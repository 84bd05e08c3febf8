//! The threads of the Kubernetes side: the built-in API and the controllers.
//!
//! A user who may write custom resources can cause long computations here: rules of CEL, patches, large lists. Agents are answered by the
//! threads of the service's own runtime, to which the system gives its share of the processors regardless of these.

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// A runtime that may be dropped anywhere. Database connections that were opened in it end with it, so it must outlive the store.
pub(super) struct KubernetesRuntime(Option<Runtime>);

impl KubernetesRuntime {
    pub(super) fn open() -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .thread_name("kubernetes")
            .enable_all()
            .build()
            .context("threads for the Kubernetes API cannot be started")?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it is there until the drop").handle()
    }

    /// Runs `work` on its threads.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle().spawn(work)
    }

    /// Calls `start`: the tasks that it spawns run on its threads.
    pub(super) fn within<T>(&self, start: impl FnOnce() -> T) -> T {
        let _entered = self.handle().enter();
        start()
    }
}

impl Drop for KubernetesRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
