//! A BareMetalHost: a machine with a management controller, by which Metal3 switches it and boots images.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;

/// Desired state of the machine.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", default)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    plural = "baremetalhosts",
    namespaced,
    status = "BareMetalHostStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct BareMetalHostSpec {
    /// True when the machine shall be on.
    pub online: bool,
    /// The management controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<Bmc>,
    /// MAC address of the interface that the machine boots from.
    #[serde(rename = "bootMACAddress", skip_serializing_if = "String::is_empty")]
    pub boot_mac_address: String,
    /// The image that runs on it, or is written to its disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<HostImage>,
    /// Installation by the image that it boots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// `metadata`: disks are cleaned before and after use; `disabled`: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automated_cleaning_mode: Option<String>,
    /// The disk that the system goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// `disabled`, `agent` or `fast`: the way in which its hardware is inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspection_mode: Option<String>,
    /// True when it was not installed by Metal3.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub externally_provisioned: bool,
}
absent_is_default!(BareMetalHostSpec);

/// A management controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bmc {
    /// Scheme (the driver), host and path.
    pub address: String,
    /// Secret in the same namespace with `username` and `password`.
    pub credentials_name: String,
    /// True when certificates are not checked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disable_certificate_verification: bool,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostImage {
    /// URL of the image.
    pub url: String,
    /// `raw`, `qcow2`, `vdi`, `vmdk` or `live-iso`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// An installation by the image that the machine boots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CustomDeploy {
    /// The step that installs.
    pub method: String,
}

/// Properties of a disk; all that are given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RootDeviceHints {
    /// Path such as `/dev/sda` or `/dev/disk/by-path/...`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device_name: String,
    /// SCSI address: host, channel, target, unit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hctl: String,
    /// Part of the model's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Part of the maker's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// Serial number.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
    /// Least size, in gigabytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size_gigabytes: Option<u64>,
    /// World-wide name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn: String,
    /// World-wide name with the vendor's extension.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn_with_extension: String,
    /// Only the vendor's extension.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn_vendor_extension: String,
    /// True for disks that rotate, false for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
}

/// Observed state of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHostStatus {
    /// `OK`, `discovered`, `error`, `delayed`, `detached` or `servicing`.
    pub operational_status: String,
    /// Kind of the last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The last error, as a sentence.
    pub error_message: String,
    /// True when the machine is on.
    pub powered_on: bool,
    /// Place in Metal3's own order of states.
    pub provisioning: Provisioning,
    /// Hardware that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareSummary>,
    /// Times of what was done with it.
    pub operation_history: OperationHistory,
}

/// Place in Metal3's order of states. It does not show that an image has booted, only that the machine was switched on with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Provisioning {
    /// The state; empty before the first.
    pub state: String,
    /// The image that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<HostImage>,
}

/// Hardware that is known of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HardwareSummary {
    /// Name of the machine; empty when the hardware was not reported.
    pub hostname: String,
}

/// Times of what was done with a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationHistory {
    /// The last provisioning.
    pub provision: Operation,
}

/// Times of one operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operation {
    /// Its end; `None` while it runs and before the first.
    pub end: Option<Time>,
}
