//! The state of the listeners' handlers.

use std::ops::Deref;
use std::sync::Arc;

use muster_operations::Operations;

use crate::images::Downloads;

/// The parts of a running service, as handlers see them.
pub struct App {
    /// Everything that can be done.
    pub operations: Arc<Operations>,
    /// Running downloads.
    pub downloads: Downloads,
    /// Renders `/metrics`.
    pub metrics: metrics_exporter_prometheus::PrometheusHandle,
}

impl Deref for App {
    type Target = Operations;

    fn deref(&self) -> &Operations {
        &self.operations
    }
}
