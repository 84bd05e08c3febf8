//! The image for the disk of a host. An addition to the protocol.

use serde::{Deserialize, Serialize};
use strum::Display;

use crate::serialize::is_default;

/// The entry of the operator's list with the image that is written to the disk of a host, or was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HostOsImage {
    /// Name of the entry; empty: it has none.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// Build of the system.
    pub version: String,
    /// Version of clusters that the entry is for; empty: of none.
    #[serde(skip_serializing_if = "is_default")]
    pub openshift_version: String,
    /// Version of the Kubernetes programs in the image, without `v`; empty: not declared.
    #[serde(skip_serializing_if = "is_default")]
    pub kubernetes_version: String,
    pub chosen_by: OsImageChoice,
}

/// The reason why an image was chosen for a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display)]
#[strum(serialize_all = "kebab-case")]
pub enum OsImageChoice {
    /// Its name, build or version was requested for the host.
    Name,
    /// Its Kubernetes version was requested for the host.
    KubernetesVersion,
    /// The version of the host's cluster.
    ClusterVersion,
    /// It is the default, or the only one.
    #[default]
    Default,
}

impl HostOsImage {
    /// The image and the choice, for users: `debian-13-k8s-1.34.4 (build 20261101), chosen by kubernetes-version`.
    pub fn text(&self) -> String {
        let title = [&self.name, &self.openshift_version]
            .into_iter()
            .find(|text| !text.is_empty());
        let system = match title {
            Some(title) => format!("{title} (build {})", self.version),
            None => format!("build {}", self.version),
        };
        format!("{system}, chosen by {}", self.chosen_by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_image_is_shown_by_its_name_or_its_version() {
        let mut image = HostOsImage {
            name: "debian-13".into(),
            version: "20261101".into(),
            openshift_version: "4.20".into(),
            kubernetes_version: String::new(),
            chosen_by: OsImageChoice::KubernetesVersion,
        };
        assert_eq!(
            image.text(),
            "debian-13 (build 20261101), chosen by kubernetes-version"
        );
        image.name.clear();
        image.chosen_by = OsImageChoice::ClusterVersion;
        assert_eq!(image.text(), "4.20 (build 20261101), chosen by cluster-version");
        let wire =
            json!({"version": "20261101", "openshift_version": "4.20", "chosen_by": "cluster-version"});
        assert_eq!(json!(image), wire);
        assert_eq!(serde_json::from_value::<HostOsImage>(wire).unwrap(), image);
    }
}
