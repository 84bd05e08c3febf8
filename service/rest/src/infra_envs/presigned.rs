use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::PresignedUrl;
use muster_api::time::millis;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::auth::Auth;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::now;
use muster_operations::urls::Urls;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::files::IpxeScriptType;

/// Files that a signed URL can be had for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub enum PresignedFileName {
    /// The discovery ignition.
    #[serde(rename = "discovery.ign")]
    DiscoveryIgnition,
    /// The iPXE script.
    #[serde(rename = "ipxe-script")]
    IpxeScript,
}

/// Which file.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PresignedQuery {
    #[param(inline)]
    file_name: PresignedFileName,
    /// Only with `ipxe-script`.
    #[param(inline)]
    ipxe_script_type: Option<IpxeScriptType>,
}

/// Get a signed URL of a file
///
/// It is valid until `expires_at`, or else until the signing key of the InfraEnv is regenerated.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/downloads/files-presigned", operation_id = "GetInfraEnvPresignedFileURL", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), PresignedQuery),
    responses(
        (status = 200, body = PresignedUrl),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_presigned_file_url(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(auth): State<Arc<Auth>>,
    State(urls): State<Arc<Urls>>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<PresignedQuery>,
) -> Result<Json<PresignedUrl>, Problem> {
    let file_name = match (query.file_name, query.ipxe_script_type) {
        (PresignedFileName::DiscoveryIgnition, Some(_)) => {
            return Err(Problem::bad_request(
                "ipxe_script_type goes with file_name=ipxe-script only",
            ));
        }
        (PresignedFileName::DiscoveryIgnition, None) => "discovery.ign",
        (PresignedFileName::IpxeScript, _) => "ipxe-script",
    };
    let found = infra_envs.get(infra_env_id).await?;
    let signed = auth.url_token(&found, now());
    let kind = query.ipxe_script_type.map(IpxeScriptType::name);
    let url = urls.signed_file(&found, file_name, kind, signed.token.as_deref());
    Ok(Json(PresignedUrl {
        url,
        expires_at: millis(signed.expires_at),
    }))
}
