//! Lists supported features and architectures, and serves lists that are empty here. Source: docs/protocol/rest-endpoints.tsv.

pub mod operators;
pub mod versions;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::cluster::PlatformType;
use muster_api::error::ApiError;
use muster_api::infra_env::CpuArchitecture;
use muster_api::versions::{DetailedFeatures, Feature, SupportedArchitectures, SupportedFeatures};
use muster_core::rules::requirements::Version;
use muster_http::Problem;
use muster_http::body::Query;
use muster_operations::Operations;
use muster_operations::images::live::LiveImages;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::operators::{OPERATORS, feature_of_operator};
use crate::state::Rest;

/// Features that name a platform. They are only listed if the request names no platform.
const PLATFORMS: [&str; 6] = [
    "BAREMETAL_PLATFORM",
    "NONE_PLATFORM",
    "NUTANIX_INTEGRATION",
    "VSPHERE_INTEGRATION",
    "EXTERNAL_PLATFORM",
    "EXTERNAL_PLATFORM_OCI",
];

/// The feature that is only listed if the request names a platform.
const OF_A_PLATFORM: &str = "PLATFORM_MANAGED_NETWORKING";

/// Features that this service has. It discovers hosts and adds them to clusters; features of the installation of a new cluster only
/// are not available.
const OFFERED: [&str; 8] = [
    "BAREMETAL_PLATFORM",
    "NONE_PLATFORM",
    "FULL_ISO",
    "MINIMAL_ISO",
    "SINGLE_NODE_EXPANSION",
    "USER_MANAGED_NETWORKING",
    "CLUSTER_MANAGED_NETWORKING",
    "DUAL_STACK",
];

/// The features of the protocol, without those of operators. Source: docs/protocol/rest-behaviour.md#7.
const FEATURES: [&str; 28] = [
    "SNO",
    "TNA",
    "TNF",
    "VIP_AUTO_ALLOC",
    "CUSTOM_MANIFEST",
    "SINGLE_NODE_EXPANSION",
    "NUTANIX_INTEGRATION",
    "BAREMETAL_PLATFORM",
    "NONE_PLATFORM",
    "VSPHERE_INTEGRATION",
    "DUAL_STACK_VIPS",
    "CLUSTER_MANAGED_NETWORKING",
    "USER_MANAGED_NETWORKING",
    "MINIMAL_ISO",
    "FULL_ISO",
    "EXTERNAL_PLATFORM_OCI",
    "DUAL_STACK",
    "PLATFORM_MANAGED_NETWORKING",
    "EXTERNAL_PLATFORM",
    "OVN_NETWORK_TYPE",
    "SDN_NETWORK_TYPE",
    "CILIUM_NETWORK_TYPE",
    "CALICO_NETWORK_TYPE",
    "CISCO_ACI_NETWORK_TYPE",
    "NONE_NETWORK_TYPE",
    "NON_STANDARD_HA_CONTROL_PLANE",
    "USER_MANAGED_LOAD_BALANCER",
    "DUAL_STACK_PRIMARY_IPV6",
];

/// The platform and architecture that a request names.
#[derive(Debug, Clone, Copy)]
struct Asked {
    platform: Option<PlatformType>,
    /// The level of its architecture.
    architecture: Level,
}

/// A level of support, by its name in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
enum Level {
    Supported,
    TechPreview,
    Unavailable,
}

/// The listed features with their levels. If the request names a platform, the features that name one are left out.
fn features(asked: Asked) -> impl Iterator<Item = (String, Level)> {
    let names = FEATURES.iter().map(|name| (*name).to_owned());
    let names = names.chain(OPERATORS.iter().map(|name| feature_of_operator(name)));
    let is_told = move |name: &String| match asked.platform {
        Some(_) => !PLATFORMS.contains(&name.as_str()),
        None => name != OF_A_PLATFORM,
    };
    names.filter(is_told).map(move |name| {
        let is_offered = OFFERED.contains(&name.as_str()) && fits(&name, asked.platform);
        let is_offered = is_offered && asked.architecture != Level::Unavailable;
        let level = if is_offered {
            Level::Supported
        } else {
            Level::Unavailable
        };
        (name, level)
    })
}

/// True if the platform can have the feature: only bare metal has networks that a cluster manages.
fn fits(feature: &str, platform: Option<PlatformType>) -> bool {
    feature != "CLUSTER_MANAGED_NETWORKING"
        || platform.is_none_or(|platform| platform == PlatformType::Baremetal)
}

/// The level of an architecture for a version of OpenShift: the protocol's, if this service has images for it.
/// Source: docs/protocol/rest-behaviour.md#7.
fn level_of(architecture: Architecture, version: Version, images: &LiveImages) -> Level {
    let since = |minor| version >= Version([4, minor, 0]);
    let has_image = |of| images.of(of).is_some();
    match architecture {
        Architecture::X86_64 => Level::Supported,
        Architecture::Arm64 | Architecture::Aarch64 if since(10) && has_image(CpuArchitecture::Arm64) => {
            Level::Supported
        }
        Architecture::Multi if since(11) => Level::TechPreview,
        Architecture::Arm64
        | Architecture::Aarch64
        | Architecture::Ppc64le
        | Architecture::S390x
        | Architecture::Multi => Level::Unavailable,
    }
}

fn version(text: &str) -> Result<Version, Problem> {
    Version::parse(text).ok_or_else(|| {
        Problem::invalid(format!(
            "openshift_version: {text:?} is no version; give one such as 4.20"
        ))
    })
}

/// All operations.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(get_supported_features))
        .routes(routes!(get_detailed_features))
        .routes(routes!(get_supported_architectures))
        .routes(routes!(list_release_sources))
        .routes(routes!(list_managed_domains))
        .routes(routes!(list_bundles))
}

/// What to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FeaturesQuery {
    openshift_version: String,
    /// `x86_64` if it is left out.
    #[param(inline)]
    cpu_architecture: Option<Architecture>,
    #[param(inline)]
    platform_type: Option<PlatformType>,
    #[expect(dead_code, reason = "read so that it is no unknown parameter")]
    external_platform_name: Option<String>,
}

impl FeaturesQuery {
    fn asked(&self, images: &LiveImages) -> Result<Asked, Problem> {
        let architecture = self.cpu_architecture.unwrap_or(Architecture::X86_64);
        Ok(Asked {
            platform: self.platform_type,
            architecture: level_of(architecture, version(&self.openshift_version)?, images),
        })
    }
}

/// An architecture, or several in one release.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[allow(missing_docs, reason = "the names document it")]
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

/// List support levels of features
///
/// What this service offers is `supported`, the rest `unavailable`.
#[utoipa::path(
    get, path = "/support-levels/features", operation_id = "GetSupportedFeatures", tag = "installer", params(FeaturesQuery),
    responses((status = 200, body = SupportedFeatures), (status = 400, body = ApiError))
)]
pub async fn get_supported_features(
    State(operations): State<Arc<Operations>>,
    Query(query): Query<FeaturesQuery>,
) -> Result<Json<SupportedFeatures>, Problem> {
    let found = features(query.asked(&operations.live_images)?);
    let features = found.map(|(name, level)| (name, <&str>::from(level).to_owned()));
    Ok(Json(SupportedFeatures {
        features: features.collect(),
    }))
}

/// List features with details
#[utoipa::path(
    get, path = "/support-levels/features/detailed", operation_id = "GetDetailedSupportedFeatures", tag = "installer",
    params(FeaturesQuery), responses((status = 200, body = DetailedFeatures), (status = 400, body = ApiError))
)]
pub async fn get_detailed_features(
    State(operations): State<Arc<Operations>>,
    Query(query): Query<FeaturesQuery>,
) -> Result<Json<DetailedFeatures>, Problem> {
    let found = features(query.asked(&operations.live_images)?);
    let features = found.map(|(name, level)| Feature {
        feature_support_level_id: name,
        support_level: <&str>::from(level).to_owned(),
    });
    Ok(Json(DetailedFeatures {
        features: features.collect(),
        operators: Vec::new(),
    }))
}

/// Which release.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ArchitecturesQuery {
    openshift_version: String,
}

/// List support levels of architectures
#[utoipa::path(
    get, path = "/support-levels/architectures", operation_id = "GetSupportedArchitectures", tag = "installer",
    params(ArchitecturesQuery), responses((status = 200, body = SupportedArchitectures), (status = 400, body = ApiError))
)]
pub async fn get_supported_architectures(
    State(operations): State<Arc<Operations>>,
    Query(query): Query<ArchitecturesQuery>,
) -> Result<Json<SupportedArchitectures>, Problem> {
    let version = version(&query.openshift_version)?;
    let levels = [
        ("X86_64_ARCHITECTURE", Architecture::X86_64),
        ("ARM64_ARCHITECTURE", Architecture::Arm64),
        ("PPC64LE_ARCHITECTURE", Architecture::Ppc64le),
        ("S390X_ARCHITECTURE", Architecture::S390x),
        ("MULTIARCH_RELEASE_IMAGE", Architecture::Multi),
    ]
    .map(|(name, architecture)| {
        let level = level_of(architecture, version, &operations.live_images);
        (name.to_owned(), <&str>::from(level).to_owned())
    });
    Ok(Json(SupportedArchitectures {
        architectures: levels.into(),
    }))
}

/// List release sources
///
/// There are none: no release is installed here.
#[utoipa::path(
    get, path = "/release-sources", operation_id = "v2ListReleaseSources", tag = "versions",
    responses((status = 200, body = Vec<Object>))
)]
pub async fn list_release_sources() -> Json<Vec<Value>> {
    Json(Vec::new())
}

/// List managed domains
///
/// There are none.
#[utoipa::path(
    get, path = "/domains", operation_id = "V2ListManagedDomains", tag = "managed_domains",
    responses((status = 200, body = Vec<Object>))
)]
pub async fn list_managed_domains() -> Json<Vec<Value>> {
    Json(Vec::new())
}

/// List operator bundles
///
/// There are none: operators are installed by the cluster itself.
#[utoipa::path(
    get, path = "/operators/bundles", operation_id = "V2ListBundles", tag = "operators",
    responses((status = 200, body = Vec<Object>))
)]
pub async fn list_bundles() -> Json<Vec<Value>> {
    Json(Vec::new())
}
