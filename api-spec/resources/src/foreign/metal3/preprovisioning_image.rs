//! A PreprovisioningImage: Metal3's request for an image that it boots a machine with, before anything is installed on it.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::StandardCondition;
use crate::absent::absent_is_default;

/// The requested image.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", default)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "PreprovisioningImage",
    plural = "preprovisioningimages",
    namespaced,
    status = "PreprovisioningImageStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct PreprovisioningImageSpec {
    /// Architecture of the machine.
    pub architecture: String,
    /// Formats that the machine can boot, the preferred one first: `iso`, `initrd`.
    pub accept_formats: Vec<String>,
    /// Secret with network settings of the machine; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network_data_name: String,
}
absent_is_default!(PreprovisioningImageSpec);

/// The image that there is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PreprovisioningImageStatus {
    /// URL of the ISO, or of the initramfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
    /// URL of the kernel, with an initramfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_url: Option<String>,
    /// Arguments of the kernel, with an initramfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_kernel_params: Option<String>,
    /// `iso` or `initrd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Architecture of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The network settings that the image was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_data: Option<NetworkDataStatus>,
    /// `Ready` and `Error`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
}

/// A Secret, and the version of it that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkDataStatus {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its `resourceVersion`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}
