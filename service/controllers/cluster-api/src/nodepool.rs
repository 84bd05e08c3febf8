//! The part of Cluster API and HyperShift that the built-in Kubernetes API needs to scale a NodePool: a HostedCluster (platform Agent) and
//! its NodePools become a Cluster, an AgentCluster, Machines and AgentMachines. Source: docs/protocol/capi-agent-provider.md#8.
//!
//! With a real API server, these objects belong to the real Cluster API and HyperShift, and nothing here runs. The control plane
//! of a HostedCluster is not made: it exists, and its kubeconfig is in a Secret.
//!
//! | file | what |
//! |---|---|
//! | `hosted_cluster` | HostedClusters: namespace, Secrets, Cluster, HostedControlPlane, AgentCluster |
//! | `pool` | NodePools: AgentMachineTemplate, Machines, AgentMachines; scaling and rollouts |
//! | `cluster` | Clusters, as in Cluster API's core: phase, readiness, deletion in order |
//! | `machine` | Machines, as in Cluster API's core: phase, Node, drain, deletion in order |
//! | `objects` | objects of kinds without a type here, and how they are applied |
//! | `changed` | changes other than those of a status |
//! | `waits` | Events for waits |
//! | `places` | names of the objects that are made |

mod changed;
pub mod cluster;
pub mod hosted_cluster;
pub mod machine;
mod objects;
mod places;
pub mod pool;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::context::Context;

/// Time for which triggers are [debounced](muster_controller::debounce): Machines of one pool come and change together.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// Runs the controllers until `stop`.
pub async fn run(context: Arc<Context>, stop: CancellationToken) {
    tokio::join!(
        hosted_cluster::run(context.clone(), stop.clone()),
        pool::run(context.clone(), stop.clone()),
        cluster::run(context.clone(), stop.clone()),
        machine::run(context, stop),
    );
}
