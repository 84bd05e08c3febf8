//! Holds the observed state of a BareMetalHost, and the next step that follows from it.

use std::time::Duration;

use kube::ResourceExt;
use muster_api::host::HostStage;
use muster_api::time::Timestamp;
use muster_resources::metal3::names::annotation;
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use muster_resources::{Agent, InfraEnv};

use crate::edits::Edits;

/// States of an Agent in which its host is being installed, before and between the stages.
const INSTALLING: [&str; 5] = [
    "preparing-for-installation",
    "preparing-successful",
    "installing",
    "installing-in-progress",
    "installing-pending-user-action",
];

/// The state of an Agent after a failed installation.
const FAILED: &str = "error";

/// Everything that the next step depends on.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub host: &'a BareMetalHost,
    pub infra_env: Option<&'a InfraEnv>,
    pub agent: Option<&'a Agent>,
    /// The PreprovisioningImage of the same name.
    pub image: Option<&'a PreprovisioningImage>,
    pub now: Timestamp,
}

/// The next step.
#[derive(Debug, Default, PartialEq)]
pub struct Step {
    pub edits: Edits,
    /// Time after which to reconcile without a change of anything.
    pub again: Option<Duration>,
    pub wait: Option<Waiting>,
}

impl Step {
    /// Sets the wait.
    pub fn waits(&mut self, reason: &'static str, what: impl Into<String>, todo: &'static str) {
        self.wait = Some(Waiting {
            reason,
            what: what.into(),
            todo,
        });
    }
}

/// A wait of a BareMetalHost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The reason, for programs.
    pub reason: &'static str,
    /// A sentence without a full stop.
    pub what: String,
    /// Advice for a user; empty: the wait passes by itself.
    pub todo: &'static str,
}

/// The progress of a host's installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The host runs the discovery image, or there is no host.
    NotInstalling,
    /// A reboot or another image would interrupt the installation.
    Installing,
    /// The disk is written, or the installation failed: Metal3 must not boot the image again.
    Over,
}

impl Progress {
    pub fn of(agent: Option<&Agent>) -> Self {
        let Some(status) = agent.and_then(|agent| agent.status.as_ref()) else {
            return Self::NotInstalling;
        };
        let stage = status
            .progress
            .as_ref()
            .and_then(|progress| progress.current_stage.as_deref());
        let stage: Option<HostStage> = stage.and_then(|stage| stage.parse().ok());
        let state = status.debug_info.as_ref().and_then(|info| info.state.as_deref());
        match stage {
            Some(HostStage::Failed | HostStage::Rebooting | HostStage::Joined | HostStage::Done) => {
                Self::Over
            }
            // The stage remains the one in which it failed.
            _ if state == Some(FAILED) => Self::Over,
            Some(_) => Self::Installing,
            None if state.is_some_and(|state| INSTALLING.contains(&state)) => Self::Installing,
            None => Self::NotInstalling,
        }
    }
}

/// The state that Metal3 reports; empty before its first.
pub fn state_of(host: &BareMetalHost) -> &str {
    let status = host.status.as_ref();
    status.map_or("", |status| status.provisioning.state.as_str())
}

/// Value of the annotation by which a host is detached.
pub fn detached(host: &BareMetalHost) -> Option<&str> {
    host.annotations().get(annotation::DETACHED).map(String::as_str)
}

/// Detaches the host from Metal3: no more power calls, no ejected media.
pub fn detach(host: &BareMetalHost, value: &str, edits: &mut Edits) {
    edits.annotate(host, annotation::DETACHED, Some(value));
}
