//! The step with which our agents replace themselves by the program in the service's live image. Not part of the
//! protocol.

use muster_api::steps::{AgentProgram, Step, StepType, UpgradeAgentRequest};

use crate::json::to_json;
use crate::record::{Host, Phase};
use crate::rules::{agent_version, cleaning};

/// The program that the service holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// With the prefix of our agents.
    pub version: String,
    pub program: AgentProgram,
}

/// Digits of the digest in the name of a program.
const SHOWN_DIGITS: usize = 12;

/// The upgrade step for an agent of the SHA-256 `build`, which only agents report that can replace themselves. `None`:
/// no upgrade. Agents of hosts that are being installed, are installed, or are moving between both are never upgraded; nor are those that are erasing disks.
pub fn handover(host: &Host, build: &str, offer: &Offer) -> Option<Step> {
    let in_discovery = match host.state.phase() {
        Phase::Unbound | Phase::PreInstall => !host.state.waits_for_poll(),
        Phase::Installing | Phase::Ended | Phase::Moving => false,
    };
    let present = &host.data.discovery_agent_version;
    let other = !build.eq_ignore_ascii_case(&offer.program.sha256);
    // It would begin the erasure again.
    let erases = host.data.cleaning.as_ref().is_some_and(cleaning::is_under_way);
    if !in_discovery || erases || !other || !agent_version::may_become(present, &offer.version) {
        return None;
    }
    let digits = offer.program.sha256.get(..SHOWN_DIGITS).unwrap_or_default();
    let request = UpgradeAgentRequest {
        agent_image: format!("{} (sha256:{digits})", offer.version),
        program: Some(offer.program.clone()),
    };
    Some(Step {
        step_type: StepType::UpgradeAgent.name().into(),
        step_id: String::new(),
        args: vec![to_json(&request)],
    })
}
