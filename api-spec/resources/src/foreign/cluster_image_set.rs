use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::absent_is_default;

/// Release of a ClusterImageSet.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "ClusterImageSetSpec")]
#[kube(
    group = "hive.openshift.io",
    version = "v1",
    kind = "ClusterImageSet",
    plural = "clusterimagesets",
    shortname = "imgset",
    status = "ClusterImageSetStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A release of the cluster's software that clusters name.",
    printcolumn(name = "Release", json_path = ".spec.releaseImage", type_ = "string")
)]
pub struct ClusterImageSetSpec {
    /// Pull specification of the release image.
    pub release_image: String,
}
absent_is_default!(ClusterImageSetSpec);

/// Empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterImageSetStatus {}
