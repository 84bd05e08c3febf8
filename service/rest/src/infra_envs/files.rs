mod network_archive;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use muster_api::boot::BootFile;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::ImageType;
use muster_core::record::InfraEnv;
use muster_core::rules::ignition::connection_files;
use muster_http::body::{Path, Query, parse_mac};
use muster_http::download::{attachment, check_accept, user_agent};
use muster_http::{Caller, Problem};
use muster_ipxe::OnFailure;
use muster_operations::Operations;
use muster_operations::images::boot_requests::{BootAnswer, BootRequest};
use muster_operations::images::boot_scripts::IgnitionPart;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

/// Files of an InfraEnv.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub enum FileName {
    /// The discovery ignition.
    #[serde(rename = "discovery.ign")]
    DiscoveryIgnition,
    /// The iPXE script.
    #[serde(rename = "ipxe-script")]
    IpxeScript,
    /// The static network configuration as files.
    #[serde(rename = "static-network-config")]
    StaticNetworkConfig,
}

/// Which iPXE script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IpxeScriptType {
    /// Boots the discovery image, whoever asks.
    DiscoveryImageAlways,
    /// Comes back with the MAC, so that an installed host can be sent to its disk.
    BootOrderControl,
}

impl IpxeScriptType {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::DiscoveryImageAlways => "discovery-image-always",
            Self::BootOrderControl => "boot-order-control",
        }
    }
}

/// The file, and the machine that it is for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FilesQuery {
    #[param(inline)]
    file_name: FileName,
    /// MAC address of the requesting machine; only with `ipxe-script`.
    mac: Option<String>,
    /// Only with `ipxe-script`.
    #[param(inline)]
    ipxe_script_type: Option<IpxeScriptType>,
    /// Make the ignition for this type of image instead of the InfraEnv's own. Types differ only in what carries a
    /// static network: the full ISO's is in the ignition, the minimal ISO's in its initramfs.
    #[param(inline)]
    discovery_iso_type: Option<ImageType>,
}

/// Download a file of an InfraEnv
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/downloads/files", operation_id = "v2DownloadInfraEnvFiles", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), FilesQuery),
    responses(
        (status = 200, body = String, content_type = "application/octet-stream"),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "The stored ignition override cannot be merged"),
        (status = 503, body = ApiError, description = "There is no live image yet; the reason states what to do"),
    )
)]
pub async fn download_file(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<FilesQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_accept(&headers)?;
    if query.ipxe_script_type.is_some() && query.file_name != FileName::IpxeScript {
        return Err(Problem::invalid(
            "ipxe_script_type goes with file_name=ipxe-script only",
        ));
    }
    let found = operations.infra_envs.get(infra_env_id).await?;
    match query.file_name {
        FileName::DiscoveryIgnition => {
            let part = IgnitionPart {
                pull_secret: caller.is_user(),
                overrides: caller.reads_overrides(),
                networks: query.discovery_iso_type.unwrap_or(found.settings.image_type)
                    != ImageType::MinimalIso,
            };
            let text = operations.discovery_ignition(&found, part)?;
            Ok(attachment("discovery.ign", found.updated_at, text))
        }
        FileName::IpxeScript => {
            let script = script(&operations, &found, &query).await;
            note(&operations, infra_env_id, &query, &headers, &script);
            let script = script?;
            Ok(attachment(
                &format!("{infra_env_id}-ipxe-script"),
                found.updated_at,
                script,
            ))
        }
        FileName::StaticNetworkConfig => {
            let files = connection_files(&found.settings);
            // Without a network configuration, the response is an empty file without a name.
            let archive = network_archive::pack(&files, found.updated_at)?;
            let name = format!("{infra_env_id}-static-network-config.tar");
            Ok(attachment(&name, found.updated_at, archive))
        }
    }
}

/// Records a machine's request. One without a MAC was probably sent by a person.
fn note(
    operations: &Operations,
    infra_env_id: InfraEnvId,
    query: &FilesQuery,
    headers: &HeaderMap,
    script: &Result<String, Problem>,
) {
    let Some(mac) = query.mac.as_deref().and_then(|mac| mac.parse().ok()) else {
        return;
    };
    let request = BootRequest {
        infra_env_id,
        mac: Some(mac),
        address: None,
        file: BootFile::Script,
    };
    let (bytes, refusal) = match script {
        Ok(script) => (script.len() as u64, ""),
        Err(problem) => (0, problem.reason()),
    };
    let answer = BootAnswer {
        user_agent: user_agent(headers),
        bytes,
        refusal,
    };
    operations.note_boot_request(request, answer);
}

/// The iPXE script. A MAC identifies the machine and wins over the type: that machine has been redirected already.
async fn script(
    operations: &Operations,
    infra_env: &InfraEnv,
    query: &FilesQuery,
) -> Result<String, Problem> {
    match (
        query.mac.as_deref().filter(|mac| !mac.is_empty()),
        query.ipxe_script_type,
    ) {
        (Some(mac), _) => Ok(operations
            .boot_script_for(infra_env, parse_mac(mac)?, OnFailure::Leave)
            .await?),
        (None, Some(IpxeScriptType::BootOrderControl)) => Ok(operations.redirect_script(infra_env)?),
        (None, Some(IpxeScriptType::DiscoveryImageAlways) | None) => {
            Ok(operations.boot_script(infra_env, OnFailure::Leave).await?)
        }
    }
}
