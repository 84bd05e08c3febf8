//! Holds what the controllers of this crate need beside the [runtime's context](muster_controller::Context).

use std::ops::Deref;
use std::sync::Arc;

use muster_workload::Workloads;

use crate::images::OfferedImages;

/// Shared by the controllers of Cluster API kinds and of node pools.
pub struct Context {
    pub runtime: Arc<muster_controller::Context>,
    /// Clients of the clusters that hosts become nodes of.
    pub workloads: Arc<Workloads>,
    /// The images that hosts can be installed with.
    pub images: Arc<dyn OfferedImages>,
}

impl Deref for Context {
    type Target = muster_controller::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}
