//! Refuses requests that no image of this service can meet, before a machine boots from an unusable one.

use muster_api::infra_env::{CpuArchitecture, HostStaticNetworkConfig, ImageType};

use super::unapplied::{Unapplied, unapplied_network};
use crate::rules::input::{self, Invalid};
use crate::rules::live_network::first_unapplied;
use crate::rules::os_image::{OsImage, choose_live};

/// Checks the image that a REST request describes: REST has no condition that could report the fault later. `images`:
/// the operator's list; `own`: the architectures for which the Muster live image exists in addition to x86_64.
///
/// # Errors
/// If there is no image of this architecture or type; the text lists the available ones.
pub fn check_image(
    images: &[OsImage],
    own: &[CpuArchitecture],
    version: &str,
    architecture: Option<CpuArchitecture>,
    image_type: Option<ImageType>,
) -> Result<(), Invalid> {
    let architecture = architecture.unwrap_or_default().normalized();
    let has_own = architecture == CpuArchitecture::X86_64 || own.contains(&architecture);
    if !has_own && choose_live(images, version, architecture).is_none() {
        let why = format!(
            "there is no discovery image for {} and version {version:?}; this service has its own for x86_64 (and for arm64 with --live-image-aarch64), and those of CoreOS that --os-images (OS_IMAGES) names by url",
            architecture.name()
        );
        return Err(Invalid::new("cpu_architecture", why));
    }
    match image_type {
        Some(ImageType::DisconnectedIso) => Err(Invalid::new(
            "image_type",
            "there is no image of the type disconnected-iso: it installs a new cluster, and this service adds hosts to clusters that exist; use full-iso or minimal-iso",
        )),
        Some(ImageType::FullIso | ImageType::MinimalIso) | None => Ok(()),
    }
}

/// The reason why static networks are refused (409); `None`: the live image applies all of them.
///
/// # Errors
/// If the configuration is invalid in itself.
pub fn refused_network(list: Option<&[HostStaticNetworkConfig]>) -> Result<Option<String>, Invalid> {
    let Some(list) = list.filter(|list| !list.is_empty()) else {
        return Ok(None);
    };
    input::static_network(list)?;
    let unapplied = first_unapplied(list);
    Ok(unapplied.map(|(index, why)| {
        format!(
            "{}: {}. Leave it out, or give this host DHCP and no entry here",
            Unapplied::StaticNetwork.field(),
            unapplied_network(index, &why)
        )
    }))
}
