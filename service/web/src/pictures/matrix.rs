//! Which hosts of an InfraEnv reach each other: the matrix, what is broken, and one pair in words. A script draws the matrix; without it the
//! page has the broken pairs and one window after the other as tables.

mod cells;

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::cluster::Cluster;
use muster_api::connectivity::{
    BrokenPair, Connectivity, ConnectivityOverview, ConnectivityTile, MatrixHost, TILE,
};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::infra_env::InfraEnv;

use self::cells::{CellState, Parts, Square, parts, squares};
use super::matrix_of;
use super::pair::{Direction, directions};
use crate::hosts;
use crate::html::{Frame, answer};
use crate::pools;
use crate::rest::{Path, Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// Rows, and columns, of a window of the table.
const WINDOW: usize = 12;

#[derive(Template)]
#[template(path = "pictures/matrix.html")]
struct MatrixPage {
    frame: Frame,
    name: String,
    pool_address: String,
    view: View,
    clusters: Vec<Choice>,
    total: usize,
    /// True if a host of the window has reported.
    has_reports: bool,
    /// The path of REST that returns tiles.
    source: String,
    /// True if the matrix has more than one tile.
    is_tiled: bool,
    squares: Vec<Square>,
    parts: Parts,
    broken_total: usize,
    pairs: Vec<PairRow>,
    /// The address of the next broken pairs.
    more_pairs: Option<String>,
    window: Window,
    /// Both directions of a pair.
    directions: Vec<Direction>,
    /// True if the address names a pair.
    has_pair: bool,
    at: String,
}

/// The address of the page.
struct View {
    id: InfraEnvId,
    cluster: Option<ClusterId>,
    /// The place of the first row and column.
    row: usize,
    column: usize,
    /// Broken pairs before the first one that is listed.
    after: usize,
    pair: Option<(HostId, HostId)>,
}

struct Choice {
    id: ClusterId,
    name: String,
    is_chosen: bool,
}

/// A broken pair as a row.
struct PairRow {
    from: Named,
    to: Named,
    other: &'static str,
    seen: String,
    seen_at: String,
    address: String,
}

/// A host in a table.
struct Named {
    name: String,
    address: String,
    switch: String,
}

/// A part of the matrix as a table.
struct Window {
    columns: Vec<Named>,
    rows: Vec<WindowRow>,
    /// The addresses of the neighbouring windows.
    beside: Vec<(&'static str, String)>,
}

struct WindowRow {
    host: Named,
    cells: Vec<WindowCell>,
}

struct WindowCell {
    state: CellState,
    /// The column, as narrow screens show it.
    column: String,
    /// The address of the pair; `None`: it is the host itself.
    address: Option<String>,
}

pub async fn show(visitor: Visitor, Path(id): Path<InfraEnvId>) -> Result<Response, Refusal> {
    let view = View::of(&visitor, id);
    let frame = frame(&visitor).await?;
    let pool: InfraEnv = visitor.get(&format!("/infra-envs/{id}")).await?;
    let unseen = [StatusCode::FORBIDDEN];
    // A token for one InfraEnv sees no clusters.
    let clusters: Option<Vec<Cluster>> = visitor.get_unless(&unseen, "/clusters").await?;
    let source = view.source();
    let whole: Connectivity = visitor.get(&format!("{source}after={}", view.after)).await?;
    let window = format!("{source}rows={}&columns={}&size={WINDOW}", view.row, view.column);
    let window: Connectivity = visitor.get(&window).await?;
    let tile = window.tile.unwrap_or_default();
    let directions = match view.pair {
        Some(pair) => directions(&visitor, id, pair, &whole.at).await?,
        None => Vec::new(),
    };
    let overview = whole.overview.unwrap_or_default();
    let page = MatrixPage {
        frame,
        name: pool.name,
        pool_address: pools::address(id),
        clusters: view.choices(clusters.unwrap_or_default()),
        total: whole.total,
        has_reports: tile.rows.iter().chain(&tile.columns).any(|host| host.has_report),
        source: view.source(),
        is_tiled: whole.total > TILE,
        squares: squares(&overview),
        parts: parts(&overview, |row, column| view.with(row, column).address()),
        broken_total: overview.broken_total,
        more_pairs: view.more_pairs(&overview),
        pairs: overview
            .pairs
            .iter()
            .map(|pair| PairRow::of(pair, &view, &whole.at))
            .collect(),
        window: Window::of(&tile, &view, whole.total),
        directions,
        has_pair: view.pair.is_some(),
        at: whole.at,
        view,
    };
    Ok(answer(&page))
}

impl View {
    /// What the address has in a wrong form is left out.
    fn of(visitor: &Visitor, id: InfraEnvId) -> Self {
        let names = ["cluster", "row", "column", "after", "from", "to"];
        let [cluster, row, column, after, from, to] = visitor.parameters(names);
        let number = |text: &str| text.parse::<u32>().map_or(0, |number| number as usize);
        Self {
            id,
            cluster: cluster.parse().ok(),
            row: number(&row),
            column: number(&column),
            after: number(&after),
            pair: from.parse().ok().zip(to.parse().ok()),
        }
    }

    /// The path of REST, to which parameters are appended.
    fn source(&self) -> String {
        let path = format!("{MUSTER_PATH}/infra-envs/{}/connectivity?", self.id);
        match self.cluster {
            Some(cluster) => format!("{path}cluster={cluster}&"),
            None => path,
        }
    }

    /// The view of another part.
    fn with(&self, row: usize, column: usize) -> Self {
        Self {
            row,
            column,
            after: 0,
            pair: None,
            ..*self
        }
    }

    fn address(&self) -> String {
        let mut address = format!("{}?row={}&column={}", matrix_of(self.id), self.row, self.column);
        if let Some(cluster) = self.cluster {
            address.push_str(&format!("&cluster={cluster}"));
        }
        if self.after > 0 {
            address.push_str(&format!("&after={}", self.after));
        }
        address
    }

    /// The address that opens a pair of hosts.
    fn pair_address(&self, from: HostId, to: HostId) -> String {
        format!("{}&from={from}&to={to}", self.address())
    }

    fn more_pairs(&self, overview: &ConnectivityOverview) -> Option<String> {
        let after = self.after.saturating_add(overview.pairs.len());
        let has_more = !overview.pairs.is_empty() && after < overview.broken_total;
        let next = Self {
            after,
            pair: None,
            ..*self
        };
        has_more.then(|| next.address())
    }

    fn choices(&self, clusters: Vec<Cluster>) -> Vec<Choice> {
        let choices = clusters.into_iter().map(|cluster| Choice {
            id: cluster.id,
            is_chosen: self.cluster == Some(cluster.id),
            name: cluster.name,
        });
        choices.collect()
    }
}

impl Named {
    fn of(host: &MatrixHost, pool: InfraEnvId) -> Self {
        Self {
            name: host.name.clone(),
            address: hosts::address(pool, host.id),
            switch: host.switch.clone(),
        }
    }
}

impl PairRow {
    fn of(pair: &BrokenPair, view: &View, now: &str) -> Self {
        Self {
            from: Named::of(&pair.from, view.id),
            to: Named::of(&pair.to, view.id),
            other: match pair.is_mutual {
                true => "broken, too",
                false => "not reported as broken",
            },
            seen: words::relative(&pair.from.seen_at, now),
            seen_at: pair.from.seen_at.clone(),
            address: view.pair_address(pair.from.id, pair.to.id),
        }
    }
}

impl Window {
    fn of(tile: &ConnectivityTile, view: &View, total: usize) -> Self {
        let states = cells::states(tile);
        let rows = tile.rows.iter().enumerate().map(|(row, host)| WindowRow {
            host: Named::of(host, view.id),
            cells: tile
                .columns
                .iter()
                .enumerate()
                .filter_map(|(column, other)| {
                    Some(WindowCell {
                        state: *states.get(row)?.get(column)?,
                        column: other.name.clone(),
                        address: (host.id != other.id).then(|| view.pair_address(host.id, other.id)),
                    })
                })
                .collect(),
        });
        let (row, column) = (view.row, view.column);
        let beside = [
            ("rows before", row > 0, row.saturating_sub(WINDOW), column),
            (
                "rows after",
                row.saturating_add(WINDOW) < total,
                row.saturating_add(WINDOW),
                column,
            ),
            ("columns before", column > 0, row, column.saturating_sub(WINDOW)),
            (
                "columns after",
                column.saturating_add(WINDOW) < total,
                row,
                column.saturating_add(WINDOW),
            ),
        ];
        let beside = beside.into_iter().filter(|(_, is_there, _, _)| *is_there);
        Self {
            columns: tile.columns.iter().map(|host| Named::of(host, view.id)).collect(),
            rows: rows.collect(),
            beside: beside
                .map(|(name, _, row, column)| (name, view.with(row, column).address()))
                .collect(),
        }
    }
}
