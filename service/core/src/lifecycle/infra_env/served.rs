//! Refuses what no image of this service does, before a machine is booted from one that cannot work.

use muster_api::infra_env::{CpuArchitecture, HostStaticNetworkConfig, ImageType};

use super::unapplied::{Unapplied, unapplied_network};
use crate::rules::input::{self, Invalid};
use crate::rules::live_network::first_unapplied;

/// Checks what is asked of an image by REST, which has no condition that could tell afterwards.
///
/// # Errors
/// When there is no image of this architecture or type; the text says what there is.
pub fn check_image(
    architecture: Option<CpuArchitecture>,
    image_type: Option<ImageType>,
) -> Result<(), Invalid> {
    let architecture = architecture.unwrap_or_default().normalized();
    if architecture != CpuArchitecture::X86_64 {
        let why = format!(
            "there is no discovery image for {}; this service has one for x86_64",
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

/// The reason why static networks are refused (409); `None`: the live image applies them all.
///
/// # Errors
/// When the configuration is wrong in itself.
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
