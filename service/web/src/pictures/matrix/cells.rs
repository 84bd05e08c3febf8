//! Cells of the matrix, and its overview as squares: pure layout.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use muster_api::connectivity::{
    CHECKED, ConnectivityOverview, ConnectivityTile, ONE_WAY, TILE, is_reached, unpacked,
};

/// Side of the overview, in the units of its picture.
pub const SIDE: u32 = 512;

/// Parts with broken pairs that are listed.
const PARTS: usize = 50;

/// What is known about one direction between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellState {
    Itself,
    Unchecked,
    Reached,
    /// It reaches the other one, which does not reach it.
    Outwards,
    /// It does not reach the other one, which reaches it.
    Inwards,
    Broken,
}

impl CellState {
    fn of(reach: u8) -> Self {
        let is_one_way = reach & ONE_WAY != 0;
        match (reach & CHECKED != 0, is_reached(reach)) {
            (false, _) => Self::Unchecked,
            (true, true) if is_one_way => Self::Outwards,
            (true, true) => Self::Reached,
            (true, false) if is_one_way => Self::Inwards,
            (true, false) => Self::Broken,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Itself => "–",
            Self::Unchecked => "·",
            Self::Reached => "✓",
            Self::Outwards => "→",
            Self::Inwards => "←",
            Self::Broken => "✗",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::Unchecked => "never checked",
            Self::Reached => "reached",
            Self::Outwards => "one way: the other host does not reach this one",
            Self::Inwards => "one way: not reached, though the other host reaches this one",
            Self::Broken => "not reached",
        }
    }

    pub fn mood(self) -> &'static str {
        match self {
            Self::Itself | Self::Unchecked => "quiet",
            Self::Reached => "good",
            Self::Outwards => "busy",
            Self::Inwards | Self::Broken => "bad",
        }
    }
}

/// The states of a tile, row by row.
pub fn states(tile: &ConnectivityTile) -> Vec<Vec<CellState>> {
    let mut reach = unpacked(&tile.reach);
    let rows = tile.rows.iter().map(|row| {
        let cells = tile.columns.iter().map(|column| {
            let value = reach.next().unwrap_or_default();
            match row.id == column.id {
                true => CellState::Itself,
                false => CellState::of(value),
            }
        });
        cells.collect::<Vec<CellState>>()
    });
    rows.collect()
}

/// A square of the overview with broken pairs.
#[derive(Debug, PartialEq, Eq)]
pub struct Square {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

/// The squares that have broken pairs. Squares side by side have no gap.
pub fn squares(overview: &ConnectivityOverview) -> Vec<Square> {
    let side = u32::try_from(overview.broken.len()).unwrap_or(u32::MAX).max(1);
    let edge = |place: usize| u32::try_from(place).unwrap_or(u32::MAX).saturating_mul(SIDE) / side;
    let mut found = Vec::new();
    for (row, squares) in overview.broken.iter().enumerate() {
        for (column, broken) in squares.iter().enumerate() {
            if *broken > 0 {
                let (x, y) = (edge(column), edge(row));
                found.push(Square {
                    x,
                    y,
                    width: edge(column + 1) - x,
                    height: edge(row + 1) - y,
                });
            }
        }
    }
    found
}

/// A tile with broken pairs.
pub struct Part {
    /// Rows and columns, counted from 1.
    pub rows: String,
    pub columns: String,
    pub broken: u64,
    pub address: String,
}

/// The tiles with most broken pairs.
pub struct Parts {
    pub rows: Vec<Part>,
    /// Number of further ones.
    pub left_out: usize,
}

/// The tiles with broken pairs, those with most first. A square that lies in two tiles counts in the first one.
pub fn parts(overview: &ConnectivityOverview, address: impl Fn(usize, usize) -> String) -> Parts {
    let tile_of = |square: usize| square * overview.hosts_per_square / TILE * TILE;
    let mut tiles: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (row, squares) in overview.broken.iter().enumerate() {
        for (column, broken) in squares.iter().enumerate().filter(|(_, broken)| **broken > 0) {
            *tiles.entry((tile_of(row), tile_of(column))).or_default() += u64::from(*broken);
        }
    }
    let mut tiles: Vec<((usize, usize), u64)> = tiles.into_iter().collect();
    tiles.sort_by_key(|(_, broken)| Reverse(*broken));
    let left_out = tiles.len().saturating_sub(PARTS);
    let places = |first: usize| format!("{} to {}", first + 1, first + TILE);
    let rows = tiles.into_iter().take(PARTS).map(|((row, column), broken)| Part {
        rows: places(row),
        columns: places(column),
        broken,
        address: address(row, column),
    });
    Parts {
        rows: rows.collect(),
        left_out,
    }
}

#[cfg(test)]
mod tests {
    use muster_api::connectivity::{MatrixHost, PINGED};
    use muster_api::ids::HostId;

    use super::*;

    fn host() -> MatrixHost {
        MatrixHost {
            id: HostId::random(),
            name: "host".into(),
            switch: String::new(),
            seen_at: String::new(),
            has_report: true,
        }
    }

    #[test]
    fn each_value_is_a_state() {
        let (a, b) = (host(), host());
        let value = |value: u8| char::from(b'0' + value);
        let tile = ConnectivityTile {
            rows: vec![a.clone(), b.clone()],
            columns: vec![a.clone(), b.clone(), host(), host(), host()],
            reach: [
                0,
                CHECKED | PINGED,
                CHECKED,
                CHECKED | PINGED | ONE_WAY,
                CHECKED | ONE_WAY,
                0,
                CHECKED,
            ]
            .map(value)
            .iter()
            .collect(),
            ..ConnectivityTile::default()
        };
        let states = states(&tile);
        assert_eq!(
            states[0],
            [
                CellState::Itself,
                CellState::Reached,
                CellState::Broken,
                CellState::Outwards,
                CellState::Inwards,
            ]
        );
        // A text that is too short is one of pairs that were never checked.
        assert_eq!(
            states[1],
            [
                CellState::Unchecked,
                CellState::Itself,
                CellState::Unchecked,
                CellState::Unchecked,
                CellState::Unchecked,
            ]
        );
    }

    #[test]
    fn squares_lie_side_by_side_and_parts_begin_with_the_worst() {
        let overview = ConnectivityOverview {
            hosts_per_square: 200,
            broken: vec![vec![1, 2, 0], vec![0, 0, 9], vec![0, 0, 0]],
            ..ConnectivityOverview::default()
        };
        let found = squares(&overview);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].x + found[0].width, found[1].x);
        assert_eq!(found[2].y, found[0].y + found[0].height);
        assert_eq!(found[2].x + found[2].width, SIDE);
        let parts = parts(&overview, |row, column| format!("{row}/{column}"));
        let listed: Vec<(&str, u64)> = parts
            .rows
            .iter()
            .map(|part| (part.address.as_str(), part.broken))
            .collect();
        assert_eq!(listed, [("0/256", 9), ("0/0", 3)]);
        assert_eq!(
            (parts.rows[0].columns.as_str(), parts.left_out),
            ("257 to 512", 0)
        );
    }
}
