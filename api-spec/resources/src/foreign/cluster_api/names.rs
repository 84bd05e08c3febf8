//! Names of labels, annotations, finalizers and conditions that Cluster API defines (docs/protocol/capi-agent-provider.md#7).

/// API group.
pub const GROUP: &str = "cluster.x-k8s.io";

/// On Machines, until their host and their Node are given back.
pub const MACHINE_FINALIZER: &str = "machine.cluster.x-k8s.io";
/// On Clusters, until their Machines and what they refer to are gone.
pub const CLUSTER_FINALIZER: &str = "cluster.cluster.x-k8s.io";

/// Label: name of the Cluster.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Label: name of the MachineDeployment; here of the NodePool, because its Machines have no MachineDeployment.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// Annotation: the Machine is deleted first when its owner is scaled down.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// Annotation: nothing is done with the object while it is there.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Annotation: the template that an infrastructure object was made from.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// Annotation: group and kind of that template.
pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// Annotation: the node is not drained.
pub const EXCLUDE_DRAIN: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
/// Prefix of annotations that hold the draining of a Machine's node.
pub const PRE_DRAIN_HOOK: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
/// Prefix of annotations that hold the deletion of a Machine's host.
pub const PRE_TERMINATE_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// Type of a Secret of a Cluster.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";
