use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Platform of the nodes. `Unset` is the empty text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlatformType {
    #[default]
    #[serde(rename = "")]
    Unset,
    BareMetal,
    None,
    VSphere,
    Nutanix,
    External,
}

/// A platform that the cluster does not know itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalPlatform {
    /// Name of the platform. Once it is something else than `Unknown` it cannot be changed.
    #[serde(default = "unknown")]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "oldSelf == 'Unknown' || oldSelf == self",
        "message": "the name of the platform is settled and cannot be changed"
    }]))]
    pub platform_name: String,
    /// `External` when a cloud controller manager is deployed by others; empty when there is none.
    #[serde(default)]
    pub cloud_controller_manager: String,
}

fn unknown() -> String {
    "Unknown".to_owned()
}

impl Default for ExternalPlatform {
    fn default() -> Self {
        Self {
            platform_name: unknown(),
            cloud_controller_manager: String::new(),
        }
    }
}

/// A cluster in Amazon Web Services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsMetadata {
    /// Role that is taken on to change the hosted zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosted_zone_role: Option<String>,
}

/// A cluster in Azure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AzureMetadata {
    /// Resource group of the cluster's parts.
    pub resource_group_name: String,
}

/// A cluster in Google Cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpMetadata {
    /// Project that the cluster's network belongs to.
    #[serde(rename = "networkProjectID", skip_serializing_if = "Option::is_none")]
    pub network_project_id: Option<String>,
}
