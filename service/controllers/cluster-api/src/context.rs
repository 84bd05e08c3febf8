//! Holds what the controllers of this crate need beside the [runtime's context](muster_controller::Context).

use std::ops::Deref;
use std::sync::Arc;

use kube::{Resource, ResourceExt};
use muster_resources::names::label;
use muster_workload::Workloads;

use crate::images::OfferedImages;

/// Shared by the controllers of Cluster API kinds and of node pools.
pub struct Context {
    pub runtime: Arc<muster_controller::Context>,
    /// Clients of the clusters that hosts become nodes of.
    pub workloads: Arc<Workloads>,
    /// The images that hosts can be installed with.
    pub images: Arc<dyn OfferedImages>,
    /// Value of the label `cluster.x-k8s.io/watch-filter` of the objects that the provider reconciles; `None`: it reconciles all.
    pub watch_filter: Option<String>,
}

impl Context {
    /// True unless the object is for another instance of the provider.
    pub fn is_ours(&self, object: &impl Resource) -> bool {
        let wanted = self.watch_filter.as_ref();
        wanted.is_none_or(|wanted| object.labels().get(label::CAPI_WATCH_FILTER) == Some(wanted))
    }
}

impl Deref for Context {
    type Target = muster_controller::Context;

    fn deref(&self) -> &Self::Target {
        &self.runtime
    }
}
