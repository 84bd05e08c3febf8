//! Names of labels, annotations, finalizers and keys that clients use (docs/protocol/kube-controllers.md#0).

/// Name of the Lease of the replica that runs the controllers.
pub const LEASE: &str = "77190dcb.agent-install.openshift.io";

/// Name of the Lease by which a provider of Cluster API serves the namespace that it is in: that of cluster-api-provider-agent. Source:
/// docs/protocol/capi-agent-provider.md#1.
pub const PROVIDER_LEASE: &str = "7605f49b.agent-install.openshift.io";

/// API groups.
pub mod group {
    /// AgentClusterInstall.
    pub const HIVE_EXTENSIONS: &str = "extensions.hive.openshift.io";
    /// AgentCluster, AgentClusterTemplate, AgentMachine, AgentMachineTemplate.
    pub const CAPI_PROVIDER: &str = "capi-provider.agent-install.openshift.io";
    /// Cluster, Machine.
    pub const CAPI: &str = "cluster.x-k8s.io";
    /// Control-plane providers of Cluster API: KubeadmControlPlane, RKE2ControlPlane, K0sControlPlane and others.
    pub const CAPI_CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
    /// BMC, AgentQuota. Specific to Muster.
    pub const MUSTER: &str = "muster.dev";
    /// HostedCluster, HostedControlPlane.
    pub const HYPERSHIFT: &str = "hypershift.openshift.io";
}

/// Namespaces.
pub mod namespace {
    /// On the built-in API: what mirrors the InfraEnvs and clusters that REST made.
    pub const MIRROR: &str = "muster-rest";
}

/// Finalizers: what holds an object until the service has cleared up behind it.
pub mod finalizer {
    /// On Agents.
    pub const AGENT: &str = "agent.agent-install.openshift.io/ai-deprovision";
    /// On InfraEnvs.
    pub const INFRA_ENV: &str = "infraenv.agent-install.openshift.io/ai-deprovision";
    /// On ClusterDeployments.
    pub const CLUSTER_DEPLOYMENT: &str = "clusterdeployments.agent-install.openshift.io/ai-deprovision";
    /// On AgentClusterInstalls.
    pub const AGENT_CLUSTER_INSTALL: &str = "agentclusterinstall.agent-install.openshift.io/ai-deprovision";
    /// On AgentMachines.
    pub const AGENT_MACHINE: &str = "agentmachine.agent-install.openshift.io/deprovision";
    /// On AgentRemediations: a reboot that was requested and not carried out is withdrawn first.
    pub const AGENT_REMEDIATION: &str = "agentremediation.agent-install.openshift.io/withdraw";
    /// On AgentClusters. There is no dot after "agentcluster".
    pub const AGENT_CLUSTER: &str = "agentclustercapi-provider.agent-install.openshift.io/deprovision";
    /// On BMCs: the image is ejected from the BMC first.
    pub const BMC: &str = "bmc.muster.dev/deprovision";
    /// On AgentClassifications. It has no part after a slash.
    pub const AGENT_CLASSIFICATION: &str = "agentclassification.agent-install.openshift.io";
}

/// Keys of labels.
pub mod label {
    /// On Agents, BareMetalHosts and PreprovisioningImages: name of their InfraEnv.
    pub const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";
    /// On Agents: namespace of their ClusterDeployment; empty while unbound.
    pub const CLUSTER_DEPLOYMENT_NAMESPACE: &str = "agent-install.openshift.io/clusterdeployment-namespace";
    /// On Secrets and ConfigMaps that are used; its value is `true`.
    pub const WATCH: &str = "agent-install.openshift.io/watch";
    /// On objects that a backup of the management cluster shall contain; its value is `true`.
    pub const BACKUP: &str = "cluster.open-cluster-management.io/backup";
    /// On Agents: `true` when a disk does not rotate.
    pub const STORAGE_HAS_NON_ROTATIONAL_DISK: &str =
        "inventory.agent-install.openshift.io/storage-hasnonrotationaldisk";
    /// On Agents: architecture of the processors.
    pub const CPU_ARCHITECTURE: &str = "inventory.agent-install.openshift.io/cpu-architecture";
    /// On Agents: whether the processors can run virtual machines.
    pub const CPU_VIRT_ENABLED: &str = "inventory.agent-install.openshift.io/cpu-virtenabled";
    /// On Agents: maker of the machine.
    pub const HOST_MANUFACTURER: &str = "inventory.agent-install.openshift.io/host-manufacturer";
    /// On Agents: model of the machine.
    pub const HOST_PRODUCT_NAME: &str = "inventory.agent-install.openshift.io/host-productname";
    /// On Agents: whether it is a virtual machine.
    pub const HOST_IS_VIRTUAL: &str = "inventory.agent-install.openshift.io/host-isvirtual";
    /// Prefix of labels of AgentClassifications; `labelKey` follows.
    pub const CLASSIFICATION_PREFIX: &str = "agentclassification.agent-install.openshift.io/";
    /// On Agents that an AgentMachine has taken: its name.
    pub const AGENT_MACHINE_REF: &str = "agentMachineRef";
    /// On ClusterDeployments that an AgentCluster made: its name.
    pub const AGENT_CLUSTER_REF: &str = "agentClusterRef";
    /// On Secrets that hand bootstrap data to Agents; its value is `true`.
    pub const CAPI_BOOTSTRAP: &str = "capi-provider.agent-install.openshift.io/bootstrap";
    /// On objects of Cluster API: name of their Cluster.
    pub const CAPI_CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// On Machines and AgentMachines of a control plane; its value does not matter.
    pub const CAPI_CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
    /// On objects of Cluster API: the one of several instances of a provider that reconciles them (`--watch-filter`).
    pub const CAPI_WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
    /// On Agents and nodes: the failure domain that they are in.
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    /// On mirrors of objects that were made by REST: the id of the object. Specific to Muster.
    pub const MIRROR_OF: &str = "agent-install.openshift.io/mirror-of";
    /// On NMStateConfigs of a mirrored InfraEnv: the name of its resource, which selects them. Specific to Muster.
    pub const MIRRORED_NETWORK: &str = "agent-install.openshift.io/mirrored-network";
    /// On AgentClusterInstalls: user of the cluster; becomes the cluster's tags.
    pub const CONSUMER: &str = "agentclusterinstalls.agent-install.openshift.io/consumer";
}

/// Keys of annotations.
pub mod annotation {
    /// On InfraEnvs, `true`: hosts prove by a key of their own that they are the ones that registered, and others are refused.
    pub const REQUIRE_HOST_KEYS: &str = "infraenv.agent-install.openshift.io/require-host-keys";
    /// On Agents, `true`: failures of the host count no more. Removed when that is done. Specific to Muster.
    pub const AGENT_FORGET_FAILURES: &str = "agent.agent-install.openshift.io/forget-failures";
    /// On Agents, `retry` or `skip`: another attempt to erase the disks of the host, or none. Removed when that is done. Specific to Muster.
    pub const AGENT_ERASE: &str = "agent.agent-install.openshift.io/erase";
    /// On Agents: the reason for which the Machine of the host's node was replaced. Removed when the failure is counted. Specific to
    /// Muster.
    pub const AGENT_NODE_FAILED: &str = "agent.agent-install.openshift.io/node-failed";
    /// On Agents: what is left in the cluster stays as it is when the Agent is deleted; also the node that its host is.
    pub const SKIP_SPOKE_CLEANUP: &str = "agent.agent-install.openshift.io/skip-spoke-cleanup";
    /// On Agents: state of the host.
    pub const AGENT_STATE: &str = "agent.agent-install.openshift.io/state";
    /// On Agents: role of the host.
    pub const AGENT_ROLE: &str = "agent.agent-install.openshift.io/role";
    /// On Agents: the inventory as the host sent it, JSON text.
    pub const AGENT_INVENTORY: &str = "agent.agent-install.openshift.io/inventory";
    /// On Agents: what the checks found, JSON text.
    pub const AGENT_VALIDATIONS_INFO: &str = "agent.agent-install.openshift.io/validations-info";
    /// On Agents: stage of the installation.
    pub const AGENT_CURRENT_STAGE: &str = "agent.agent-install.openshift.io/current-stage";
    /// On Agents: first registration of the host, microseconds since 1970. A host that was deleted and registers again is another one.
    /// Specific to Muster.
    pub const AGENT_HOST_SINCE: &str = "agent.agent-install.openshift.io/host-since";
    /// On Agents: public key and fingerprint of its machine, JSON text: a host that is restored from its Agent belongs to that machine.
    /// Specific to Muster.
    pub const AGENT_MACHINE: &str = "agent.agent-install.openshift.io/machine";
    /// On Agents: keys of node labels that come from the InfraEnv, sorted, with commas between.
    pub const AGENT_INHERITED_NODE_LABELS: &str = "agent.agent-install.openshift.io/inherited-node-labels";
    /// On Agents: version of the inventory's labels.
    pub const INVENTORY_VERSION: &str = "inventory.agent-install.openshift.io/version";
    /// Value of [`INVENTORY_VERSION`].
    pub const INVENTORY_VERSION_VALUE: &str = "0.1";
    /// On Agents of mirrored InfraEnvs: digests of the last common state of their hosts and their specs, JSON text. Specific to Muster.
    pub const AGENT_AGREED: &str = "agent.agent-install.openshift.io/agreed";
    /// On Agents: requests that the host, a node of the cluster that the Agent names, reboots: the time of the request, RFC 3339. Each time
    /// is one request; removing it withdraws one that is not carried out yet. Specific to Muster.
    pub const AGENT_REBOOT_REQUESTED: &str = "agent.agent-install.openshift.io/reboot-requested";
    /// On Agents: the last request to reboot the host, and its outcome, JSON text ([`AgentReboot`](crate::AgentReboot)). Specific to Muster.
    pub const AGENT_REBOOT: &str = "agent.agent-install.openshift.io/reboot";
    /// On Agents: requests that the host, a node of the cluster that the Agent names, is installed again in that cluster, on the same disk, with
    /// what the Agent names then: the time of the request, RFC 3339. Each time is one request. Specific to Muster.
    pub const AGENT_REINSTALL_REQUESTED: &str = "agent.agent-install.openshift.io/reinstall-requested";
    /// On Agents: the last request to install the host again, and its outcome, JSON text ([`AgentReboot`](crate::AgentReboot)). Specific to
    /// Muster.
    pub const AGENT_REINSTALL: &str = "agent.agent-install.openshift.io/reinstall";
    /// On AgentMachines: requests that their host is installed again, as a node of the same cluster, JSON text
    /// ([`ReinstallRequest`](crate::ReinstallRequest)). Specific to Muster.
    pub const REINSTALL: &str = "capi-provider.agent-install.openshift.io/reinstall";
    /// On NodePools of the built-in API: the image for the disks, as `spec.osImage` of AgentMachines. Specific to Muster.
    pub const NODE_POOL_OS_IMAGE: &str = "capi-provider.agent-install.openshift.io/os-image";
    /// On Machines of a NodePool of the built-in API: what their node is upgraded to in place, JSON text
    /// ([`InPlaceUpgrade`](crate::hypershift::InPlaceUpgrade)). Removed when that is done. Specific to Muster.
    pub const IN_PLACE_UPGRADE: &str = "upgrade.muster/in-place";
    /// On Agents that an AgentMachine has taken: its namespace.
    pub const AGENT_MACHINE_REF_NAMESPACE: &str = "agentMachineRefNamespace";
    /// On Agents: the image for the disk, by a name in the operator's list. Counts while the host is in a cluster. Specific to Muster.
    pub const AGENT_OS_IMAGE: &str = "agent.agent-install.openshift.io/os-image";
    /// On Agents: the Kubernetes version that the image for the disk must have, without `v`. Counts while the host is in a cluster.
    /// Specific to Muster.
    pub const AGENT_KUBERNETES_VERSION: &str = "agent.agent-install.openshift.io/kubernetes-version";
    /// On InfraEnvs: further namespaces of AgentMachines that may take its Agents, with commas between; its own is always allowed. Specific
    /// to Muster.
    pub const INFRA_ENV_OPEN_TO: &str = "infraenv.agent-install.openshift.io/agents-for-namespaces";
    /// On AgentClusters and AgentMachines: the namespace of the Agents to take, if their InfraEnv names that of the AgentMachine; without
    /// it, the AgentMachine's own.
    pub const AGENT_NAMESPACE: &str = "capi-provider.agent-install.openshift.io/agent-namespace";
    /// On AgentMachines: processors that the Agent must have. Of the Agents with enough, the smallest is taken.
    pub const MINIMUM_CPUS: &str = "capi-provider.agent-install.openshift.io/minimum-cpus";
    /// On AgentMachines: memory that the Agent must have, as a quantity (`64Gi`).
    pub const MINIMUM_MEMORY: &str = "capi-provider.agent-install.openshift.io/minimum-memory";
    /// On AgentMachines: size that a disk of the Agent must have, as a quantity.
    pub const MINIMUM_DISK: &str = "capi-provider.agent-install.openshift.io/minimum-disk";
    /// On AgentMachines and AgentClusters: when a host counts as provisioned, `rebooted` (it was started from its disk) or `joined` (its
    /// Node is Ready). Specific to Muster.
    pub const PROVISIONED: &str = "capi-provider.agent-install.openshift.io/provisioned";
    /// On Agents that were taken for a control plane: the role that their spec had before. Specific to Muster.
    pub const ROLE_BEFORE: &str = "capi-provider.agent-install.openshift.io/role-before";
    /// On objects of Cluster API: controllers do not reconcile them.
    pub const CAPI_PAUSED: &str = "cluster.x-k8s.io/paused";
    /// On AgentClusters: somebody else, which the value names, reconciles them.
    pub const CAPI_MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// On objects that `clusterctl move` has copied to another management cluster and deletes in this one: what they stand for stays.
    pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
    /// On Machines: they are not terminated while it is there.
    pub const PRE_TERMINATE_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";
    /// On Clusters: namespace and name of their HostedCluster.
    pub const HOSTED_CLUSTER: &str = "hypershift.openshift.io/cluster";
    /// On InfraEnvs: keys of labels that new Agents get as node labels, with commas between.
    pub const INFRA_ENV_PROPAGATE_NODE_LABELS: &str =
        "infraenv.agent-install.openshift.io/propagate-node-labels";
    /// On InfraEnvs: id of an InfraEnv made by REST, which the resource takes over with its hosts. Specific to Muster.
    pub const INFRA_ENV_ADOPT: &str = "infraenv.agent-install.openshift.io/adopt";
    /// On BMCs: each new value requests one more discovery of the machine, whatever the result of the last one. Specific to Muster.
    pub const BMC_DISCOVER: &str = "bmc.muster.dev/discover";
    /// On AgentClusterInstalls: ids of cluster checks that may fail, with commas between.
    pub const IGNORED_CLUSTER_VALIDATIONS: &str = "agent-install.openshift.io/ignored-cluster-validations";
    /// On AgentClusterInstalls: ids of host checks that may fail, with commas between.
    pub const IGNORED_HOST_VALIDATIONS: &str = "agent-install.openshift.io/ignored-host-validations";
}

/// Keys in Secrets and ConfigMaps.
pub mod key {
    /// Credentials of registries.
    pub const PULL_SECRET: &str = ".dockerconfigjson";
    /// Administrator's access to a cluster.
    pub const KUBECONFIG: &str = "kubeconfig";
    /// Token for an Ignition endpoint.
    pub const IGNITION_TOKEN: &str = "ignition-token";
    /// A whole Ignition config, in place of an endpoint and its token.
    pub const IGNITION: &str = "ignition";
    /// A cloud-config as the bootstrap provider made it, in place of Ignition: its templates need the host's values.
    pub const USER_DATA: &str = "user-data";
    /// Bootstrap data, and the kubeconfig of a cluster, as Cluster API keeps them.
    pub const CAPI_VALUE: &str = "value";
    /// Users of BMCs and their passwords, as Kubernetes' Secrets of the type `kubernetes.io/basic-auth` have them.
    pub const USER_NAME: &str = "username";
    pub const PASSWORD: &str = "password";
    /// Certificate of an Ignition endpoint's authority.
    pub const TLS_CERTIFICATE: &str = "tls.crt";
    /// Mirrors of registries, in the container tools' format (ConfigMap).
    pub const REGISTRIES_CONF: &str = "registries.conf";
    /// Certificates of mirrors, and of authorities of BMCs (ConfigMap).
    pub const CA_BUNDLE: &str = "ca-bundle.crt";
}
