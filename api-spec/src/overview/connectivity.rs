//! Which hosts of an InfraEnv reach each other: parts of a matrix, packed, and all of it in short. An addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::ids::HostId;
use crate::serialize::is_default;

/// Most rows, and most columns, of a tile.
pub const TILE: usize = 256;

/// The smallest character of packed values: it stands for 0, the next one for 1 and so on.
pub const ZERO: u8 = b'0';

/// The host of the row has probed that of the column.
pub const CHECKED: u8 = 1;

/// An address answered ARP or NDP with a MAC address of that host.
pub const ON_SEGMENT: u8 = 2;

/// An address answered pings.
pub const PINGED: u8 = 4;

/// A packet of the card's full size did not arrive unfragmented.
pub const SMALL_MTU: u8 = 8;

/// Only one of the two reaches the other, and both have probed.
pub const ONE_WAY: u8 = 16;

/// Latency of class 1, the lowest one, at most, ms; each further class has [`LATENCY_STEP`] times the limit of the one before.
pub const LATENCY_LEAST: f64 = 0.1;

/// See [`LATENCY_LEAST`].
pub const LATENCY_STEP: f64 = 1.5;

/// The highest class of latency, which has no limit.
pub const LATENCY_CLASSES: u8 = 30;

/// True if a host reaches another one in any way, by the packed value of that direction.
pub fn is_reached(reach: u8) -> bool {
    reach & (ON_SEGMENT | PINGED) != 0
}

/// True if a host has probed another one without any answer, by the packed value of that direction.
pub fn is_broken(reach: u8) -> bool {
    reach & CHECKED != 0 && !is_reached(reach)
}

/// The numbers of a packed text.
pub fn unpacked(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().map(|byte| byte.saturating_sub(ZERO))
}

/// A tile of the matrix, or all of it in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Connectivity {
    /// Number of hosts: rows, and columns, of the whole matrix. They are in the order of their switches, then of their names; hosts
    /// without a switch are the last.
    pub total: usize,
    /// Time of the answer. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// Present if the request names its first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<ConnectivityTile>,
    /// Present otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<ConnectivityOverview>,
}

/// A part of the matrix. The packed texts have a character for each pair, row after row: `0` is the value 0, the characters after it in
/// ASCII are 1, 2 and so on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConnectivityTile {
    /// Place of the first row in the whole matrix.
    pub first_row: usize,
    /// Place of the first column in the whole matrix.
    pub first_column: usize,
    /// The hosts that probe; at most 256.
    pub rows: Vec<MatrixHost>,
    /// The hosts that are probed; at most 256.
    pub columns: Vec<MatrixHost>,
    /// A sum of: 1 probed, 2 answers ARP or NDP, 4 answers pings, 8 a packet of full size does not arrive, 16 only one of the two reaches
    /// the other. 0: never probed.
    pub reach: String,
    /// Class of the worst latency over the addresses that answer pings: class n is at most 0.1 · 1.5^(n-1) ms, class 30 has no limit. 0:
    /// not known.
    pub latency: String,
    /// 1 and the tens of percents of lost pings, rounded up, over the addresses that answer some: 1 none, 11 all. 0: not known.
    pub loss: String,
}

/// A host as a row or a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatrixHost {
    pub id: HostId,
    pub name: String,
    /// Of its first port by LLDP; absent: not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub switch: String,
    /// Last poll. A report that is the same is not sent again, so the host's last one holds until then. RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub seen_at: String,
    /// True if it has reported about others. Only hosts of a cluster do, about hosts of that cluster.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_report: bool,
}

/// The whole matrix in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConnectivityOverview {
    /// Rows, and columns, that a square of the overview stands for.
    pub hosts_per_square: usize,
    /// Broken pairs in each square, row after row.
    pub broken: Vec<Vec<u32>>,
    /// Number of all broken pairs, each direction counted.
    pub broken_total: usize,
    /// Broken pairs in the order of the rows, then of the columns; at most 100, those from `after` on.
    pub pairs: Vec<BrokenPair>,
}

/// A host that was probed by another one without any answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BrokenPair {
    /// The place of the host that probed.
    pub row: usize,
    /// The place of the other one.
    pub column: usize,
    pub from: MatrixHost,
    pub to: MatrixHost,
    /// True if the other direction is broken, too.
    pub is_mutual: bool,
}
