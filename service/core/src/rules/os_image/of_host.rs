//! Chooses the image of one host, if it needs one from the service.

use muster_api::BASE_PATH;
use muster_api::steps::{self, ImageConfiguration};
use thiserror::Error;

use super::choice::{NoImage, choose};
use super::list::{Availability, MetalImage, OsImage, Source};
use crate::record::Host;
use crate::rules::facts::HostFacts;
use crate::rules::{agent_version, architecture};

/// There is no image for a host that needs one. The text holds the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Missing {
    #[error(transparent)]
    NoEntry(#[from] NoImage),
    #[error(
        "the OS image {0} is being checked against its digest; the installation begins when that is done"
    )]
    Checking(String),
    #[error("the OS image {path} cannot be used: {why}")]
    Unusable { path: String, why: String },
}

impl Missing {
    /// True if the obstacle ends soon without a user's help.
    pub fn passes(&self) -> bool {
        match self {
            Self::Checking(_) => true,
            Self::NoEntry(_) | Self::Unusable { .. } => false,
        }
    }
}

/// The image for the host's install step. `None`: it needs none from the service, since it has an agent of another
/// make, or its live system is CoreOS, which contains one, or a user named one in the installer's arguments.
///
/// # Errors
/// If it needs one and there is none (yet).
pub fn of_host(host: &Host, facts: &HostFacts<'_>) -> Result<Option<steps::OsImage>, Missing> {
    if brings_its_own(host) {
        return Ok(None);
    }
    let (image, metal) = entry(host, facts)?;
    let size = match &metal.availability {
        Availability::Ready { size } => *size,
        Availability::Checking => return Err(Missing::Checking(metal.source.to_string())),
        Availability::Unusable(why) => {
            return Err(Missing::Unusable {
                path: metal.source.to_string(),
                why: why.clone(),
            });
        }
    };
    let url = match &metal.source {
        Source::Url(url) => url.clone(),
        Source::Path(_) => format!(
            "{}{BASE_PATH}/infra-envs/{}/hosts/{}/downloads/os-image",
            facts.service_url, host.infra_env_id, host.id
        ),
    };
    let text = |digest: &Option<super::Digest>| digest.as_ref().map(|digest| digest.as_str().to_owned());
    Ok(Some(steps::OsImage {
        url,
        sha256: text(&metal.sha256),
        uncompressed_sha256: text(&metal.uncompressed_sha256),
        size,
        format: metal.format,
        version: image.version.clone(),
        openshift_version: image.openshift_version.clone(),
        configuration: metal.configuration,
    }))
}

/// The program that configures the host's image at its first boot. Images that the host brings itself, or that a user
/// names in the installer's arguments, are CoreOS's.
pub fn configuration(host: &Host, facts: &HostFacts<'_>) -> ImageConfiguration {
    if brings_its_own(host) {
        return ImageConfiguration::Ignition;
    }
    let entry = entry(host, facts);
    entry.map_or(ImageConfiguration::Ignition, |(_, metal)| metal.configuration)
}

/// The entry for a host, available or not.
///
/// # Errors
/// If none fits.
pub fn entry<'a>(host: &Host, facts: &HostFacts<'a>) -> Result<(&'a OsImage, &'a MetalImage), NoImage> {
    let version = facts
        .cluster
        .map_or("", |facts| facts.cluster.data.openshift_version.as_str());
    let architecture = architecture::of(host, facts);
    let image = choose(facts.os_images, version, architecture)?;
    let metal = image.metal.as_ref();
    metal
        .map(|metal| (image, metal))
        .ok_or(NoImage::OfArchitecture(architecture.normalized().name()))
}

fn brings_its_own(host: &Host) -> bool {
    let names_one = |word: &String| matches!(word.as_str(), "--image-url" | "--image-file");
    let boot = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.boot.as_ref());
    !agent_version::is_own(&host.data.discovery_agent_version)
        || boot.is_some_and(|boot| boot.command_line.contains("coreos.live"))
        || host.data.installer_args.iter().any(names_one)
}
