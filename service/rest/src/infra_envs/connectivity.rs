use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use muster_api::connectivity::{
    BrokenPair, Connectivity, ConnectivityOverview, ConnectivityTile, MatrixHost, TILE,
};
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::millis;
use muster_connections::KeyedLimiter;
use muster_core::rules::reachability::Overview;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::Operations;
use muster_operations::hosts::{HostPlace, MatrixTile};
use serde::Deserialize;
use utoipa::IntoParams;

/// Broken pairs in one answer.
const PAIRS: usize = 100;

/// One at once in this service: each reads hundreds of reports.
static TURNS: KeyedLimiter<()> = KeyedLimiter::new(1);

/// Longest time that a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which part of the matrix.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ConnectivityQuery {
    /// Only hosts of this cluster.
    cluster: Option<ClusterId>,
    /// Place of the first row of a tile; without it the answer is the whole matrix in short.
    #[param(minimum = 0)]
    rows: Option<i64>,
    /// Place of the first column of the tile; the same as `rows` unless given.
    #[param(minimum = 0)]
    columns: Option<i64>,
    /// Rows, and columns, of the tile: 256 unless given, the most.
    #[param(minimum = 1, maximum = 256)]
    size: Option<i64>,
    /// Broken pairs to leave out before the first that is listed.
    #[param(minimum = 0)]
    after: Option<i64>,
}

/// Get which hosts of an InfraEnv reach each other
///
/// As hosts of a cluster report it: a tile of the matrix of all ordered pairs, or the whole in short.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/connectivity", operation_id = "MusterGetConnectivity", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ConnectivityQuery),
    responses(
        (status = 200, body = Connectivity),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_connectivity(
    State(operations): State<Arc<Operations>>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ConnectivityQuery>,
) -> Result<Json<Connectivity>, Problem> {
    let size = match query.size {
        None => TILE,
        size => place("size", size)?,
    };
    if !(1..=TILE).contains(&size) {
        return Err(Problem::bad_request(format!("size: 1 to {TILE} hosts")));
    }
    let (row, after) = (place("rows", query.rows)?, place("after", query.after)?);
    let column = match query.columns {
        None => row,
        column => place("columns", column)?,
    };
    operations.infra_envs.get(infra_env_id).await?;
    let turn = TURNS.acquire_within(PATIENCE, &()).await;
    let Some(_turn) = turn else {
        return Err(Problem::unavailable(
            "other parts of a matrix are being read; try again in some seconds",
        ));
    };
    let order = operations.host_index.places(infra_env_id, query.cluster).await?;
    let matrix = &operations.connectivity;
    let mut answer = Connectivity {
        total: order.len(),
        at: millis(Some(operations.now())),
        ..Connectivity::default()
    };
    if query.rows.is_some() {
        let (rows, columns) = (part(row, size, order.len()), part(column, size, order.len()));
        let read = matrix
            .tile(infra_env_id, &order, rows.clone(), columns.clone())
            .await?;
        answer.tile = Some(tile(&order, (rows, columns), read));
    } else {
        let found = matrix.overview(infra_env_id, &order, after, PAIRS).await?;
        answer.overview = Some(overview(&order, found));
    }
    Ok(Json(answer))
}

/// A number of hosts or pairs; 0 unless given.
fn place(name: &str, given: Option<i64>) -> Result<usize, Problem> {
    usize::try_from(given.unwrap_or_default())
        .map_err(|_| Problem::bad_request(format!("{name}: a number from 0 on")))
}

/// The places of a window, as far as there are hosts.
fn part(first: usize, size: usize, total: usize) -> Range<usize> {
    let first = first.min(total);
    first..first.saturating_add(size).min(total)
}

fn tile(
    order: &[HostPlace],
    (rows, columns): (Range<usize>, Range<usize>),
    read: MatrixTile,
) -> ConnectivityTile {
    let hosts = |range: &Range<usize>| {
        let places = order.get(range.clone()).unwrap_or_default();
        let hosts = places.iter().map(|place| MatrixHost {
            has_report: read.reporting.contains(&place.id),
            ..host(place)
        });
        hosts.collect::<Vec<MatrixHost>>()
    };
    ConnectivityTile {
        first_row: rows.start,
        first_column: columns.start,
        rows: hosts(&rows),
        columns: hosts(&columns),
        reach: read.packed.reach,
        latency: read.packed.latency,
        loss: read.packed.loss,
    }
}

fn overview(order: &[HostPlace], found: Overview) -> ConnectivityOverview {
    let pairs = found.pairs.iter().filter_map(|pair| {
        // A host without a report has found nothing broken.
        let reporting = |place| MatrixHost {
            has_report: true,
            ..host(place)
        };
        Some(BrokenPair {
            row: pair.row,
            column: pair.column,
            from: reporting(order.get(pair.row)?),
            to: host(order.get(pair.column)?),
            is_mutual: pair.is_mutual,
        })
    });
    ConnectivityOverview {
        pairs: pairs.collect(),
        hosts_per_square: found.hosts_per_square,
        broken: found.broken,
        broken_total: found.total,
    }
}

fn host(place: &HostPlace) -> MatrixHost {
    MatrixHost {
        id: place.id,
        name: place.name.clone(),
        switch: place.switch.clone(),
        seen_at: millis(Some(place.seen_at)),
        has_report: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_with_the_last_host() {
        assert_eq!(part(0, 256, 300), 0..256);
        assert_eq!(part(256, 256, 300), 256..300);
        assert_eq!(part(900, 256, 300), 300..300);
        assert_eq!(part(usize::MAX, 256, 0), 0..0);
    }
}
