//! Addresses of boot artifacts. They are not in the API's description: firmware does not read it.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::request::Parts;
use http::{Method, StatusCode, header};
use muster_api::BASE_PATH;
use muster_api::boot::{BOOT_ORDER_SCRIPT, BOOT_SCRIPT, BootFile};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::infra_env::CpuArchitecture;
use muster_core::record::InfraEnv;
use muster_core::rules::ignition::no_agent;
use muster_http::body::parse_mac;
use muster_http::download::{attachment, user_agent};
use muster_http::gate::{Target, admit, infra_env_of};
use muster_http::{Allowed, Caller, Gate, Path, Problem, Query};
use muster_ipxe::{MacAddress, OnFailure, to_disk_script};
use muster_operations::Operations;
use muster_operations::images::boot_requests::{BootAnswer, BootRequest};
use muster_operations::images::boot_scripts::NoScript;
use muster_operations::images::cache::ImageForm;
use muster_operations::images::discovery::{DiscoveryImage, DiscoveryImageUnavailable};
use muster_operations::urls::{BmcFile, bmc_of_file};
use serde::Deserialize;

use crate::artifact::{Artifact, Common, Images, serve, serve_common, serve_medium};
use crate::download::Download;
use crate::downloads::Downloads;
use crate::serve::{client_of, serve as serve_download};

/// The routes; all answer GET and HEAD.
pub fn routes(operations: Arc<Operations>, downloads: Downloads) -> Router {
    let images = Images {
        operations,
        downloads,
    };
    Router::new()
        .route("/boot/{boot_id}/{file}", get(by_boot_id))
        .route("/bmc/{file}", get(by_bmc))
        .route("/byid/{infra_env_id}/{version}/{arch}/{file}", get(by_id))
        .route("/byapikey/{token}/{version}/{arch}/{file}", get(by_token))
        .route("/bytoken/{token}/{version}/{arch}/{file}", get(by_token))
        .route("/images/{infra_env_id}", get(image))
        .route("/images/{infra_env_id}/pxe-initrd", get(pxe_initrd))
        .route("/images/{infra_env_id}/s390x-initrd-addrsize", get(addrsize))
        .route("/boot-artifacts/{artifact}", get(boot_artifact))
        .with_state(images)
}

/// The routes of OS images and of the agent, for the API's listener: hosts request them with their token.
pub fn host_routes(operations: Arc<Operations>, downloads: Downloads) -> Router {
    let of_infra_env = format!("{BASE_PATH}/infra-envs/{{infra_env_id}}");
    Router::new()
        .route(
            &format!("{of_infra_env}/hosts/{{host_id}}/downloads/os-image"),
            get(os_image),
        )
        .route(
            &format!("{of_infra_env}/downloads/agent-program"),
            get(agent_program),
        )
        .with_state(Images {
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

#[derive(Debug, Deserialize)]
struct ProgramQuery {
    /// As `uname -m` prints it.
    architecture: String,
}

/// The agent, for machines that boot a live system without it.
async fn agent_program(
    State(images): State<Images>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ProgramQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted_as(&images.operations, Allowed::UserOrAgent, infra_env_id, &request).await?;
    let outcome = program_of(&images, query.architecture, &request).await;
    note(&images, &infra_env, BootFile::Agent, None, &request, &outcome);
    outcome
}

async fn program_of(images: &Images, machine: String, request: &Parts) -> Result<Response, Problem> {
    let none = || Problem::Handler(StatusCode::NOT_FOUND, no_agent(&machine));
    let live = images
        .operations
        .live_images
        .of_machine(&machine)
        .ok_or_else(none)?;
    let live = live.current().await?;
    let opened = live.clone();
    let read = tokio::task::spawn_blocking(move || opened.agent_program()).await;
    let read = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    let read = read.map_err(|error| {
        tracing::error!(%error, "the agent in the live image cannot be read");
        Problem::internal()
    })?;
    let (program, sha256) = read.ok_or_else(none)?;
    let download = Download::agent_program(&live, program, &sha256);
    Ok(serve_download(request, download, &images.downloads).await)
}

/// The short form: the random id is the credential.
async fn by_boot_id(
    State(images): State<Images>,
    Path((boot_id, file)): Path<(String, String)>,
    Query(query): Query<ShortQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = of_boot_id(&images, &boot_id).await?;
    let outcome = short_file(&images, &infra_env, &file, &query, &request).await;
    if let Some(asked) = boot_file_of(&file) {
        let mac = query.mac.as_deref().and_then(|mac| mac.parse().ok());
        note(&images, &infra_env, asked, mac, &request, &outcome);
    }
    outcome
}

/// The ISO by a BMC's URL.
async fn by_bmc(
    State(images): State<Images>,
    Path(file): Path<String>,
    Query(query): Query<ShortQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let BmcFile {
        boot_id,
        bmc_id,
        code,
        tag,
    } = bmc_of_file(&file).ok_or_else(unknown_boot_url)?;
    let infra_env = of_boot_id(&images, boot_id).await?;
    let outcome = match tag {
        Some(tag) => serve_medium(&images, &infra_env, (tag, bmc_id), &request).await,
        None => short_file(&images, &infra_env, "discovery.iso", &query, &request).await,
    };
    // A machine of the InfraEnv knows the boot id, and could make a URL for any BMC: only one with the right code counts.
    if images.operations.auth.bmc_code(&infra_env, bmc_id) == code {
        note_read(&images, bmc_id, &request, &outcome);
    }
    note(&images, &infra_env, BootFile::Iso, None, &request, &outcome);
    outcome
}

async fn of_boot_id(images: &Images, boot_id: &str) -> Result<Arc<InfraEnv>, Problem> {
    let found = images.operations.infra_envs.find_by_boot_id(boot_id).await?;
    found.ok_or_else(unknown_boot_url)
}

fn unknown_boot_url() -> Problem {
    Problem::absent("this boot URL is of no InfraEnv, or it was revoked")
}

fn boot_file_of(file: &str) -> Option<BootFile> {
    match file {
        "discovery.iso" => Some(BootFile::Iso),
        "vmlinuz" => Some(BootFile::Kernel),
        "initrd.img" => Some(BootFile::Initrd),
        "rootfs.img" => Some(BootFile::Rootfs),
        BOOT_SCRIPT | BOOT_ORDER_SCRIPT => Some(BootFile::Script),
        _ => None,
    }
}

async fn short_file(
    images: &Images,
    infra_env: &InfraEnv,
    file: &str,
    query: &ShortQuery,
    request: &Parts,
) -> Result<Response, Problem> {
    let wanted = match file {
        "discovery.iso" => Artifact::Made(ImageForm::iso_of(infra_env)),
        "vmlinuz" => Artifact::Common(Common::Kernel),
        "initrd.img" => Artifact::Made(ImageForm::Initrd),
        "rootfs.img" => Artifact::Common(Common::Rootfs),
        "generic.ins" => Artifact::Common(Common::GenericIns),
        "initrd.addrsize" => Artifact::AddrSize,
        BOOT_SCRIPT => {
            let on_failure = OnFailure::Retry;
            let script = match query.mac.as_deref().filter(|mac| !mac.is_empty()) {
                Some(mac) => {
                    let script = images
                        .operations
                        .boot_script_for(infra_env, parse_mac(mac)?, on_failure)
                        .await;
                    match script {
                        Err(NoScript::Installed { .. }) if query.installed.as_deref() == Some("exit") => {
                            to_disk_script().to_owned()
                        }
                        script => script?,
                    }
                }
                None => images.operations.boot_script(infra_env, on_failure).await?,
            };
            return Ok(attachment(BOOT_SCRIPT, infra_env.updated_at, script));
        }
        BOOT_ORDER_SCRIPT => {
            let script = images.operations.short_redirect_script(infra_env)?;
            return Ok(attachment(BOOT_ORDER_SCRIPT, infra_env.updated_at, script));
        }
        other => {
            return Err(Problem::absent(format!(
                "there is no {other:?}, but discovery.iso, vmlinuz, initrd.img, rootfs.img, {BOOT_SCRIPT} and {BOOT_ORDER_SCRIPT}, and for s390x generic.ins and initrd.addrsize"
            )));
        }
    };
    let image = images.operations.discovery.of(infra_env).await?;
    serve(images, infra_env, &image, wanted, request).await
}

#[derive(Debug, Deserialize)]
struct ShortQuery {
    /// The machine's MAC address, as iPXE sends it.
    mac: Option<String>,
    /// `exit`: an installed host gets a script that ends, instead of an error.
    installed: Option<String>,
}

/// The upstream form without token, or with one in a header.
async fn by_id(
    State(images): State<Images>,
    Path((infra_env_id, version, arch, file)): Path<(InfraEnvId, String, String, String)>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    let form = form_of(&file)?;
    let image = named(&images.operations, &version, Some(&arch), StatusCode::NOT_FOUND).await?;
    serve_noted(&images, &infra_env, &image, form, &request).await
}

/// The upstream form with the token in the path.
async fn by_token(
    State(images): State<Images>,
    Path((token, version, arch, file)): Path<(String, String, String, String)>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = by_token_of(&images.operations, &token).await?;
    let form = form_of(&file)?;
    let image = named(&images.operations, &version, Some(&arch), StatusCode::NOT_FOUND).await?;
    serve_noted(&images, &infra_env, &image, form, &request).await
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
    async fn image(&self, operations: &Operations, unknown: StatusCode) -> Result<DiscoveryImage, Problem> {
        let missing = || Problem::bad_request("the query parameter 'version' is required");
        let version = self.version.as_deref().ok_or_else(missing)?;
        named(operations, version, self.arch.as_deref(), unknown).await
    }
}

async fn image(
    State(images): State<Images>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    let form = match query.image_type.as_deref() {
        Some("full-iso" | "disconnected-iso") => ImageForm::FullIso,
        Some("minimal-iso") => ImageForm::MinimalIso,
        other => {
            return Err(Problem::bad_request(format!(
                "the query parameter 'type' must be full-iso, minimal-iso or disconnected-iso, not {:?}",
                other.unwrap_or_default()
            )));
        }
    };
    let image = query.image(&images.operations, StatusCode::NOT_FOUND).await?;
    serve_noted(&images, &infra_env, &image, form, &request).await
}

async fn pxe_initrd(
    State(images): State<Images>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    let image = query.image(&images.operations, StatusCode::BAD_REQUEST).await?;
    serve_noted(&images, &infra_env, &image, ImageForm::Initrd, &request).await
}

/// Address and length of the initramfs, which s390x machines load it by.
async fn addrsize(
    State(images): State<Images>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let infra_env = admitted(&images.operations, infra_env_id, &request).await?;
    let query = ImageQuery {
        arch: query.arch.or_else(|| Some("s390x".to_owned())),
        ..query
    };
    let image = query.image(&images.operations, StatusCode::BAD_REQUEST).await?;
    serve(&images, &infra_env, &image, Artifact::AddrSize, &request).await
}

/// Serves an image of the InfraEnv to a machine that is known by its address only, and records the request.
async fn serve_noted(
    images: &Images,
    infra_env: &InfraEnv,
    image: &DiscoveryImage,
    form: ImageForm,
    request: &Parts,
) -> Result<Response, Problem> {
    let outcome = serve(images, infra_env, image, Artifact::Made(form), request).await;
    let file = match form {
        ImageForm::FullIso | ImageForm::MinimalIso => BootFile::Iso,
        ImageForm::Initrd => BootFile::Initrd,
    };
    note(images, infra_env, file, None, request, &outcome);
    outcome
}

/// Counts the bytes of the image that are served by a BMC's own URL, to the BMC or its machine's firmware. A HEAD request reads nothing.
fn note_read(images: &Images, bmc_id: BmcId, request: &Parts, outcome: &Result<Response, Problem>) {
    let read = outcome
        .as_ref()
        .ok()
        .filter(|response| response.status().is_success());
    if let Some(response) = read.filter(|_| request.method == Method::GET) {
        images
            .operations
            .bmcs
            .note_read(bmc_id, length_of(response).unwrap_or(0));
    }
}

fn length_of(response: &Response) -> Option<u64> {
    let length = response.headers().get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Records that a machine requested a file, and the response.
fn note(
    images: &Images,
    infra_env: &InfraEnv,
    file: BootFile,
    mac: Option<MacAddress>,
    request: &Parts,
    outcome: &Result<Response, Problem>,
) {
    let asked = BootRequest {
        infra_env_id: infra_env.id,
        mac,
        address: client_of(request),
        file,
    };
    let (bytes, refusal) = match outcome {
        Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => (0, TOO_MANY),
        Ok(response) if request.method == Method::GET => (length_of(response).unwrap_or(0), ""),
        Ok(_) => (0, ""),
        Err(problem) => (0, problem.reason()),
    };
    let answer = BootAnswer {
        user_agent: user_agent(&request.headers),
        bytes,
        refusal,
    };
    images.operations.note_boot_request(asked, answer);
}

/// The refusal of a download that found no slot.
const TOO_MANY: &str = "too many downloads run at once";

/// Artifacts that are the same for everybody need no credential.
async fn boot_artifact(
    State(images): State<Images>,
    Path(name): Path<String>,
    Query(query): Query<ImageQuery>,
    request: Parts,
) -> Result<Response, Problem> {
    let artifact = match name.as_str() {
        "kernel" => Common::Kernel,
        "rootfs" => Common::Rootfs,
        "ins-file" => Common::GenericIns,
        other => return Err(Problem::not_found(format!("boot artifact {other:?}"))),
    };
    let image = query.image(&images.operations, StatusCode::BAD_REQUEST).await?;
    let images = Images {
        downloads: images.downloads.of_strangers(),
        ..images
    };
    serve_common(&images, &image, artifact, &request).await
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

fn form_of(file: &str) -> Result<ImageForm, Problem> {
    match file {
        "full.iso" | "disconnected.iso" => Ok(ImageForm::FullIso),
        "minimal.iso" => Ok(ImageForm::MinimalIso),
        other => Err(Problem::absent(format!(
            "there is no {other:?}, but full.iso, minimal.iso and disconnected.iso"
        ))),
    }
}

/// The image of a version and architecture; the Muster live image serves every version, on x86_64.
async fn named(
    operations: &Operations,
    version: &str,
    arch: Option<&str>,
    unknown: StatusCode,
) -> Result<DiscoveryImage, Problem> {
    if version.is_empty() {
        return Err(Problem::bad_request("the version is empty"));
    }
    let name = match arch.unwrap_or("x86_64") {
        "amd64" => "x86_64",
        other => other,
    };
    let none = |why: String| Problem::Handler(unknown, why);
    let architecture = name
        .parse::<CpuArchitecture>()
        .map_err(|_| none(format!("there is no image for {name}: it is not known")))?;
    match operations.discovery.named(version, architecture).await {
        Err(error @ DiscoveryImageUnavailable::NoArchitecture { .. }) => Err(none(error.to_string())),
        found => Ok(found?),
    }
}
