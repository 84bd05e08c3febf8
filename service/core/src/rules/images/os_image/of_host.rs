//! Chooses the image of one host, if it needs one from the service.

use muster_api::BASE_PATH;
use muster_api::host::{HostOsImage, OsImageChoice};
use muster_api::steps::{self, ImageConfiguration};
use thiserror::Error;

use super::choice::NoImage;
use super::list::{Availability, MetalImage, OsImage, Source};
use super::wished::{choose_wished, counts};
use crate::record::{Host, InfraEnv};
use crate::rules::facts::HostFacts;
use crate::rules::{agent_version, architecture};

/// There is no image for a host that needs one. The text holds the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Missing {
    #[error(transparent)]
    NoEntry(#[from] NoImage),
    #[error("an OS image of the service is requested for this host, but {0}")]
    BringsItsOwn(&'static str),
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
            Self::NoEntry(_) | Self::BringsItsOwn(_) | Self::Unusable { .. } => false,
        }
    }
}

/// The image for the host's install step. `None`: it needs none from the service, since it has an agent of another
/// make, or its live system is CoreOS, which contains one, or a user named one in the installer's arguments.
///
/// An image that is requested for the host ([`ImageWish`](crate::record::ImageWish)) is also written from a CoreOS live system.
///
/// # Errors
/// If it needs one and there is none (yet), or one is requested and the host would be installed with another.
pub fn of_host(host: &Host, facts: &HostFacts<'_>) -> Result<Option<steps::OsImage>, Missing> {
    let own = brings(host);
    if counts(facts.os_images, &host.data.image_wish) {
        match own {
            Some(Own::LiveSystem) | None => {}
            Some(Own::Agent) => {
                let why = "its agent is of another make and installs an image of its own; boot the discovery image of this service";
                return Err(Missing::BringsItsOwn(why));
            }
            Some(Own::Arguments) => {
                let why = "its installer arguments name another one; take --image-url and --image-file out";
                return Err(Missing::BringsItsOwn(why));
            }
        }
    } else if own.is_some() {
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
    let entry = entry(host, facts).ok().filter(|_| takes_one(host, facts));
    entry.map_or(ImageConfiguration::Ignition, |(_, metal)| metal.configuration)
}

/// The entry for a host, available or not.
///
/// # Errors
/// If none fits.
pub fn entry<'a>(host: &Host, facts: &HostFacts<'a>) -> Result<(&'a OsImage, &'a MetalImage), NoImage> {
    let (image, _) = chosen(host, facts)?;
    let architecture = architecture::of(host, facts.infra_env);
    let metal = image.metal.as_ref();
    metal
        .map(|metal| (image, metal))
        .ok_or(NoImage::OfArchitecture(architecture.normalized().name()))
}

fn chosen<'a>(host: &Host, facts: &HostFacts<'a>) -> Result<(&'a OsImage, OsImageChoice), NoImage> {
    let version = facts
        .cluster
        .map_or("", |facts| facts.cluster.data.openshift_version.as_str());
    let architecture = architecture::of(host, facts.infra_env);
    choose_wished(facts.os_images, &host.data.image_wish, version, architecture)
}

/// True if the host's disk gets an image of the service's list.
fn takes_one(host: &Host, facts: &HostFacts<'_>) -> bool {
    match brings(host) {
        None => true,
        Some(Own::LiveSystem) => counts(facts.os_images, &host.data.image_wish),
        Some(Own::Agent | Own::Arguments) => false,
    }
}

/// The entry for a host of a cluster, for users; `None`: none fits, or the host brings its own image.
pub fn shown(host: &Host, facts: &HostFacts<'_>) -> Option<HostOsImage> {
    facts.cluster?;
    let (image, chosen_by) = chosen(host, facts).ok().filter(|_| takes_one(host, facts))?;
    Some(HostOsImage {
        name: image.name.clone().unwrap_or_default(),
        version: image.version.clone(),
        openshift_version: image.openshift_version.clone(),
        kubernetes_version: image.kubernetes_version.clone().unwrap_or_default(),
        chosen_by,
    })
}

/// The reason why no entry meets what is requested for a host; `None`: one does, or nothing is requested.
pub fn unmet_wish(host: &Host, infra_env: &InfraEnv, images: &[OsImage]) -> Option<NoImage> {
    let wish = &host.data.image_wish;
    if !counts(images, wish) {
        return None;
    }
    choose_wished(images, wish, "", architecture::of(host, infra_env)).err()
}

/// An image that a host is installed with unless one is requested.
enum Own {
    /// That of an agent of another make.
    Agent,
    /// A user named it in the installer's arguments.
    Arguments,
    /// Its live system contains it.
    LiveSystem,
}

fn brings(host: &Host) -> Option<Own> {
    let names_one = |word: &String| matches!(word.as_str(), "--image-url" | "--image-file");
    let boot = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.boot.as_ref());
    if !agent_version::is_own(&host.data.discovery_agent_version) {
        return Some(Own::Agent);
    }
    if host.data.installer_args.iter().any(names_one) {
        return Some(Own::Arguments);
    }
    boot.is_some_and(|boot| boot.command_line.contains("coreos.live"))
        .then_some(Own::LiveSystem)
}
