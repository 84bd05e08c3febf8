//! Power of a host's machine, by its BMC.

use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::bmc::{Bmc, BmcPowerOutcome};
use muster_api::ids::{HostId, InfraEnvId};

use crate::rest::{Refusal, Visitor};
use crate::words;

/// The power of a machine as its BMC reports it.
pub struct PowerView {
    pub bmc: String,
    pub address: String,
    /// The last report of the BMC; empty: it was never requested.
    pub state: String,
    pub state_at: String,
    pub when: String,
    /// The last request and its outcome; empty: there was none.
    pub request: String,
    pub mood: &'static str,
}

/// The BMC of a host, the one that discovered it last; `None`: there is none, or the visitor may not see it.
///
/// # Errors
/// With REST's refusal.
pub async fn bmc_of(visitor: &Visitor, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<Bmc>, Refusal> {
    let path = format!("{MUSTER_PATH}/infra-envs/{infra_env_id}/bmcs");
    let bmcs: Vec<Bmc> = match visitor.get(&path).await {
        Ok(bmcs) => bmcs,
        Err(refusal) if refusal.status == StatusCode::FORBIDDEN => Vec::new(),
        Err(refusal) => return Err(refusal),
    };
    let of_host = bmcs.into_iter().filter(|bmc| bmc.host_id == Some(id));
    Ok(of_host.max_by(|one, other| one.updated_at.cmp(&other.updated_at)))
}

impl PowerView {
    pub fn of(bmc: &Bmc, now: &str) -> Self {
        let power = bmc.power.clone().unwrap_or_default();
        let state_at = power.state_at.unwrap_or_default();
        let (mood, request) = match power.request {
            None => ("", String::new()),
            Some(request) => {
                let mood = match request.outcome {
                    BmcPowerOutcome::Pending => "busy",
                    BmcPowerOutcome::Done => "good",
                    BmcPowerOutcome::Failed => "bad",
                };
                let (action, outcome) = (request.action, request.outcome);
                (mood, format!("{action}: {outcome}. {}", request.reason))
            }
        };
        Self {
            bmc: bmc.name.clone(),
            address: bmc.address.clone(),
            state: power.state.unwrap_or_default(),
            when: words::relative(&state_at, now),
            state_at,
            request,
            mood,
        }
    }
}
