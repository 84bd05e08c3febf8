//! Holds what the controllers of this crate need beside the [runtime's context](muster_controller::Context).

use std::ops::Deref;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use muster_api::ids::HostId;
use muster_controller::Error;
use muster_core::record::KubeRef;
use muster_workload::Workloads;

use crate::drives::Drives;

/// Shared by the controllers of Metal3's kinds.
pub struct Context {
    pub runtime: Arc<muster_controller::Context>,
    /// Clients of the clusters that hosts become nodes of.
    pub workloads: Arc<Workloads>,
    /// Empties the drives of machines that Metal3 leaves alone; `None`: the drives stay as they are.
    pub drives: Option<Arc<dyn Drives>>,
    pub records: Arc<dyn Records>,
}

/// Reads records of the service.
pub trait Records: Send + Sync {
    /// UUID of the board of this host in InfraEnvs of `namespace`, as its agent read it; empty: not known.
    fn system_uuid<'a>(&'a self, namespace: &'a str, host: HostId) -> BoxFuture<'a, Result<String, Error>>;

    /// Arguments of the kernel for the image of an InfraEnv; `None`: there is no image.
    fn kernel_line<'a>(&'a self, infra_env: &'a KubeRef) -> BoxFuture<'a, Result<Option<String>, Error>>;
}

impl Deref for Context {
    type Target = muster_controller::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}
