use std::sync::Arc;

use muster_bmc::Client;
use muster_operations::Operations;

use crate::settings::Settings;

/// State shared by all work.
pub(crate) struct Context {
    pub operations: Arc<Operations>,
    pub client: Arc<Client>,
    pub settings: Settings,
    /// The name under which this process claims BMCs.
    pub who: String,
}
