//! Packs what hosts report about others: a report as links, links of many hosts as a part of their matrix, and the matrix in short.

use std::collections::HashMap;

use muster_api::connectivity::{
    CHECKED, LATENCY_CLASSES, LATENCY_LEAST, LATENCY_STEP, ON_SEGMENT, ONE_WAY, PINGED, SMALL_MTU, ZERO,
    is_reached,
};
use muster_api::ids::HostId;
use muster_api::steps::{ConnectivityRemoteHost, ConnectivityReport};

/// Most other hosts of a report that are kept.
const MOST_LINKS: usize = 4096;

/// Squares of a side of the overview, at most.
const SQUARES: usize = 64;

/// Class of a loss of all pings.
const ALL_LOST: u8 = 11;

/// One direction between two hosts, as the first one reports it. The values are those of
/// [`ConnectivityTile`](muster_api::connectivity::ConnectivityTile).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub to: HostId,
    /// Without [`ONE_WAY`], which needs the other direction.
    pub reach: u8,
    pub latency: u8,
    pub loss: u8,
}

/// The links of a report, sorted by the other host.
pub fn links(report: &ConnectivityReport) -> Vec<Link> {
    let remotes = report.remote_hosts.iter();
    let mut links: Vec<Link> = remotes.filter_map(link).take(MOST_LINKS).collect();
    links.sort_by_key(|link| link.to);
    links.dedup_by_key(|link| link.to);
    links
}

/// `None`: the report does not name the host by an id.
fn link(remote: &ConnectivityRemoteHost) -> Option<Link> {
    let is_probed = !remote.l2_connectivity.is_empty() || !remote.l3_connectivity.is_empty();
    let has_neighbour = remote.l2_connectivity.iter().any(|one| one.successful);
    let answers = || remote.l3_connectivity.iter().filter(|one| one.successful);
    let is_small = remote.mtu_report.iter().any(|one| !one.mtu_successful);
    let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
    Some(Link {
        to: remote.host_id.parse().ok()?,
        reach: flag(CHECKED, is_probed)
            | flag(ON_SEGMENT, has_neighbour)
            | flag(PINGED, answers().next().is_some())
            | flag(SMALL_MTU, is_small),
        latency: answers()
            .map(|one| latency_class(one.average_rtt_ms))
            .max()
            .unwrap_or_default(),
        loss: answers()
            .map(|one| loss_class(one.packet_loss_percentage))
            .max()
            .unwrap_or_default(),
    })
}

fn latency_class(ms: f64) -> u8 {
    let (mut class, mut limit) = (1, LATENCY_LEAST);
    while class < LATENCY_CLASSES && ms > limit {
        class += 1;
        limit *= LATENCY_STEP;
    }
    class
}

fn loss_class(percent: f64) -> u8 {
    let mut class = 1;
    while class < ALL_LOST && percent > f64::from(class - 1) * 10.0 {
        class += 1;
    }
    class
}

/// The packed texts of a part of the matrix: a character for each pair, row after row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackedTile {
    pub reach: String,
    pub latency: String,
    pub loss: String,
}

/// The tile of these rows and columns. `links_of`: the links of a host, sorted; `None`: it has reported nothing.
pub fn tile<'a>(
    rows: &[HostId],
    columns: &[HostId],
    links_of: impl Fn(HostId) -> Option<&'a [Link]>,
) -> PackedTile {
    let pairs = rows.len() * columns.len();
    let mut tile = PackedTile {
        reach: String::with_capacity(pairs),
        latency: String::with_capacity(pairs),
        loss: String::with_capacity(pairs),
    };
    let back: Vec<&[Link]> = columns
        .iter()
        .map(|column| links_of(*column).unwrap_or_default())
        .collect();
    for row in rows {
        let forth = links_of(*row).unwrap_or_default();
        for (column, back) in columns.iter().zip(&back) {
            let link = find(forth, *column);
            let other = find(back, *row);
            let reach = link.map_or(0, |link| link.reach) | one_way(link, other);
            tile.reach.push(packed(reach));
            tile.latency.push(packed(link.map_or(0, |link| link.latency)));
            tile.loss.push(packed(link.map_or(0, |link| link.loss)));
        }
    }
    tile
}

fn find(links: &[Link], to: HostId) -> Option<&Link> {
    let place = links.binary_search_by_key(&to, |link| link.to).ok()?;
    links.get(place)
}

fn one_way(link: Option<&Link>, other: Option<&Link>) -> u8 {
    let probed = |link: &Link| (link.reach & CHECKED != 0).then(|| is_reached(link.reach));
    match (link.and_then(probed), other.and_then(probed)) {
        (Some(forth), Some(back)) if forth != back => ONE_WAY,
        _ => 0,
    }
}

fn packed(value: u8) -> char {
    char::from(ZERO + value)
}

/// The matrix in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Rows, and columns, of a square; 1 at least.
    pub hosts_per_square: usize,
    /// Broken pairs of each square, row after row.
    pub broken: Vec<Vec<u32>>,
    /// Number of all broken pairs.
    pub total: usize,
    /// A part of them.
    pub pairs: Vec<Broken>,
}

/// A pair of which the first host does not reach the second one. Both are places in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    pub row: usize,
    pub column: usize,
    /// True if the other direction is broken, too.
    pub is_mutual: bool,
}

/// The overview of the hosts in this order. `unreached`: the hosts that each one does not reach, sorted; `skip` broken pairs are left out,
/// and at most `limit` listed.
pub fn overview(
    order: &[HostId],
    unreached: &HashMap<HostId, Vec<HostId>>,
    skip: usize,
    limit: usize,
) -> Overview {
    let hosts_per_square = order.len().div_ceil(SQUARES).max(1);
    let side = order.len().div_ceil(hosts_per_square);
    let places: HashMap<HostId, usize> = order.iter().copied().zip(0..).collect();
    let mut found = Overview {
        hosts_per_square,
        broken: vec![vec![0; side]; side],
        ..Overview::default()
    };
    for (row, host) in order.iter().enumerate() {
        let others = unreached.get(host).into_iter().flatten();
        let mut columns: Vec<(usize, HostId)> = others
            .filter_map(|other| Some((*places.get(other)?, *other)))
            .collect();
        columns.sort_unstable();
        for (column, other) in columns {
            if let Some(square) = found
                .broken
                .get_mut(row / hosts_per_square)
                .and_then(|squares| squares.get_mut(column / hosts_per_square))
            {
                *square += 1;
            }
            if found.total >= skip && found.pairs.len() < limit {
                let back = unreached.get(&other);
                found.pairs.push(Broken {
                    row,
                    column,
                    is_mutual: back.is_some_and(|back| back.binary_search(host).is_ok()),
                });
            }
            found.total += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use muster_api::connectivity::{is_broken, unpacked};
    use muster_api::steps::{L2Connectivity, L3Connectivity, MtuReport};

    use super::*;

    fn id(number: u128) -> HostId {
        HostId(uuid::Uuid::from_u128(number))
    }

    fn ping(successful: bool, ms: f64, lost: f64) -> L3Connectivity {
        L3Connectivity {
            successful,
            average_rtt_ms: ms,
            packet_loss_percentage: lost,
            ..L3Connectivity::default()
        }
    }

    fn remote(to: u128, pings: Vec<L3Connectivity>) -> ConnectivityRemoteHost {
        ConnectivityRemoteHost {
            host_id: id(to).to_string(),
            l3_connectivity: pings,
            ..ConnectivityRemoteHost::default()
        }
    }

    fn report(remote_hosts: Vec<ConnectivityRemoteHost>) -> ConnectivityReport {
        ConnectivityReport {
            remote_hosts,
            ..ConnectivityReport::default()
        }
    }

    #[test]
    fn a_report_is_packed_by_its_worst_address_that_answers() {
        let neighbour = L2Connectivity {
            successful: true,
            ..L2Connectivity::default()
        };
        let both = ConnectivityRemoteHost {
            l2_connectivity: vec![neighbour],
            mtu_report: vec![MtuReport::default()],
            ..remote(
                2,
                vec![
                    ping(true, 0.1, 0.0),
                    ping(true, 0.16, 15.0),
                    ping(false, 9.0, 100.0),
                ],
            )
        };
        let nameless = ConnectivityRemoteHost {
            host_id: "no id".into(),
            ..remote(9, Vec::new())
        };
        let found = links(&report(vec![
            remote(3, vec![ping(false, 0.0, 100.0)]),
            nameless,
            both,
            remote(1, Vec::new()),
        ]));
        let values: Vec<_> = found
            .iter()
            .map(|link| (link.to, link.reach, link.latency, link.loss))
            .collect();
        assert_eq!(
            values,
            [
                (id(1), 0, 0, 0),
                (id(2), CHECKED | ON_SEGMENT | PINGED | SMALL_MTU, 3, 3),
                (id(3), CHECKED, 0, 0),
            ]
        );
    }

    #[test]
    fn classes_are_bounded() {
        assert_eq!(
            [0.0, 0.1, 0.11, 0.15, 1e9].map(latency_class),
            [1, 1, 2, 2, LATENCY_CLASSES]
        );
        assert_eq!(
            [0.0, 0.5, 10.0, 11.0, 100.0, 900.0].map(loss_class),
            [1, 2, 2, 3, 11, 11]
        );
        assert!(packed(CHECKED | ON_SEGMENT | PINGED | SMALL_MTU | ONE_WAY) < '\\');
        assert!(packed(LATENCY_CLASSES) < '\\');
    }

    #[test]
    fn a_tile_has_each_direction_and_marks_pairs_of_one_way() {
        let of = HashMap::from([
            (id(1), links(&report(vec![remote(2, vec![ping(true, 0.1, 0.0)])]))),
            (
                id(2),
                links(&report(vec![remote(1, vec![ping(false, 0.0, 100.0)])])),
            ),
        ]);
        let order = [id(1), id(2), id(3)];
        let packed = tile(&order, &order, |id| of.get(&id).map(Vec::as_slice));
        let reach: Vec<u8> = unpacked(&packed.reach).collect();
        assert_eq!(
            reach,
            [0, CHECKED | PINGED | ONE_WAY, 0, CHECKED | ONE_WAY, 0, 0, 0, 0, 0]
        );
        assert_eq!(
            (packed.latency.as_str(), packed.loss.as_str()),
            ("010000000", "010000000")
        );
        assert!(is_broken(reach[3]) && !is_broken(reach[1]) && !is_broken(reach[0]));
        let part = tile(&order[1..], &order[..1], |id| of.get(&id).map(Vec::as_slice));
        assert_eq!(unpacked(&part.reach).collect::<Vec<_>>(), [CHECKED | ONE_WAY, 0]);
    }

    #[test]
    fn the_overview_counts_all_and_lists_a_window() {
        let order: Vec<HostId> = (0..130).map(id).collect();
        // A bad uplink of the host 5; the host 0 is not reached by 5 either.
        let mut unreached: HashMap<HostId, Vec<HostId>> = HashMap::new();
        unreached.insert(id(5), vec![id(0), id(129), id(999)]);
        unreached.insert(id(0), vec![id(5)]);
        let found = overview(&order, &unreached, 1, 1);
        assert_eq!(
            (found.hosts_per_square, found.broken.len(), found.total),
            (3, 44, 3)
        );
        assert_eq!(
            (found.broken[0][1], found.broken[1][0], found.broken[1][43]),
            (1, 1, 1)
        );
        assert_eq!(
            found.pairs,
            [Broken {
                row: 5,
                column: 0,
                is_mutual: true
            }]
        );
        assert_eq!(overview(&[], &unreached, 0, 9).broken.len(), 0);
    }
}
