//! The BMCs of an InfraEnv, to be read.

use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::bmc::{Bmc, BmcPhase};
use muster_api::ids::InfraEnvId;

use crate::hosts;
use crate::rest::{Refusal, Visitor};

/// BMCs that are shown.
const SHOWN: usize = 100;

/// The BMCs of an InfraEnv, failed ones first.
pub struct Bmcs {
    pub rows: Vec<BmcRow>,
    /// Number of further ones.
    pub left_out: usize,
}

pub struct BmcRow {
    pub name: String,
    pub address: String,
    pub phase: String,
    /// `good`, `bad` or `busy`.
    pub mood: &'static str,
    pub reason: String,
    /// As the BMC reported it last; empty: not known.
    pub power: String,
    /// The address of its host.
    pub host: Option<String>,
}

/// `None` for a visitor who may see none.
///
/// # Errors
/// Other refusals of REST.
pub async fn bmcs(visitor: &Visitor, id: InfraEnvId) -> Result<Option<Bmcs>, Refusal> {
    let path = format!("{MUSTER_PATH}/infra-envs/{id}/bmcs");
    let found: Option<Vec<Bmc>> = visitor.get_unless(&[StatusCode::FORBIDDEN], &path).await?;
    let Some(mut all) = found else {
        return Ok(None);
    };
    // By name within each.
    all.sort_by_key(|bmc| bmc.phase != BmcPhase::Failed);
    Ok(Some(Bmcs {
        left_out: all.len().saturating_sub(SHOWN),
        rows: all.into_iter().take(SHOWN).map(BmcRow::of).collect(),
    }))
}

impl BmcRow {
    fn of(bmc: Bmc) -> Self {
        let power = bmc.power.and_then(|power| power.state);
        Self {
            name: bmc.name,
            address: bmc.address,
            phase: bmc.phase.to_string(),
            mood: match bmc.phase {
                BmcPhase::Discovered => "good",
                BmcPhase::Failed => "bad",
                BmcPhase::Waiting
                | BmcPhase::Checking
                | BmcPhase::Inserting
                | BmcPhase::Booting
                | BmcPhase::WaitingForAgent
                | BmcPhase::Stopped => "busy",
            },
            reason: bmc.reason,
            power: power.unwrap_or_default(),
            host: bmc.host_id.map(|host| hosts::address(bmc.infra_env_id, host)),
        }
    }
}
