use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use muster_api::bmc::{Bmc, BmcPage, BmcPhase};
use muster_api::error::InfraError;
use muster_api::ids::InfraEnvId;
use muster_core::lifecycle::bmc::view;
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use muster_operations::bmcs::BmcWindow;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::scopes::scope_of;

/// Default number of BMCs.
const LIMIT: u32 = 100;

/// Most BMCs in one answer, which is in memory as a whole.
const MAX_LIMIT: i64 = 1000;

/// The part of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct AllBmcsQuery {
    /// Only those in this phase.
    #[param(inline)]
    phase: Option<BmcPhase>,
    /// So many are left out before [default: 0].
    #[param(minimum = 0, maximum = 1000000)]
    from: Option<i64>,
    /// At most so many [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// List the BMCs of all InfraEnvs
///
/// Of those that the caller may see: failed ones first, by name, without the inventories of their machines; with counts by phase. A token for
/// one InfraEnv sees its BMCs.
#[utoipa::path(
    get, path = "/bmcs", operation_id = "MusterListAllBmcs", tag = "bmcs", params(AllBmcsQuery),
    responses((status = 200, body = BmcPage), (status = 400, body = InfraError))
)]
pub async fn list_all_bmcs(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<AllBmcsQuery>,
) -> Result<Json<BmcPage>, Problem> {
    let scope = scope_of(caller);
    let most = match query.limit {
        None => LIMIT,
        Some(limit @ 1..=MAX_LIMIT) => u32::try_from(limit).unwrap_or(LIMIT),
        Some(_) => {
            return Err(Problem::bad_request(format!(
                "limit: 1 to {MAX_LIMIT} BMCs are answered at once"
            )));
        }
    };
    let from = match query.from.unwrap_or_default() {
        from @ 0..=1_000_000 => u32::try_from(from).unwrap_or_default(),
        _ => return Err(Problem::bad_request("from: a number from 0 to 1000000")),
    };
    let window = BmcWindow {
        infra_env_id: scope,
        phase: query.phase,
        from,
        most,
    };
    let (found, more) = operations.bmcs.window(window).await?;
    let mut names: HashMap<InfraEnvId, String> = HashMap::new();
    for bmc in &found {
        if names.contains_key(&bmc.infra_env_id) {
            continue;
        }
        let infra_env = operations.infra_envs.find(bmc.infra_env_id).await?;
        let name = infra_env.map(|infra_env| infra_env.name.clone());
        names.insert(bmc.infra_env_id, name.unwrap_or_default());
    }
    let brief = |bmc| Bmc {
        inventory: None,
        ..view(bmc)
    };
    let phases = operations.bmcs.count_by_phase(scope).await?;
    Ok(Json(BmcPage {
        bmcs: found.iter().map(brief).collect(),
        infra_envs: names
            .into_iter()
            .map(|(id, name)| (id.to_string(), name))
            .collect(),
        phases: phases
            .into_iter()
            .map(|(phase, count)| (phase.to_string(), count))
            .collect(),
        more,
    }))
}
