//! Lists supported features and architectures, and answers lists that are empty here. Source: docs/protocol/rest-endpoints.tsv.

use std::collections::BTreeMap;

use axum::Json;
use muster_api::cluster::PlatformType;
use muster_api::versions::{DetailedFeatures, Feature, SupportedArchitectures, SupportedFeatures};
use muster_http::body::Query;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Features that belong to one kind of platform; others have to do with all.
fn belongs_to(feature: &str) -> Option<&'static [PlatformType]> {
    use PlatformType::{Baremetal, External, None, Nutanix, Vsphere};

    Some(match feature {
        "BAREMETAL_PLATFORM" | "CLUSTER_MANAGED_NETWORKING" | "PLATFORM_MANAGED_NETWORKING" => &[Baremetal],
        "NONE_PLATFORM" => &[None],
        "NUTANIX_INTEGRATION" => &[Nutanix],
        "VSPHERE_INTEGRATION" => &[Vsphere],
        "EXTERNAL_PLATFORM" | "EXTERNAL_PLATFORM_OCI" => &[External],
        _ => return Option::None,
    })
}

/// The features with what is to be had of them on a platform; `None`: on any.
fn features(platform: Option<PlatformType>) -> impl Iterator<Item = (&'static str, bool)> {
    FEATURES.iter().map(move |(name, supported)| {
        let fits = platform.is_none_or(|asked| belongs_to(name).is_none_or(|list| list.contains(&asked)));
        (*name, *supported && fits)
    })
}

/// Features by their names in the protocol, and whether this service has them. It discovers hosts and adds them to clusters; what
/// only concerns the installation of a new cluster is not to be had.
const FEATURES: [(&str, bool); 28] = [
    ("BAREMETAL_PLATFORM", true),
    ("NONE_PLATFORM", true),
    ("FULL_ISO", true),
    ("MINIMAL_ISO", true),
    ("SINGLE_NODE_EXPANSION", true),
    ("USER_MANAGED_NETWORKING", true),
    ("CLUSTER_MANAGED_NETWORKING", true),
    ("DUAL_STACK", true),
    ("SNO", false),
    ("TNA", false),
    ("TNF", false),
    ("VIP_AUTO_ALLOC", false),
    ("CUSTOM_MANIFEST", false),
    ("PLATFORM_MANAGED_NETWORKING", false),
    ("DUAL_STACK_VIPS", false),
    ("SKIP_MCO_REBOOT", false),
    ("NUTANIX_INTEGRATION", false),
    ("VSPHERE_INTEGRATION", false),
    ("EXTERNAL_PLATFORM", false),
    ("EXTERNAL_PLATFORM_OCI", false),
    ("OVN_NETWORK_TYPE", false),
    ("SDN_NETWORK_TYPE", false),
    ("LVM", false),
    ("ODF", false),
    ("LSO", false),
    ("CNV", false),
    ("MCE", false),
    ("MTV", false),
];

/// Architectures, and whether the live image is made for them.
const ARCHITECTURES: [(&str, bool); 5] = [
    ("X86_64_ARCHITECTURE", true),
    ("ARM64_ARCHITECTURE", false),
    ("PPC64LE_ARCHITECTURE", false),
    ("S390X_ARCHITECTURE", false),
    ("MULTIARCH_RELEASE_IMAGE", false),
];

fn level(supported: bool) -> String {
    if supported { "supported" } else { "unavailable" }.into()
}

fn levels(list: impl IntoIterator<Item = (&'static str, bool)>) -> BTreeMap<String, String> {
    list.into_iter()
        .map(|(name, supported)| (name.to_owned(), level(supported)))
        .collect()
}

/// All of them.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(get_supported_features))
        .routes(routes!(get_detailed_features))
        .routes(routes!(get_supported_architectures))
        .routes(routes!(list_release_sources))
        .routes(routes!(list_managed_domains))
        .routes(routes!(list_bundles))
}

/// What to look at. Only the platform makes a difference here.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FeaturesQuery {
    #[expect(dead_code, reason = "read so that its absence is told")]
    openshift_version: String,
    #[param(inline)]
    #[expect(dead_code, reason = "read so that a bad value is told")]
    cpu_architecture: Option<Architecture>,
    #[param(inline)]
    platform_type: Option<PlatformType>,
    #[expect(dead_code, reason = "read so that it is no unknown parameter")]
    external_platform_name: Option<String>,
}

/// An architecture, or several in one release.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(rename = "aarch64")]
    Aarch64,
    #[serde(rename = "arm64")]
    Arm64,
    #[serde(rename = "ppc64le")]
    Ppc64le,
    #[serde(rename = "s390x")]
    S390x,
    #[serde(rename = "multi")]
    Multi,
}

/// Features of the protocol, each with its level of support.
#[utoipa::path(
    get, path = "/support-levels/features", operation_id = "GetSupportedFeatures", tag = "installer", params(FeaturesQuery),
    responses((status = 200, body = SupportedFeatures))
)]
pub async fn get_supported_features(Query(query): Query<FeaturesQuery>) -> Json<SupportedFeatures> {
    Json(SupportedFeatures {
        features: levels(features(query.platform_type)),
    })
}

/// Features of the protocol, as a list.
#[utoipa::path(
    get, path = "/support-levels/features/detailed", operation_id = "GetDetailedSupportedFeatures", tag = "installer",
    params(FeaturesQuery), responses((status = 200, body = DetailedFeatures))
)]
pub async fn get_detailed_features(Query(query): Query<FeaturesQuery>) -> Json<DetailedFeatures> {
    let features = features(query.platform_type).map(|(name, supported)| Feature {
        feature_support_level_id: name.to_owned(),
        support_level: level(supported),
    });
    Json(DetailedFeatures {
        features: features.collect(),
        operators: Vec::new(),
    })
}

/// Which release.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "read so that its absence is told")]
pub struct ArchitecturesQuery {
    openshift_version: String,
}

/// Architectures, each with its level of support.
#[utoipa::path(
    get, path = "/support-levels/architectures", operation_id = "GetSupportedArchitectures", tag = "installer",
    params(ArchitecturesQuery), responses((status = 200, body = SupportedArchitectures))
)]
pub async fn get_supported_architectures(
    Query(_): Query<ArchitecturesQuery>,
) -> Json<SupportedArchitectures> {
    Json(SupportedArchitectures {
        architectures: levels(ARCHITECTURES),
    })
}

/// Where releases are taken from: nowhere, for no release is installed here.
#[utoipa::path(
    get, path = "/release-sources", operation_id = "v2ListReleaseSources", tag = "versions",
    responses((status = 200, body = Vec<Object>))
)]
pub async fn list_release_sources() -> Json<Vec<Value>> {
    Json(Vec::new())
}

/// Domains that the service manages: none.
#[utoipa::path(
    get, path = "/domains", operation_id = "V2ListManagedDomains", tag = "managed_domains",
    responses((status = 200, body = Vec<Object>))
)]
pub async fn list_managed_domains() -> Json<Vec<Value>> {
    Json(Vec::new())
}

/// Bundles of operators that can be installed together with a new cluster: none.
#[utoipa::path(
    get, path = "/operators/bundles", operation_id = "V2ListBundles", tag = "operators",
    responses((status = 200, body = Vec<Object>))
)]
pub async fn list_bundles() -> Json<Vec<Value>> {
    Json(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_another_platform_are_not_to_be_had() {
        let on = |platform| levels(features(platform));
        assert_eq!(on(None)["BAREMETAL_PLATFORM"], "supported");
        assert_eq!(on(Some(PlatformType::Baremetal)), {
            let mut all = on(None);
            all.insert("NONE_PLATFORM".into(), "unavailable".into());
            all
        });
        let vsphere = on(Some(PlatformType::Vsphere));
        assert_eq!(vsphere["BAREMETAL_PLATFORM"], "unavailable");
        assert_eq!(vsphere["FULL_ISO"], "supported");
        assert_eq!(vsphere.len(), FEATURES.len());
    }
}
