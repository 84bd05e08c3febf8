//! Serves the artifacts of an InfraEnv.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use muster_api::ids::BmcId;
use muster_core::record::InfraEnv;
use muster_http::Problem;
use muster_operations::Operations;
use muster_operations::images::bmc_medium::NoMedium;
use muster_operations::images::cache::ImageForm;
use muster_operations::images::discovery::DiscoveryImage;
use muster_operations::images::make::Unmakable;
use muster_operations::images::mounted_media::Medium;

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
    /// One that is made for the InfraEnv.
    Made(ImageForm),
    /// Address and length of the InfraEnv's initramfs, for s390x.
    AddrSize,
    /// An artifact that is the same for every machine.
    Common(Common),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Common {
    Kernel,
    /// The root file system, of images that fetch it.
    Rootfs,
    /// The list of files that s390x machines load.
    GenericIns,
}

/// Answers GET, HEAD, ranges and conditions.
pub async fn serve(
    images: &Images,
    infra_env: &InfraEnv,
    image: &DiscoveryImage,
    artifact: Artifact,
    request: &Parts,
) -> Result<Response, Problem> {
    let form = match artifact {
        Artifact::Made(form) => form,
        Artifact::AddrSize => ImageForm::Initrd,
        Artifact::Common(common) => return serve_common(images, image, common, request).await,
    };
    let updated_at = images.operations.made_image_changed_at(infra_env, image);
    let made = images.operations.made_image(infra_env, image, form);
    let made = made.map_err(unmakable)?;
    let id = infra_env.id;
    let download = match form {
        ImageForm::Initrd if artifact == Artifact::AddrSize => {
            let addrsize = image.initrd_addrsize(&made).ok_or_else(only_s390x)?;
            Download::artifact(image, addrsize, updated_at, format!("{id}-initrd.addrsize"))
        }
        ImageForm::FullIso | ImageForm::MinimalIso => {
            Download::iso(image, made, updated_at, format!("{id}-discovery.iso"))
        }
        ImageForm::Initrd => Download::artifact(image, made, updated_at, format!("{id}-initrd.img")),
    };
    Ok(serve_download(request, download, &images.downloads).await)
}

/// Serves the image that a medium was made of, and no other, with the name of the BMC of the machine that boots it.
pub async fn serve_medium(
    images: &Images,
    infra_env: &InfraEnv,
    (tag, bmc_id): (&str, BmcId),
    request: &Parts,
) -> Result<Response, Problem> {
    let medium = images
        .operations
        .medium(infra_env, tag)
        .await
        .map_err(no_medium)?;
    let bytes = medium.of_bmc(bmc_id);
    let Medium {
        image, changed_at, ..
    } = medium.as_ref();
    let name = format!("{}-discovery.iso", infra_env.id);
    let download = Download::iso(image, bytes, *changed_at, name);
    Ok(serve_download(request, download, &images.downloads).await)
}

fn no_medium(error: NoMedium) -> Problem {
    match error {
        NoMedium::Image(error) => error.into(),
        NoMedium::Unmakable(error) => unmakable(error),
        NoMedium::Gone => Problem::Handler(StatusCode::GONE, error.to_string()),
    }
}

/// Serves an artifact that is the same for every machine.
pub async fn serve_common(
    images: &Images,
    image: &DiscoveryImage,
    artifact: Common,
    request: &Parts,
) -> Result<Response, Problem> {
    let (bytes, name) = match artifact {
        Common::Kernel => (image.kernel(), "vmlinuz"),
        Common::Rootfs => (image.rootfs().ok_or_else(no_rootfs)?, "rootfs.img"),
        Common::GenericIns => (image.generic_ins().ok_or_else(only_s390x)?, "generic.ins"),
    };
    let download = Download::artifact(image, bytes, image.modified(), name);
    Ok(serve_download(request, download, &images.downloads).await)
}

fn no_rootfs() -> Problem {
    Problem::absent("the Muster live image has no root file system of its own: its initrd is all of it")
}

fn only_s390x() -> Problem {
    Problem::absent("only images for s390x have this file")
}

fn unmakable(error: Unmakable) -> Problem {
    Problem::Handler(
        StatusCode::CONFLICT,
        format!("no image can be made for this InfraEnv: {error}"),
    )
}
