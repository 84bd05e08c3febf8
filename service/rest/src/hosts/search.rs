mod table;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use muster_api::error::InfraError;
use muster_api::search::FoundHosts;
use muster_core::query::{Cursor, FACETS, Query as HostQuery, Sort};
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use muster_operations::hosts::HostSearch;
use serde::Deserialize;
use strum::VariantArray;
use utoipa::IntoParams;

use crate::scopes::scope_of;
use crate::views::table::ListFormat;
use table::Column;

/// Hosts in one answer, unless the request has another number.
const USUAL: usize = 100;

/// Most hosts in one answer as JSON.
const MOST: i64 = 1000;

/// Most values of a facet.
const FACET_VALUES: usize = 100;

/// Which hosts, in which order and form.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Terms, separated by blanks, which must all hold; without: all hosts. See docs/search.md.
    #[param(example = "cpu:>32 -finding:* switch:sw1")]
    q: String,
    /// A key, such as `cpu`, or `-cpu` for the largest first; usually by name.
    sort: Option<String>,
    /// The place after which to continue: `next` of the part before.
    after: Option<String>,
    /// At most so many hosts: 100 unless given, at most 1,000; as CSV all.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// Keys, separated by commas, of which the values are counted: state, pool, cluster, role, model, vendor, finding, check, approved, switch.
    facets: Option<String>,
    /// `json`, or `csv` for a table of all hosts.
    #[param(inline)]
    format: ListFormat,
    /// The columns of the table, separated by commas.
    columns: Option<String>,
}

/// Search hosts
///
/// Over all InfraEnvs that the caller may see. Inventories are not searched beyond what the answer shows of them.
#[utoipa::path(
    get, path = "/hosts", operation_id = "MusterSearchHosts", tag = "hosts",
    params(SearchQuery),
    responses(
        (status = 200, content((FoundHosts = "application/json"), (String = "text/csv"))),
        (status = 400, body = InfraError),
    )
)]
pub async fn search_hosts(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<SearchQuery>,
) -> Result<Response, Problem> {
    let is_table = wanted.format == ListFormat::Csv;
    let columns = match &wanted.columns {
        Some(_) if !is_table => return Err(Problem::bad_request("columns: only with format=csv")),
        Some(names) => each("columns", names, Column::VARIANTS)?,
        None => Column::USUAL.to_vec(),
    };
    let found = operations.host_index.search(search(&wanted, caller)?).await?;
    Ok(match is_table {
        true => table::csv(&found.hosts, &columns)?,
        false => Json(view::found(found)).into_response(),
    })
}

fn search(wanted: &SearchQuery, caller: Caller) -> Result<HostSearch, Problem> {
    let bad = |name: &str, why: &dyn std::fmt::Display| Problem::bad_request(format!("{name}: {why}"));
    let query = HostQuery::parse(&wanted.q).map_err(|errors| bad("q", &errors))?;
    let sort = wanted.sort.as_deref().unwrap_or_default();
    let sort = match sort {
        "" => Sort::default(),
        text => text.parse::<Sort>().map_err(|unknown| bad("sort", &unknown))?,
    };
    let after = wanted.after.as_deref().filter(|after| !after.is_empty());
    let after = after.map(|text| Cursor::read(text, sort)).transpose();
    let limit = match wanted.limit {
        Some(limit) if !(1..=MOST).contains(&limit) => {
            return Err(bad("limit", &format!("1 to {MOST} hosts")));
        }
        Some(limit) => usize::try_from(limit).unwrap_or(USUAL),
        None if wanted.format == ListFormat::Csv => usize::MAX,
        None => USUAL,
    };
    let facets = match wanted.facets.as_deref() {
        None | Some("") => Vec::new(),
        Some(names) => each("facets", names, &FACETS)?,
    };
    Ok(HostSearch {
        scope: scope_of(caller),
        query,
        sort,
        after: after.map_err(|error| bad("after", &error))?,
        limit,
        facets,
        facet_values: FACET_VALUES,
    })
}

/// The values of a list, each once.
fn each<T: Copy + PartialEq + Into<&'static str>>(
    parameter: &str,
    names: &str,
    known: &[T],
) -> Result<Vec<T>, Problem> {
    let mut found = Vec::new();
    for name in names.split(',').map(str::trim) {
        let Some(one) = known.iter().find(|one| (**one).into() == name) else {
            let known: Vec<&str> = known.iter().map(|one| (*one).into()).collect();
            let known = known.join(", ");
            return Err(Problem::bad_request(format!(
                "{parameter}: {name:?} is none of {known}"
            )));
        };
        if !found.contains(one) {
            found.push(*one);
        }
    }
    Ok(found)
}
