//! Names of Metal3's labels, annotations and values, and of those that link its objects to Muster's (docs/protocol/kube-controllers.md#7).

/// API group.
pub const GROUP: &str = "metal3.io";
/// Version of the kinds.
pub const VERSION: &str = "v1alpha1";

/// Finalizers.
pub mod finalizer {
    /// On BareMetalHosts that delete their Agents with them. Specific to Muster.
    pub const HOST: &str = "bmac.agent-install.openshift.io/deprovision";
    /// On PreprovisioningImages. Specific to Muster.
    pub const IMAGE: &str = "preprovisioningimage.agent-install.openshift.io/ai-deprovision";
}

/// Keys of labels.
pub mod label {
    /// On Agents: name of the BareMetalHost that their machine is.
    pub const HOST: &str = "agent-install.openshift.io/bmh";
    /// On PreprovisioningImages, `true`: no backup holds them. They are made again by Metal3.
    pub const EXCLUDE_FROM_BACKUP: &str = "velero.io/exclude-from-backup";
}

/// Keys of annotations of BareMetalHosts.
pub mod annotation {
    /// Metal3 stops managing the machine: it neither switches it nor ejects media.
    pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
    /// `ejected`: the drives were emptied after Metal3 had detached the machine. Specific to Muster.
    pub const MEDIA: &str = "muster.dev/media";
    /// Metal3 does nothing with the object.
    pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
    /// `disabled`: the machine is not inspected. Deprecated by `spec.inspectionMode`, which it must not contradict.
    pub const INSPECT: &str = "inspect.metal3.io";
    /// Hardware of the machine, JSON text: in place of an inspection.
    pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
    /// One reboot; Metal3 takes it off.
    pub const REBOOT: &str = "reboot.metal3.io";

    /// Role of the Agent.
    pub const ROLE: &str = "bmac.agent-install.openshift.io/role";
    /// Name that the host gets.
    pub const HOSTNAME: &str = "bmac.agent-install.openshift.io/hostname";
    /// MachineConfigPool of the Agent.
    pub const MACHINE_CONFIG_POOL: &str = "bmac.agent-install.openshift.io/machine-config-pool";
    /// Arguments for the program that writes the disk: a JSON array of strings.
    pub const INSTALLER_ARGS: &str = "bmac.agent-install.openshift.io/installer-args";
    /// Ignition that is merged over that of the installed host.
    pub const IGNITION_CONFIG_OVERRIDES: &str = "bmac.agent-install.openshift.io/ignition-config-overrides";
    /// `NAMESPACE/NAME` of the ClusterDeployment that the host joins; empty: none.
    pub const CLUSTER_REFERENCE: &str = "bmac.agent-install.openshift.io/cluster-reference";
    /// Secret with what fences the node.
    pub const FENCING_SECRET: &str = "bmac.agent-install.openshift.io/fencing-credentials-secret-name";
    /// That Secret is made from the management controller's credentials.
    pub const CREATE_FENCING_SECRET: &str =
        "bmac.agent-install.openshift.io/create-fencing-credentials-secret";
    /// The Agent and its node are deleted with the BareMetalHost.
    pub const REMOVE_AGENT_AND_NODE: &str = "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete";
    /// Metal3 keeps the host after its installation: it is never detached. In the converged flow only.
    pub const ALLOW_PROVISIONED_MANAGEMENT: &str =
        "bmac.agent-install.openshift.io/allow-provisioned-host-management";
    /// Longest drain of the node, as a Go duration (`10m`).
    pub const DRAIN_TIMEOUT: &str = "bmac.agent-install.openshift.io/drain-timeout";
    /// Beginning of the drain, written by the service.
    pub const DRAIN_STARTED_AT: &str = "bmac.agent-install.openshift.io/drain-started-at";
    /// State of the drain, written by the service.
    pub const DRAIN_STATUS: &str = "bmac.agent-install.openshift.io/drain-status";
    /// The host's objects in the cluster were made.
    pub const SPOKE_MARKER: &str = "bmac.agent-install.openshift.io/spoke-bmh-machine-created";
    /// Prefix of labels of the node. A dot, not a slash, precedes the label's key.
    pub const NODE_LABEL_PREFIX: &str = "bmac.agent-install.openshift.io.node-label.";
    /// Prefix of labels of the Agent.
    pub const AGENT_LABEL_PREFIX: &str = "bmac.agent-install.openshift.io.agent-label.";
}

/// Values.
pub mod value {
    /// Of [`annotation::DETACHED`](super::annotation::DETACHED), when we set it.
    pub const DETACHED_BY_US: &str = "assisted-service-controller";
    /// The same, when Metal3 shall deprovision the machine before it deletes the object.
    pub const DETACHED_DELAYS_DELETION: &str = r#"{"deleteAction":"delay"}"#;
    /// Operational status of a host that Metal3 has detached.
    pub const DETACHED: &str = "detached";
    /// Of [`annotation::MEDIA`](super::annotation::MEDIA).
    pub const EJECTED: &str = "ejected";
    /// Of [`annotation::REBOOT`](super::annotation::REBOOT): also a machine that is being inspected.
    pub const FORCED_REBOOT: &str = r#"{"force":true}"#;
    /// Of [`annotation::INSPECT`](super::annotation::INSPECT), `spec.inspectionMode` and `spec.automatedCleaningMode`.
    pub const DISABLED: &str = "disabled";
    /// Format of an image that runs from its medium.
    pub const LIVE_ISO: &str = "live-iso";
    /// Method of `spec.customDeploy` by which the booted image installs.
    pub const START_ASSISTED_INSTALL: &str = "start_assisted_install";
    /// Installation disk of an Agent with hints that match no disk: its installation fails with that reason.
    pub const NO_DISK_FITS: &str = "/dev/not-found-by-hints";
}

/// Values of `status.provisioning.state` that decide something here.
pub mod state {
    pub const READY: &str = "ready";
    pub const AVAILABLE: &str = "available";
    pub const PROVISIONED: &str = "provisioned";
    pub const EXTERNALLY_PROVISIONED: &str = "externally provisioned";
}
