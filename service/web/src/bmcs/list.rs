//! The BMCs of all pools that the visitor may see, by phase, in windows; with the form that imports a table.

use askama::Template;
use axum::response::Response;
use muster_api::MUSTER_PATH;
use muster_api::bmc::{BmcPage, BmcPhase};
use muster_api::ids::{BmcId, InfraEnvId};
use muster_api::time::{millis, now};

use super::BMCS;
use super::import::{IMPORT, Outcome};
use super::rows::{BmcRows, mood};
use crate::html::{Frame, Gone, answer};
use crate::rest::{Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::{pools, words};

/// BMCs in one window.
const WINDOW: usize = 100;

#[derive(Template)]
#[template(path = "bmc/list.html")]
pub struct BmcsPage {
    frame: Frame,
    gone: Option<Gone>,
    /// How many BMCs an import added.
    added: Option<String>,
    /// The phases with BMCs.
    phases: Vec<Phase>,
    /// The phase that is shown alone; empty: all are.
    only: String,
    rows: BmcRows,
    /// The addresses of the windows around this one.
    before: Option<String>,
    next: Option<String>,
    /// The pools that a table can be imported into.
    pools: Vec<Pool>,
    outcome: Outcome,
    at: String,
}

struct Phase {
    name: String,
    mood: &'static str,
    bmcs: i64,
    address: String,
}

struct Pool {
    id: InfraEnvId,
    name: String,
    is_chosen: bool,
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    let page = BmcsPage {
        gone: gone(&visitor),
        added: added(&visitor),
        ..page(&visitor, Outcome::default()).await?
    };
    Ok(visitor.shown(BMCS, answer(&page)))
}

/// The BMC that a form deleted.
fn gone(visitor: &Visitor) -> Option<Gone> {
    let id: BmcId = visitor.notice(BMCS)?.deleted()?;
    Some(Gone {
        what: "The BMC is deleted, with its password. The host that its machine has become stays.",
        command: format!("muster bmc delete {id}"),
    })
}

/// The BMCs that a form added.
fn added(visitor: &Visitor) -> Option<String> {
    let notice = visitor.notice(BMCS).filter(|notice| notice.action == IMPORT)?;
    let number: usize = notice.details.first()?.parse().ok()?;
    Some(words::count(number, "BMC"))
}

/// The page with the outcome of an import.
///
/// # Errors
/// As REST refuses.
pub async fn page(visitor: &Visitor, outcome: Outcome) -> Result<BmcsPage, Refusal> {
    let session = session(visitor).await?;
    let [phase, from] = visitor.parameters(["phase", "from"]);
    // A phase that does not exist selects all.
    let only = phase.parse::<BmcPhase>().ok();
    let from = from.parse().unwrap_or(0_usize);
    let phase = only.map(|phase| format!("&phase={phase}")).unwrap_or_default();
    let path = format!("{MUSTER_PATH}/bmcs?limit={WINDOW}&from={from}{phase}");
    let found: BmcPage = visitor.get(&path).await?;
    let window = |from: usize| match (from, phase.is_empty()) {
        (0, true) => BMCS.to_owned(),
        _ => format!("{BMCS}?from={from}{phase}"),
    };
    let names = &found.infra_envs;
    let rows = found.bmcs.iter().map(|bmc| {
        let name = names.get(&bmc.infra_env_id.to_string());
        (bmc.clone(), name.cloned().unwrap_or_default())
    });
    let mut pools = pools::visible(visitor, &session).await?;
    pools.sort_by_cached_key(|pool| (pool.name.to_lowercase(), pool.id));
    let chosen = outcome.pool;
    Ok(BmcsPage {
        rows: BmcRows::of_pools(rows),
        phases: found.phases.iter().filter_map(Phase::of).collect(),
        before: (from > 0).then(|| window(from.saturating_sub(WINDOW))),
        next: found.more.then(|| window(from.saturating_add(WINDOW))),
        only: only.map(|phase| phase.to_string()).unwrap_or_default(),
        pools: pools
            .into_iter()
            .map(|pool| Pool {
                is_chosen: chosen == Some(pool.id),
                id: pool.id,
                name: pool.name,
            })
            .collect(),
        gone: None,
        added: None,
        outcome,
        frame: frame_of(session),
        at: millis(Some(now())),
    })
}

impl Phase {
    /// `None` for a phase of a newer version.
    fn of((name, bmcs): (&String, &i64)) -> Option<Self> {
        let phase: BmcPhase = name.parse().ok()?;
        Some(Self {
            mood: mood(phase),
            name: name.clone(),
            bmcs: *bmcs,
            address: format!("{BMCS}?phase={phase}"),
        })
    }
}
