//! The OS image that an AgentMachine wants. Source: docs/protocol/capi-day1.md, section 3, row spec.version.

use kube::core::DynamicObject;
use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::ImageConfiguration;
use muster_core::record::ImageWish;
use muster_core::rules::os_image::NoImage;
use muster_resources::AgentMachine;
use strum::VariantArray;

use crate::capi::bootstrap::Bootstrap;
use crate::capi::objects::{Cluster, Machine};
use crate::images::OfferedImages;

/// Returns the image as the AgentMachine names it, and the Kubernetes version of its Machine. The Machines of a HostedCluster have the
/// version of a release instead, and the cluster of the host chooses the image for that.
pub fn wish(object: &AgentMachine, machine: Machine<'_>, cluster: Option<&DynamicObject>) -> ImageWish {
    let is_hosted = cluster.is_some_and(|cluster| Cluster(cluster).hosted_cluster().is_some());
    let version = machine.version().filter(|_| !is_hosted);
    ImageWish {
        name: object.spec.os_image.clone().unwrap_or_default(),
        kubernetes_version: version.unwrap_or_default().to_owned(),
    }
}

/// Returns the architectures that have the image, which must be able to apply the bootstrap data; `None`: any will do.
///
/// # Errors
/// Returns the reason why it is on none, with what names the image, or with the member of the data.
pub fn architectures(
    images: &dyn OfferedImages,
    wish: &ImageWish,
    bootstrap: Option<&Bootstrap>,
) -> Result<Option<Vec<CpuArchitecture>>, String> {
    let by = bootstrap.map_or(ImageConfiguration::VARIANTS, Bootstrap::applied_by);
    images.architectures(wish, by).map_err(|why| {
        let refused = bootstrap.and_then(Bootstrap::only_for_cloud_init);
        if let (NoImage::OtherConfiguration(_), Some(refused)) = (&why, refused) {
            return format!("No Agent is taken: Ignition configures the OS image, and the Machine's bootstrap data is refused: {refused}");
        }
        let advice = match why {
            NoImage::OtherConfiguration(_) => "; take format: cloud-config at the bootstrap provider, or an image that Ignition configures",
            _ => "",
        };
        let named_by = if wish.name.is_empty() {
            format!("spec.version of the Machine is {}", wish.kubernetes_version)
        } else {
            format!("spec.osImage is {:?}", wish.name)
        };
        format!("No Agent is taken: {named_by}, and {why}{advice}")
    })
}

#[cfg(test)]
mod tests {
    use muster_resources::AgentMachineSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn machines_of_a_hosted_cluster_have_no_kubernetes_version() {
        let object = AgentMachine::new(
            "m",
            AgentMachineSpec {
                os_image: Some("debian-13".into()),
                ..AgentMachineSpec::default()
            },
        );
        let dynamic = |value| serde_json::from_value::<DynamicObject>(value).unwrap();
        let machine = dynamic(json!({"metadata": {"name": "m"}, "spec": {"version": "v1.34.4"}}));
        let plain = dynamic(json!({"metadata": {"name": "one"}, "spec": {}}));
        let hosted = dynamic(json!({
            "metadata": {"name": "one", "annotations": {"hypershift.openshift.io/cluster": "clusters/one"}}, "spec": {},
        }));
        let wish = |cluster| super::wish(&object, Machine(&machine), cluster);
        let expected = |version: &str| ImageWish {
            name: "debian-13".into(),
            kubernetes_version: version.into(),
        };
        assert_eq!(wish(Some(&plain)), expected("1.34.4"));
        assert_eq!(wish(None), expected("1.34.4"));
        assert_eq!(wish(Some(&hosted)), expected(""));
    }
}
