//! An artifact of one InfraEnv: which bytes, under which name.

use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use muster_core::infra_env::{InfraEnv, live_config};
use muster_image::{Customisation, CustomiseError};

use crate::app::App;
use crate::http::problem::Problem;
use crate::images::{Meta, OpenImage};

/// What a machine asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artifact {
    /// The whole ISO.
    Iso,
    /// The kernel.
    Kernel,
    /// The initramfs with the configuration behind it.
    Initrd,
}

/// Answers GET, HEAD, ranges and conditions.
pub async fn serve(
    app: &App,
    infra_env: &InfraEnv,
    artifact: Artifact,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let image = app.images.get()?;
    let id = infra_env.id;
    let (bytes, file_name, content_type) = match artifact {
        Artifact::Iso => {
            let wanted = Customisation { config: config(app, infra_env), kernel_arguments: kernel_arguments(infra_env) };
            (image.live.iso(&wanted).map_err(unmakable)?, format!("{id}-discovery.iso"), "application/octet-stream")
        }
        Artifact::Initrd => {
            let bytes = image.live.initrd(&config(app, infra_env)).map_err(unmakable)?;
            (bytes, format!("{id}-initrd.img"), "application/octet-stream")
        }
        Artifact::Kernel => return serve_kernel(app, method, headers).await,
    };
    // A new base image is a change, too.
    let last_modified = infra_env.updated_at.max(image.modified);
    let meta = Meta { etag: bytes.etag.clone(), last_modified, content_type, file_name };
    Ok(app.images.respond(&image, bytes.plan, meta, method, headers).await)
}

/// The kernel is the same for everybody.
pub async fn serve_kernel(app: &App, method: &Method, headers: &HeaderMap) -> Result<Response, Problem> {
    let image: std::sync::Arc<OpenImage> = app.images.get()?;
    let bytes = image.live.kernel();
    let meta = Meta {
        etag: bytes.etag.clone(),
        last_modified: image.modified,
        content_type: "application/octet-stream",
        file_name: "vmlinuz".into(),
    };
    Ok(app.images.respond(&image, bytes.plan, meta, method, headers).await)
}

fn config(app: &App, infra_env: &InfraEnv) -> muster_api::live::LiveConfig {
    let token = app.auth.infra_env_token(infra_env);
    live_config(infra_env, &app.urls.public, token.as_deref(), &app.service_ca)
}

/// The user's kernel arguments, in order.
pub fn kernel_arguments(infra_env: &InfraEnv) -> Vec<String> {
    infra_env.settings.kernel_arguments.iter().flatten().map(|argument| argument.value.clone()).collect()
}

fn unmakable(error: CustomiseError) -> Problem {
    Problem::Handler(StatusCode::CONFLICT, format!("no image can be made for this InfraEnv: {error}"))
}
