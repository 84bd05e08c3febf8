//! `install`: write the disk and become a node. Source: docs/protocol/instructions.md#3 D.

use serde::{Deserialize, Serialize};

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::serialize::{is_default, null_as_default};

/// Everything that an installation needs to know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallRequest {
    #[serde(deserialize_with = "null_as_default")]
    pub infra_env_id: String,
    /// The cluster to join.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_id: String,
    #[serde(deserialize_with = "null_as_default")]
    pub host_id: String,
    /// `master`, `worker`, `arbiter` or `bootstrap`.
    #[serde(deserialize_with = "null_as_default")]
    pub role: String,
    /// Id of the disk to write.
    #[serde(deserialize_with = "null_as_default")]
    pub boot_device: String,
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub controller_image: String,
    /// Image reference.
    #[serde(deserialize_with = "null_as_default")]
    pub installer_image: String,
    /// Absent for imported clusters.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub control_plane_count: i64,
    /// True waits for the cluster version operator.
    #[serde(deserialize_with = "null_as_default")]
    pub check_cvo: bool,
    #[serde(deserialize_with = "null_as_default")]
    pub disks_to_format: Vec<String>,
    /// Day-1 only.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub mco_image: String,
    /// Day-1 only.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub must_gather_image: String,
    /// Day-1 only.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub openshift_version: String,
    /// Only when the boot device is persistent.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub coreos_image: String,
    /// JSON array of arguments of coreos-installer.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub installer_args: String,
    /// True keeps partitions.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub skip_installation_disk_cleanup: bool,
    /// True saves one reboot.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub enable_skip_mco_reboot: bool,
    /// True notifies of reboots.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub notify_num_reboots: bool,
    /// Only with an http(s) proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<InstallProxy>,
    /// Legacy, null.
    pub service_ips: Option<Vec<String>>,
    /// The image to write. An addition of Muster's: services of other makes name an image in `installer_args`, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image: Option<OsImage>,
    /// True adds the agent's program to the node. An addition of Muster's.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub node_agent: bool,
    /// Ids of disks that must not be written to under any of their names. An addition of Muster's.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub skip_formatting_disks: Vec<String>,
}

/// An image of a whole disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OsImage {
    /// `http(s)://...`, or a path on the service, which starts with `/`. The agent's token is sent only to the service.
    #[serde(deserialize_with = "null_as_default")]
    pub url: String,
    /// SHA-256 of the file as downloaded, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// SHA-256 of the file's decompressed content, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncompressed_sha256: Option<String>,
    /// Bytes of the file as downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(deserialize_with = "null_as_default")]
    pub format: ImageFormat,
    /// The operating system's version, for logs.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub version: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub openshift_version: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub configuration: ImageConfiguration,
}

/// The program of an image that configures it at its first boot. It determines the content of the host's ignition download:
/// Ignition, or [`HostSeed`](super::HostSeed).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ImageConfiguration {
    /// CoreOS: the configuration lies in the file system labelled `boot`.
    #[default]
    Ignition,
    /// Other systems: the configuration lies in a partition of its own.
    CloudInit,
}

/// Compression of an image file. Wire names are the usual extensions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ImageFormat {
    #[default]
    Raw,
    Gz,
    Xz,
    Zst,
}

impl ImageFormat {
    /// The format of a file of this name or URL, by its extension; a query does not count. None for any other extension.
    pub fn of_name(name: &str) -> Option<Self> {
        let path = name.split(['?', '#']).next().unwrap_or_default();
        match path.rsplit('/').next()?.rsplit_once('.')?.1 {
            "raw" | "img" => Some(Self::Raw),
            "gz" => Some(Self::Gz),
            "xz" => Some(Self::Xz),
            "zst" => Some(Self::Zst),
            _ => None,
        }
    }
}

/// Formats of virtual machines' disks, by their first bytes.
const OF_VIRTUAL_MACHINES: [(&str, &[u8]); 5] = [
    ("qcow2", b"QFI\xfb"),
    ("VMDK", b"KDMV"),
    ("VMDK", b"# Disk Descriptor"),
    ("VHDX", b"vhdxfile"),
    ("VHD", b"conectix"),
];

/// The format of an image that begins so, if it is one of virtual machines, whose parts are in another order than on a disk: it is not
/// written, whatever its name ends in (cloud images in qcow2 are often called `.img`).
pub fn virtual_disk(beginning: &[u8]) -> Option<&'static str> {
    let mut formats = OF_VIRTUAL_MACHINES.iter();
    formats
        .find(|(_, magic)| beginning.starts_with(magic))
        .map(|(name, _)| *name)
}

/// The command that makes an image that can be written.
pub const TO_RAW: &str = "make a raw one by `qemu-img convert -O raw IN OUT.raw`";

/// The proxy of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallProxy {
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub http_proxy: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub https_proxy: String,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub no_proxy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_another_service_has_no_image_and_is_written_back_as_it_came() {
        let request: InstallRequest = serde_json::from_str(r#"{"boot_device":"/dev/sda"}"#).unwrap();
        assert_eq!((&request.os_image, request.node_agent), (&None, false));
        let text = serde_json::to_string(&request).unwrap();
        assert!(
            !text.contains("os_image") && !text.contains("node_agent"),
            "{text}"
        );
    }

    #[test]
    fn an_image_is_configured_by_ignition_unless_it_is_another_one() {
        let plain: OsImage = serde_json::from_str(r#"{"url":"/a"}"#).unwrap();
        assert_eq!(plain.configuration, ImageConfiguration::Ignition);
        assert!(!serde_json::to_string(&plain).unwrap().contains("configuration"));
        let cloud: OsImage = serde_json::from_str(r#"{"url":"/a","configuration":"cloud-init"}"#).unwrap();
        assert_eq!(cloud.configuration, ImageConfiguration::CloudInit);
        assert_eq!("cloud-init".parse(), Ok(ImageConfiguration::CloudInit));
    }

    #[test]
    fn the_extension_gives_the_format() {
        for (name, format) in [
            ("/images/target.raw", Some(ImageFormat::Raw)),
            (
                "https://mirror/rhcos-metal.x86_64.raw.gz?token=a.zst",
                Some(ImageFormat::Gz),
            ),
            ("a.img.xz", Some(ImageFormat::Xz)),
            ("a.zst", Some(ImageFormat::Zst)),
            ("a.iso", None),
            ("https://mirror.example/image", None),
        ] {
            assert_eq!(ImageFormat::of_name(name), format, "{name}");
        }
        assert_eq!(serde_json::to_string(&ImageFormat::Zst).unwrap(), r#""zst""#);
    }
}
