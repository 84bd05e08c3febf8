//! Names of labels, annotations, finalizers and keys that clients use (docs/protocol/kube-controllers.md#0).

/// Name of the Lease that the replica holds whose controllers run.
pub const LEASE: &str = "77190dcb.agent-install.openshift.io";

/// API groups.
pub mod group {
    /// AgentClusterInstall.
    pub const HIVE_EXTENSIONS: &str = "extensions.hive.openshift.io";
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
    /// On what a backup of the management cluster shall hold; its value is `true`.
    pub const BACKUP: &str = "cluster.open-cluster-management.io/backup";
    /// On Agents: `true` when a disk does not rotate.
    pub const STORAGE_HAS_NON_ROTATIONAL_DISK: &str =
        "inventory.agent-install.openshift.io/storage-hasnonrotationaldisk";
    /// On Agents: architecture of the processors.
    pub const CPU_ARCHITECTURE: &str = "inventory.agent-install.openshift.io/cpu-architecture";
    /// On Agents: whether the processors can run virtual machines.
    pub const CPU_VIRT_ENABLED: &str = "inventory.agent-install.openshift.io/cpu-virtenabled";
    /// On Agents: who made the machine.
    pub const HOST_MANUFACTURER: &str = "inventory.agent-install.openshift.io/host-manufacturer";
    /// On Agents: model of the machine.
    pub const HOST_PRODUCT_NAME: &str = "inventory.agent-install.openshift.io/host-productname";
    /// On Agents: whether it is a virtual machine.
    pub const HOST_IS_VIRTUAL: &str = "inventory.agent-install.openshift.io/host-isvirtual";
    /// Prefix of labels of AgentClassifications; `labelKey` follows.
    pub const CLASSIFICATION_PREFIX: &str = "agentclassification.agent-install.openshift.io/";
    /// On Agents that an AgentMachine has taken: its name.
    pub const AGENT_MACHINE_REF: &str = "agentMachineRef";
    /// On AgentClusterInstalls: who uses the cluster; becomes the cluster's tags.
    pub const CONSUMER: &str = "agentclusterinstalls.agent-install.openshift.io/consumer";
}

/// Keys of annotations.
pub mod annotation {
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
    /// On Agents: keys of node labels that come from the InfraEnv, sorted, with commas between.
    pub const AGENT_INHERITED_NODE_LABELS: &str = "agent.agent-install.openshift.io/inherited-node-labels";
    /// On Agents: version of the inventory's labels.
    pub const INVENTORY_VERSION: &str = "inventory.agent-install.openshift.io/version";
    /// Value of [`INVENTORY_VERSION`].
    pub const INVENTORY_VERSION_VALUE: &str = "0.1";
    /// On InfraEnvs: keys of labels that new Agents get as node labels, with commas between.
    pub const INFRA_ENV_PROPAGATE_NODE_LABELS: &str =
        "infraenv.agent-install.openshift.io/propagate-node-labels";
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
    /// Certificate of an Ignition endpoint's authority.
    pub const TLS_CERTIFICATE: &str = "tls.crt";
    /// Mirrors of registries, in the container tools' format (ConfigMap).
    pub const REGISTRIES_CONF: &str = "registries.conf";
    /// Certificates of mirrors (ConfigMap).
    pub const CA_BUNDLE: &str = "ca-bundle.crt";
}
