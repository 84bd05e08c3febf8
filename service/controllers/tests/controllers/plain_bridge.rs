//! A bridge for tests that change one setting of it, or none.

use kube::Client;
use muster_controllers::bridge::Bridge;
use muster_metal3::Flow;
use muster_outgoing::Networks;

/// The bridge with only the parts that a test requests.
pub fn plain_bridge(client: Client) -> Bridge {
    Bridge {
        client,
        lease: None,
        capi_provider: false,
        watch_filter: None,
        node_pools: false,
        mirror: false,
        metal3: Flow::Off,
        drives: None,
        namespaces: Default::default(),
        workload_networks: Networks::of_api_servers(&[], true),
        take_over: false,
    }
}
