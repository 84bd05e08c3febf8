//! Serves the artifacts of an InfraEnv.

use std::sync::Arc;
use std::time::SystemTime;

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use muster_core::record::InfraEnv;
use muster_http::Problem;
use muster_image::{Customisation, CustomiseError};
use muster_operations::Operations;
use muster_operations::boot::kernel_arguments;

use crate::download::Download;
use crate::downloads::Downloads;
use crate::serve::serve as serve_download;

/// The state of the routes.
#[derive(Clone)]
pub struct Images {
    /// InfraEnvs, tokens, the live image.
    pub operations: Arc<Operations>,
    /// Running downloads.
    pub downloads: Downloads,
}

/// An artifact that machines request.
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
    images: &Images,
    infra_env: &InfraEnv,
    artifact: Artifact,
    request: &Parts,
) -> Result<Response, Problem> {
    let live = images.operations.live_images.current().await?;
    // The configuration in the image follows the service's options, too, which may have changed when it was started.
    let updated_at = SystemTime::from(infra_env.updated_at.max(images.operations.image_options.since()));
    let id = infra_env.id;
    let download = match artifact {
        Artifact::Iso => {
            let wanted = Customisation {
                config: images.operations.live_config(infra_env),
                kernel_arguments: kernel_arguments(infra_env),
            };
            Download::iso(&live, &wanted, updated_at, format!("{id}-discovery.iso")).map_err(unmakable)?
        }
        Artifact::Initrd => {
            let config = images.operations.live_config(infra_env);
            Download::initrd(&live, &config, updated_at, format!("{id}-initrd.img")).map_err(unmakable)?
        }
        Artifact::Kernel => Download::kernel(&live),
    };
    Ok(serve_download(request, download, &images.downloads).await)
}

/// The kernel is the same for everybody, and nobody needs a credential for it.
pub async fn serve_kernel(images: &Images, request: &Parts) -> Result<Response, Problem> {
    let kernel = Download::kernel(images.operations.live_images.current().await?.as_ref());
    Ok(serve_download(request, kernel, &images.downloads.of_strangers()).await)
}

fn unmakable(error: CustomiseError) -> Problem {
    Problem::Handler(
        StatusCode::CONFLICT,
        format!("no image can be made for this InfraEnv: {error}"),
    )
}
