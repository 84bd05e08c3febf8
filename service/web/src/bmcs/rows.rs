//! BMCs as rows of a table.

use askama::Template;
use askama::filters::HtmlSafe;
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::bmc::{Bmc, BmcPhase};
use muster_api::ids::InfraEnvId;

use super::address;
use crate::rest::{Refusal, Visitor};
use crate::{hosts, pools};

/// BMCs that the page of a pool shows.
const SHOWN: usize = 100;

/// The BMCs of an InfraEnv, failed ones first.
pub struct Bmcs {
    pub rows: BmcRows,
    /// Number of further ones.
    pub left_out: usize,
}

/// BMCs as a table. It is a template of its own, which escapes what it shows.
#[derive(Template)]
#[template(path = "bmc/rows.html")]
pub struct BmcRows {
    rows: Vec<BmcRow>,
    /// True on pages of several pools.
    with_pools: bool,
}

impl HtmlSafe for BmcRows {}

struct BmcRow {
    page: String,
    name: String,
    address: String,
    pool: String,
    pool_page: String,
    phase: String,
    mood: &'static str,
    reason: String,
    /// As the BMC reported it last; empty: not known.
    power: String,
    /// The address of its host.
    host: Option<String>,
}

/// `None` for a visitor who may see none.
///
/// # Errors
/// Other refusals of REST.
pub async fn of_pool(visitor: &Visitor, id: InfraEnvId) -> Result<Option<Bmcs>, Refusal> {
    let path = format!("{MUSTER_PATH}/infra-envs/{id}/bmcs");
    let found: Option<Vec<Bmc>> = visitor.get_unless(&[StatusCode::FORBIDDEN], &path).await?;
    let Some(mut all) = found else {
        return Ok(None);
    };
    // By name within each.
    all.sort_by_key(|bmc| bmc.phase != BmcPhase::Failed);
    Ok(Some(Bmcs {
        left_out: all.len().saturating_sub(SHOWN),
        rows: BmcRows {
            rows: all
                .into_iter()
                .take(SHOWN)
                .map(|bmc| BmcRow::of(bmc, String::new()))
                .collect(),
            with_pools: false,
        },
    }))
}

impl BmcRows {
    /// Those of several pools, each with the name of its own.
    pub fn of_pools(bmcs: impl IntoIterator<Item = (Bmc, String)>) -> Self {
        let rows = bmcs.into_iter();
        Self {
            rows: rows.map(|(bmc, pool)| BmcRow::of(bmc, pool)).collect(),
            with_pools: true,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// `good`, `bad` or `busy`.
pub fn mood(phase: BmcPhase) -> &'static str {
    match phase {
        BmcPhase::Discovered => "good",
        BmcPhase::Failed => "bad",
        BmcPhase::Waiting
        | BmcPhase::Checking
        | BmcPhase::Inserting
        | BmcPhase::Booting
        | BmcPhase::WaitingForAgent
        | BmcPhase::Stopped => "busy",
    }
}

impl BmcRow {
    fn of(bmc: Bmc, pool: String) -> Self {
        let power = bmc.power.and_then(|power| power.state);
        Self {
            page: address(bmc.infra_env_id, bmc.id),
            pool,
            pool_page: pools::address(bmc.infra_env_id),
            name: bmc.name,
            address: bmc.address,
            phase: bmc.phase.to_string(),
            mood: mood(bmc.phase),
            reason: bmc.reason,
            power: power.unwrap_or_default(),
            host: bmc.host_id.map(|host| hosts::address(bmc.infra_env_id, host)),
        }
    }
}
