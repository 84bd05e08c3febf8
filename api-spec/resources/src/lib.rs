//! Defines the custom resources that Muster owns or reads, and generates their CustomResourceDefinitions.
//!
//! Field names on the wire, types, defaults and rules are upstream's (docs/protocol/crd-fields.json); doc comments become the text of
//! `kubectl explain`. What is not required is an `Option`, or a list or map that is left out when empty. Optional members of
//! references are empty strings when absent.

#![expect(
    clippy::duplicated_attributes,
    reason = "columns of different names have the same type"
)]

mod absent;
mod agent;
mod agent_classification;
mod agent_cluster_install;
mod agent_quota;
mod bmc;
mod condition;
pub mod crds;
mod foreign;
mod infra_env;
pub mod names;
mod nm_state_config;
mod provider;
mod proxy;
mod reference;
mod schema;
mod selector;
mod validation;

pub use agent::{
    Agent, AgentCleanedDisk, AgentCleaning, AgentDebugInfo, AgentFailures, AgentReboot, AgentRebootOutcome,
    AgentSleep, AgentSpec, AgentStatus, ApprovedCsr, CsrStatus, DeprovisionInfo, HostProgress, NtpSource,
    inventory,
};
pub use agent_classification::{AgentClassification, AgentClassificationSpec, AgentClassificationStatus};
pub use agent_cluster_install::{
    AgentClusterInstall, AgentClusterInstallDebugInfo, AgentClusterInstallSpec, AgentClusterInstallStatus,
    ClusterMetadata, ClusterMetadataPlatform, ClusterProgress, IgnitionEndpoint, LoadBalancer,
    LoadBalancerType, ProvisionRequirements,
    machine_pool::{DiskEncryption, DiskEncryptionMode, DiskEncryptionRoles, Hyperthreading, MachinePool},
    networking::{ClusterNetwork, MachineNetwork, NetworkType, Networking},
    platform::{ExternalPlatform, PlatformType},
};
pub use agent_quota::{AgentQuota, AgentQuotaSpec, AgentQuotaStatus, QuotaConsumer};
pub use bmc::{
    Bmc, BmcBootWay, BmcCertificateStatus, BmcCheckStatus, BmcDifferenceStatus, BmcInventoryStatus, BmcSpec,
    BmcStatus, BmcTrust, BmcTrustMode,
};
pub use condition::{Condition, HiveCondition, Initialization, StandardCondition};
pub use foreign::{
    cluster_api,
    cluster_deployment::{
        AdditionalCertificate, AgentBareMetalPlatform, ClusterDeployment, ClusterDeploymentMetadata,
        ClusterDeploymentPlatform, ClusterDeploymentSpec, ClusterDeploymentStatus, ClusterInstallReference,
        ControlPlaneConfig, OptionalLocalReference, Others, ServingCertificates,
    },
    cluster_image_set::{ClusterImageSet, ClusterImageSetSpec, ClusterImageSetStatus},
    hypershift, metal3,
};
pub use infra_env::{
    AgentApproval, BootArtifacts, CleaningDepth, InfraEnv, InfraEnvCleaning, InfraEnvDebugInfo, InfraEnvSpec,
    InfraEnvStatus, IpxeScriptType, KernelArgument, KernelArgumentOperation,
};
pub use nm_state_config::{NMStateConfig, NMStateConfigInterface, NMStateConfigSpec};
pub use provider::{
    agent_cluster::{
        AgentCluster, AgentClusterSpec, AgentClusterStatus, ControlPlaneEndpoint, FailureDomain,
    },
    agent_cluster_template::{AgentClusterTemplate, AgentClusterTemplateResource, AgentClusterTemplateSpec},
    agent_machine::{
        AgentMachine, AgentMachineSpec, AgentMachineStatus, AgentReference, AgentRemediation,
        AgentRemediationSpec, AgentRemediationStatus, AgentRemediationTemplate,
        AgentRemediationTemplateResource, AgentRemediationTemplateSpec, CandidateAgent, CandidateReason,
        MachineAddress, Reinstall, ReinstallPhase, ReinstallRequest, RemediationStrategy, RemediationType,
    },
    agent_machine_template::{
        AgentMachineTemplate, AgentMachineTemplateResource, AgentMachineTemplateSpec,
        AgentMachineTemplateStatus, TemplateMetadata, TemplateNodeInfo,
    },
};
pub use proxy::Proxy;
pub use reference::{ClusterReference, LocalReference, NameReference, NamespacedReference};
pub use validation::{ValidationResult, ValidationsInfo};

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};

#[cfg(test)]
mod tests;
