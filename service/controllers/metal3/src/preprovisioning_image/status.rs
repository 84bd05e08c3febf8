//! Computes the status of a PreprovisioningImage. Source: docs/protocol/kube-controllers.md#7.2 (conditions),
//! docs/protocol/metal3.md#2.5 (what Metal3 needs of it).

use std::time::Duration;

use kube::ResourceExt;
use kube::runtime::events::EventType;
use muster_api::infra_env::CpuArchitecture;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus};
use muster_resources::metal3::{NetworkDataStatus, PreprovisioningImage, PreprovisioningImageStatus};
use muster_resources::{InfraEnv, StandardCondition};
use strum::{EnumString, IntoStaticStr};

use crate::infra_env::{Iso, iso};

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    Ready,
    Error,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    InfraEnvAvailable,
    UnsupportedImageFormat,
    InfraEnvArchMismatch,
    InfraEnvNotAvailable,
    WaitingForInfraEnvImageToBeCreated,
    WaitingForInfraEnvImageToCoolDown,
    ImageCreationError,
    /// `spec.networkDataName` cannot be resolved. Not a reason of the protocol.
    NetworkDataNotAvailable,
}

impl ConditionReason for Reason {
    fn event_type(self, _is_new: bool) -> Option<EventType> {
        Some(match self {
            Self::UnsupportedImageFormat
            | Self::InfraEnvArchMismatch
            | Self::ImageCreationError
            | Self::NetworkDataNotAvailable => EventType::Warning,
            Self::InfraEnvAvailable
            | Self::InfraEnvNotAvailable
            | Self::WaitingForInfraEnvImageToBeCreated
            | Self::WaitingForInfraEnvImageToCoolDown => EventType::Normal,
        })
    }
}

muster_controller::has_conditions!(PreprovisioningImageStatus, StandardCondition, Reason);

/// A format of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    Iso,
    Initrd,
}

impl Format {
    /// Chooses among the accepted formats: an ISO where possible, since it needs no DHCP.
    pub fn chosen(accepted: &[String]) -> Option<Self> {
        [Self::Iso, Self::Initrd]
            .into_iter()
            .find(|format| accepted.iter().any(|name| name == <&str>::from(format)))
    }
}

/// The Secret of `spec.networkDataName`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkData {
    /// The spec names none.
    None,
    /// The Secret's version.
    Version(String),
    /// The Secret is missing: the reason.
    Missing(String),
}

/// Everything that the status depends on.
#[derive(Debug)]
pub struct Seen<'a> {
    pub image: &'a PreprovisioningImage,
    pub infra_env: Option<&'a InfraEnv>,
    pub network_data: NetworkData,
    /// Arguments of the kernel, for an initramfs.
    pub kernel_line: Option<String>,
    pub now: Timestamp,
}

/// The result for a PreprovisioningImage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The image is ready.
    Ready(Offer),
    /// The image will be ready. `again`: the time after which it is, if nothing else changes.
    Waiting {
        reason: Reason,
        message: String,
        again: Option<Duration>,
    },
    /// There is no image until a user changes something.
    Failed { reason: Reason, message: String },
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    format: Format,
    image_url: String,
    kernel_url: Option<String>,
    kernel_params: Option<String>,
    network_data: NetworkDataStatus,
    message: String,
}

fn waiting(reason: Reason, message: impl Into<String>) -> Outcome {
    Outcome::Waiting {
        reason,
        message: message.into(),
        again: None,
    }
}

/// Decides the result for a PreprovisioningImage.
pub fn outcome(seen: &Seen<'_>) -> Outcome {
    let spec = &seen.image.spec;
    let Some(format) = Format::chosen(&spec.accept_formats) else {
        return Outcome::Failed {
            reason: Reason::UnsupportedImageFormat,
            message: format!(
                "spec.acceptFormats is {:?}; there are iso and initrd",
                spec.accept_formats
            ),
        };
    };
    let alive = |infra_env: &&InfraEnv| infra_env.metadata.deletion_timestamp.is_none();
    let Some(infra_env) = seen.infra_env.filter(alive) else {
        return waiting(
            Reason::InfraEnvNotAvailable,
            "The InfraEnv that the label infraenvs.agent-install.openshift.io names is not there",
        );
    };
    let offered = match infra_env.spec.cpu_architecture.as_str() {
        "" => CpuArchitecture::default().into(),
        name => name,
    };
    if !spec.architecture.is_empty() && !is_same(offered, &spec.architecture) {
        return Outcome::Failed {
            reason: Reason::InfraEnvArchMismatch,
            message: format!(
                "The machine is {}, the image of the InfraEnv {} is {offered}; give the machine an InfraEnv of its architecture",
                spec.architecture,
                infra_env.name_any(),
            ),
        };
    }
    if let Some(outcome) = not_created(infra_env) {
        return outcome;
    }
    let url = match iso(infra_env, seen.now) {
        Iso::None => {
            return waiting(
                Reason::WaitingForInfraEnvImageToBeCreated,
                "The InfraEnv has no image yet",
            );
        }
        Iso::TooYoung(left) => {
            return Outcome::Waiting {
                reason: Reason::WaitingForInfraEnvImageToCoolDown,
                message: "The image is new, and used when it is a minute old".into(),
                again: Some(left),
            };
        }
        Iso::Ready(url) => url,
    };
    offer(seen, infra_env, format, url)
}

/// Returns the message of the InfraEnv's own condition, unless its image exists.
fn not_created(infra_env: &InfraEnv) -> Option<Outcome> {
    let condition = image_created(infra_env)?;
    let message = condition.message.clone().unwrap_or_default();
    match (condition.status.as_str(), condition.reason.as_deref()) {
        ("True", _) => None,
        (_, Some("ImageCreationError")) => Some(Outcome::Failed {
            reason: Reason::ImageCreationError,
            message,
        }),
        _ => Some(waiting(Reason::WaitingForInfraEnvImageToBeCreated, message)),
    }
}

fn image_created(infra_env: &InfraEnv) -> Option<&muster_resources::Condition> {
    let conditions = infra_env.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .find(|condition| condition.type_ == "ImageCreated")
}

fn offer(seen: &Seen<'_>, infra_env: &InfraEnv, format: Format, iso: &str) -> Outcome {
    let network_data = match &seen.network_data {
        NetworkData::None => NetworkDataStatus::default(),
        NetworkData::Version(version) => NetworkDataStatus {
            name: seen.image.spec.network_data_name.clone(),
            version: version.clone(),
        },
        NetworkData::Missing(why) => {
            return waiting(
                Reason::NetworkDataNotAvailable,
                format!("spec.networkDataName: {why}"),
            );
        }
    };
    let message = image_created(infra_env)
        .and_then(|condition| condition.message.clone())
        .unwrap_or_default();
    let offer = Offer {
        format,
        image_url: iso.to_owned(),
        kernel_url: None,
        kernel_params: None,
        network_data,
        message,
    };
    if format == Format::Iso {
        return Outcome::Ready(offer);
    }
    let artifacts = infra_env
        .status
        .as_ref()
        .and_then(|status| status.boot_artifacts.as_ref());
    let initrd = artifacts.and_then(|artifacts| artifacts.initrd.clone());
    let kernel = artifacts.and_then(|artifacts| artifacts.kernel.clone());
    let (Some(initrd), Some(kernel), Some(line)) = (initrd, kernel, seen.kernel_line.clone()) else {
        return waiting(
            Reason::WaitingForInfraEnvImageToBeCreated,
            "The InfraEnv has no kernel and initramfs yet",
        );
    };
    Outcome::Ready(Offer {
        image_url: initrd,
        kernel_url: Some(kernel),
        kernel_params: Some(line),
        ..offer
    })
}

/// True for two names of one architecture.
fn is_same(one: &str, other: &str) -> bool {
    let parsed = |name: &str| name.parse().ok().map(CpuArchitecture::normalized);
    one == other || parsed(one).is_some() && parsed(one) == parsed(other)
}

/// True when a machine that may have booted the image of `before` must boot that of `next`.
pub fn is_another_image(
    before: Option<&PreprovisioningImageStatus>,
    next: &PreprovisioningImageStatus,
) -> bool {
    let of = |status: &PreprovisioningImageStatus| (status.image_url.clone(), status.kernel_url.clone());
    before.is_some_and(|before| before.image_url.is_some() && of(before) != of(next))
}

/// The status from now on; the same as before when nothing differs.
///
/// An image that cannot be used at present stays in the status, with a condition that shows it.
pub fn status(image: &PreprovisioningImage, outcome: &Outcome, now: Timestamp) -> PreprovisioningImageStatus {
    let mut next = image.status.clone().unwrap_or_default();
    let (ready, error, reason, message) = match outcome {
        Outcome::Ready(offer) => {
            next.image_url = Some(offer.image_url.clone());
            next.kernel_url.clone_from(&offer.kernel_url);
            next.extra_kernel_params.clone_from(&offer.kernel_params);
            next.format = Some(<&str>::from(offer.format).to_owned());
            next.architecture = Some(image.spec.architecture.clone());
            next.network_data = Some(offer.network_data.clone());
            let message = offer.message.as_str();
            (true, false, Reason::InfraEnvAvailable, message)
        }
        Outcome::Waiting { reason, message, .. } => (false, false, *reason, message.as_str()),
        Outcome::Failed { reason, message } => (false, true, *reason, message.as_str()),
    };
    for (type_, is_true) in [(Type::Ready, ready), (Type::Error, error)] {
        let status = if is_true {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        };
        let desired = conditions::DesiredCondition::new(type_, status, reason, message);
        conditions::set(&mut next.conditions, desired, now);
    }
    // Metal3 ignores conditions of an older spec.
    for condition in &mut next.conditions {
        condition.observed_generation = image.metadata.generation;
    }
    next
}

#[cfg(test)]
mod tests;
