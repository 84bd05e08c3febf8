//! Addresses of boot artifacts. None of them is in the API's description: firmware reads no descriptions.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use http::request::Parts;
use muster_api::BASE_PATH;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::InfraEnv;
use muster_http::body::parse_mac;
use muster_http::download::attachment;
use muster_http::gate::{Target, admit, infra_env_of};
use muster_http::{Allowed, Caller, Gate, Path, Problem, Query};
use muster_operations::Operations;
use muster_operations::urls::{BOOT_ORDER_SCRIPT, BOOT_SCRIPT};
use serde::Deserialize;

use crate::artifact::{Artifact, Images, serve, serve_kernel};
use crate::download::Download;
use crate::downloads::Downloads;
use crate::serve::serve as serve_download;

/// The routes; all answer GET and HEAD.
pub fn routes(operations: Arc<Operations>, downloads: Downloads) -> Router {
    let images = Images {
        operations,
        downloads,
    };
    Router::new()
        .route("/boot/{boot_id}/{file}", get(by_boot_id))
        .route("/byid/{infra_env_id}/{version}/{arch}/{file}", get(by_id))
        .route("/byapikey/{token}/{version}/{arch}/{file}", get(by_token))
        .route("/bytoken/{token}/{version}/{arch}/{file}", get(by_token))
        .route("/images/{infra_env_id}", get(image))
        .route("/images/{infra_env_id}/pxe-initrd", get(pxe_initrd))
        .route("/boot-artifacts/{artifact}", get(boot_artifact))
        .with_state(images)
}

/// The route of OS images, for the API's listener: hosts ask it with their token.
pub fn os_image_route(operations: Arc<Operations>, downloads: Downloads) -> Router {
    let path = format!("{BASE_PATH}/infra-envs/{{infra_env_id}}/hosts/{{host_id}}/downloads/os-image");
    Router::new().route(&path, get(os_image)).with_state(Images {
        operations,
        downloads,
    })
}

/// The image that is written to the host's disk.
async fn os_image(
    State(images): State<Images>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    request: Parts,
) -> Result<Response, Problem> {
    admitted_as(&images.operations, Allowed::UserOrAgent, infra_env_id, &request).await?;
    let image = images.operations.hosts.os_image(infra_env_id, host_id).await?;
    Ok(serve_download(&request, Download::os_image(&image), &images.downloads).await)
}

/// Our own short form: the random id is the credential.
async fn by_boot_id(
    State(images): State<Images>,
    Path((boot_id, file)): Path<(String, String)>,
    Query(query): Query<ScriptQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let gone = || Problem::not_found("this boot URL is of no InfraEnv, or it was revoked; it");
    let infra_env = images
        .operations
        .infra_envs
        .find_by_boot_id(&boot_id)
        .await?
        .ok_or_else(gone)?;
    let wanted = match file.as_str() {
        "discovery.iso" => Artifact::Iso,
        "vmlinuz" => Artifact::Kernel,
        "initrd.img" => Artifact::Initrd,
        BOOT_SCRIPT => {
            let script = match query.mac.as_deref().filter(|mac| !mac.is_empty()) {
                Some(mac) => {
                    images
                        .operations
                        .boot_script_for(&infra_env, parse_mac(mac)?)
                        .await?
                }
                None => images.operations.boot_script(&infra_env).await?,
            };
            return Ok(attachment(BOOT_SCRIPT, infra_env.updated_at, script));
        }
        BOOT_ORDER_SCRIPT => {
            let script = images.operations.short_redirect_script(&infra_env)?;
            return Ok(attachment(BOOT_ORDER_SCRIPT, infra_env.updated_at, script));
        }
        other => {
            return Err(Problem::not_found(format!(
                "{other:?}: there are discovery.iso, vmlinuz, initrd.img, {BOOT_SCRIPT} and {BOOT_ORDER_SCRIPT}; it"
            )));
        }
    };
    serve(&images, &infra_env, wanted, &request).await
}

#[derive(Debug, Deserialize)]
struct ScriptQuery {
    mac: Option<String>,
}

/// The upstream form without token, or with one in a header.
async fn by_id(
    State(images): State<Images>,
    Path((infra_env_id, version, arch, file)): Path<(InfraEnvId, String, String, String)>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    check_file(&file)?;
    check_image(&version, Some(&arch), StatusCode::NOT_FOUND)?;
    serve(&images, &infra_env, Artifact::Iso, &request).await
}

/// The upstream form with the token in the path.
async fn by_token(
    State(images): State<Images>,
    Path((token, version, arch, file)): Path<(String, String, String, String)>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = by_token_of(&images.operations, &token).await?;
    check_file(&file)?;
    check_image(&version, Some(&arch), StatusCode::NOT_FOUND)?;
    serve(&images, &infra_env, Artifact::Iso, &request).await
}

/// Parameters of the deprecated form and of single artifacts.
#[derive(Debug, Deserialize)]
struct ImageQuery {
    version: Option<String>,
    arch: Option<String>,
    #[serde(rename = "type")]
    image_type: Option<String>,
}

impl ImageQuery {
    fn check(&self, unknown: StatusCode) -> Result<(), Problem> {
        let missing = || Problem::bad_request("the query parameter 'version' is required");
        check_image(
            self.version.as_deref().ok_or_else(missing)?,
            self.arch.as_deref(),
            unknown,
        )
    }
}

async fn image(
    State(images): State<Images>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    query.check(StatusCode::NOT_FOUND)?;
    match query.image_type.as_deref() {
        Some("full-iso" | "minimal-iso" | "disconnected-iso") => {}
        other => {
            return Err(Problem::bad_request(format!(
                "the query parameter 'type' must be full-iso, minimal-iso or disconnected-iso, not {:?}",
                other.unwrap_or_default()
            )));
        }
    }
    serve(&images, &infra_env, Artifact::Iso, &request).await
}

async fn pxe_initrd(
    State(images): State<Images>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    query.check(StatusCode::BAD_REQUEST)?;
    serve(&images, &infra_env, Artifact::Initrd, &request).await
}

/// Artifacts that are the same for everybody need no credential.
async fn boot_artifact(
    State(images): State<Images>,
    Path(name): Path<String>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    query.check(StatusCode::BAD_REQUEST)?;
    match name.as_str() {
        "kernel" => serve_kernel(&images, &request).await,
        "rootfs" => Err(Problem::not_found(
            "the live image needs no root file system: its initrd is all of it; rootfs",
        )),
        other => Err(Problem::not_found(format!("boot artifact {other:?}"))),
    }
}

async fn by_token_of(operations: &Operations, token: &str) -> Result<Arc<InfraEnv>, Problem> {
    let id = infra_env_of(&Gate::of(operations), token).await?;
    Ok(operations.infra_envs.get(id).await?)
}

async fn admitted(
    operations: &Operations,
    id: InfraEnvId,
    request: &Parts,
) -> Result<Arc<InfraEnv>, Problem> {
    admitted_as(operations, Allowed::All, id, request).await
}

async fn admitted_as(
    operations: &Operations,
    allowed: Allowed,
    id: InfraEnvId,
    request: &Parts,
) -> Result<Arc<InfraEnv>, Problem> {
    let target = Target {
        infra_env: Some(id),
        ..Target::default()
    };
    let admitted = admit(
        &Gate::of(operations),
        allowed,
        &request.headers,
        request.uri.query(),
        target,
    )
    .await?;
    debug_assert!(
        !matches!(admitted.caller, Caller::InfraEnv(other) if other != id),
        "the gate checks the scope"
    );
    Ok(operations.infra_envs.get(id).await?)
}

fn check_file(file: &str) -> Result<(), Problem> {
    match file {
        "full.iso" | "minimal.iso" | "disconnected.iso" => Ok(()),
        other => Err(Problem::not_found(format!(
            "{other:?}: there are full.iso, minimal.iso and disconnected.iso; it"
        ))),
    }
}

/// The live image serves every version, on x86_64.
fn check_image(version: &str, arch: Option<&str>, unknown: StatusCode) -> Result<(), Problem> {
    if version.is_empty() {
        return Err(Problem::bad_request("the version is empty"));
    }
    match arch.unwrap_or("x86_64") {
        "x86_64" | "amd64" => Ok(()),
        other => Err(Problem::Handler(
            unknown,
            format!("there is no image for version {version} on {other}: the live image is for x86_64"),
        )),
    }
}
