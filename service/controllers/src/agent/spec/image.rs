//! Reads which OS image an Agent requests for its host's disk: annotations, which the provider of Cluster API sets with the cluster.
//!
//! They name an entry of the operator's list, never a place: rights on Agents give a choice among the operator's images.

use std::collections::BTreeMap;

use muster_core::record::ImageWish;
use muster_resources::names::annotation;

/// The image that the annotations of an Agent name.
pub fn wish(annotations: &BTreeMap<String, String>) -> ImageWish {
    let of = |key: &str| annotations.get(key).map_or("", |text| text.trim());
    let version = of(annotation::AGENT_KUBERNETES_VERSION);
    ImageWish {
        name: of(annotation::AGENT_OS_IMAGE).to_owned(),
        kubernetes_version: version.strip_prefix('v').unwrap_or(version).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_name_an_image_and_a_version() {
        assert!(wish(&BTreeMap::new()).is_empty());
        let annotations = BTreeMap::from([
            (annotation::AGENT_OS_IMAGE.to_owned(), "debian-13".to_owned()),
            (
                annotation::AGENT_KUBERNETES_VERSION.to_owned(),
                "v1.34.4".to_owned(),
            ),
        ]);
        let wish = wish(&annotations);
        assert_eq!(
            (wish.name.as_str(), wish.kubernetes_version.as_str()),
            ("debian-13", "1.34.4")
        );
    }
}
