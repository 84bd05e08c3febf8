//! Clusters that hosts are added to, on the wire. Source: docs/protocol/rest-schemas.json, docs/protocol/rest-behaviour.md#6.

mod answer;
mod settings;

pub use answer::{
    Cluster, ClusterDefaultConfig, ClusterProgressInfo, HostNetwork, ImageInfo, LastInstallationPreparation,
    MonitoredOperator,
};
pub use settings::{
    ClusterNetwork, ClusterUpdateParams, DiskEncryption, DiskEncryptionMode, Hyperthreading,
    IgnitionEndpoint, ImportClusterParams, LoadBalancer, LoadBalancerType, MachineNetwork, NetworkType,
    OperatorBundle, OperatorCreateParams, Platform, PlatformExternal, PlatformType, ServiceNetwork, Vip,
};

use serde::{Deserialize, Serialize};

use crate::ids::ClusterId;

/// Kind of a cluster's record. This service has only clusters that exist already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ClusterKind {
    Cluster,
    #[default]
    AddHostsCluster,
    DisconnectedCluster,
}

/// Status of a cluster. One that exists already stays in `adding-hosts` (docs/protocol/host-lifecycle.md#15).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClusterStatus {
    Insufficient,
    Ready,
    Error,
    PreparingForInstallation,
    PendingForInput,
    Installing,
    Finalizing,
    Installed,
    #[default]
    AddingHosts,
    Cancelled,
    InstallingPendingUserAction,
    Unmonitored,
}

/// Body of `POST .../actions/bind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BindHostParams {
    pub cluster_id: ClusterId,
}

/// Checks that a user wants ignored. Each field is the JSON text of a list of ids; `["all"]` means every one that may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IgnoredValidations {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_validation_ids: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_validation_ids: Option<String>,
}
