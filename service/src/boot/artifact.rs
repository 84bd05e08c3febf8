//! An artifact of one InfraEnv: which bytes, under which name.

use std::time::SystemTime;

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use muster_core::infra_env::InfraEnv;
use muster_image::{Customisation, CustomiseError};
use muster_operations::boot::kernel_arguments;

use crate::app::App;
use crate::http::problem::Problem;
use crate::images::{self, Download};

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
    let updated_at = SystemTime::from(infra_env.updated_at.max(app.hosts.listening_since()));
    let id = infra_env.id;
    let download = match artifact {
        Artifact::Iso => {
            let wanted = Customisation {
                config: app.live_config(infra_env),
                kernel_arguments: kernel_arguments(infra_env),
            };
            Download::iso(&live, &wanted, updated_at, format!("{id}-discovery.iso")).map_err(unmakable)?
        }
        Artifact::Initrd => {
            let config = app.live_config(infra_env);
            Download::initrd(&live, &config, updated_at, format!("{id}-initrd.img")).map_err(unmakable)?
        }
        Artifact::Kernel => Download::kernel(&live),
    };
    Ok(images::serve(request, download, &app.downloads).await)
}

/// The kernel is the same for everybody.
pub async fn serve_kernel(app: &App, request: &Parts) -> Result<Response, Problem> {
    let kernel = Download::kernel(app.live_images.current().await?.as_ref());
    Ok(images::serve(request, kernel, &app.downloads).await)
}

fn unmakable(error: CustomiseError) -> Problem {
    Problem::Handler(
        StatusCode::CONFLICT,
        format!("no image can be made for this InfraEnv: {error}"),
    )
}
