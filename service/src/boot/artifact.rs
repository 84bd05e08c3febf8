//! An artifact of one InfraEnv: which bytes, under which name.

use std::time::SystemTime;

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use muster_core::infra_env::{InfraEnv, live_config};
use muster_image::{Customisation, CustomiseError};

use crate::app::App;
use crate::http::problem::Problem;
use crate::images::{self, LiveImageUnavailable};
use crate::infra_envs::chain;

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
    request: &Parts,
) -> Result<Response, Problem> {
    let live = app.live_images.current().await?;
    // The configuration in the image follows the service's options, too, which may have changed when it was started.
    let updated_at = SystemTime::from(infra_env.updated_at.max(app.listening_since));
    let id = infra_env.id;
    let download = match artifact {
        Artifact::Iso => {
            let wanted = Customisation {
                config: config(app, infra_env),
                kernel_arguments: kernel_arguments(infra_env),
            };
            live.iso(&wanted, updated_at, format!("{id}-discovery.iso"))
                .map_err(unmakable)?
        }
        Artifact::Initrd => live
            .initrd(&config(app, infra_env), updated_at, format!("{id}-initrd.img"))
            .map_err(unmakable)?,
        Artifact::Kernel => live.kernel(),
    };
    Ok(images::serve(request, download, &app.downloads).await)
}

/// The kernel is the same for everybody.
pub async fn serve_kernel(app: &App, request: &Parts) -> Result<Response, Problem> {
    Ok(images::serve(request, app.live_images.current().await?.kernel(), &app.downloads).await)
}

impl From<LiveImageUnavailable> for Problem {
    fn from(error: LiveImageUnavailable) -> Self {
        Self::unavailable(chain(&error))
    }
}

fn config(app: &App, infra_env: &InfraEnv) -> muster_api::live::LiveConfig {
    let token = app.auth.infra_env_token(infra_env);
    live_config(infra_env, &app.urls.public, token.as_deref(), &app.service_ca)
}

/// The user's kernel arguments, in order.
pub fn kernel_arguments(infra_env: &InfraEnv) -> Vec<String> {
    infra_env
        .settings
        .kernel_arguments
        .iter()
        .flatten()
        .map(|argument| argument.value.clone())
        .collect()
}

fn unmakable(error: CustomiseError) -> Problem {
    Problem::Handler(
        StatusCode::CONFLICT,
        format!("no image can be made for this InfraEnv: {error}"),
    )
}
