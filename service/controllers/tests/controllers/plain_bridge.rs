//! A bridge for tests that change one thing of it, or nothing.

use kube::Client;
use muster_controllers::bridge::Bridge;
use muster_controllers::metal3::Flow;

/// The bridge with nothing that a test does not ask for.
pub fn plain_bridge(client: Client) -> Bridge {
    Bridge {
        client,
        lease: None,
        capi_provider: false,
        node_pools: false,
        mirror: false,
        metal3: Flow::Off,
        drives: None,
        namespaces: Default::default(),
        take_over: false,
    }
}
