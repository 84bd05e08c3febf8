//! Orders hosts, and cuts windows out of the order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};
use thiserror::Error;

use super::facts::{Facts, Field};
use super::natural::natural_order;
use super::nearest::nearest;
use crate::json::to_json;
use crate::text::one_line;

/// Keys by which hosts are ordered; on the wire in kebab-case.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", ascii_case_insensitive)]
pub enum SortKey {
    #[default]
    Name,
    State,
    Pool,
    Cluster,
    Cpu,
    Memory,
    /// Sum of its disks.
    Disk,
    /// Last poll: ascending, the host that is silent for longest is first.
    Seen,
    /// Last change of its state.
    Since,
    Serial,
    Model,
    /// Switch and port of its first cable.
    Switch,
    Agent,
}

/// An order of hosts: by a key, then by name and ids, so that it is total. Hosts without the value are last in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    pub key: SortKey,
    pub is_descending: bool,
}

/// A text that names no order.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name:?} is no order of hosts{}; write a key such as cpu, or -cpu for the largest first", hint(.nearest))]
pub struct UnknownSort {
    pub name: String,
    pub nearest: Option<SortKey>,
}

impl UnknownSort {
    fn of(name: &str) -> Self {
        let name = one_line(name, MAX_QUOTED);
        let keys = SortKey::VARIANTS.iter().map(|key| -> &'static str { key.into() });
        let nearest = nearest(&name, keys).and_then(|key| key.parse().ok());
        Self { name, nearest }
    }
}

fn hint(nearest: &Option<SortKey>) -> String {
    nearest.map(|key| format!("; is it {key}?")).unwrap_or_default()
}

/// Longest name that an error repeats, bytes.
const MAX_QUOTED: usize = 64;

impl FromStr for Sort {
    type Err = UnknownSort;

    /// Reads `cpu`, or `-cpu` for the largest first.
    fn from_str(text: &str) -> Result<Self, UnknownSort> {
        let name = text.strip_prefix('-').unwrap_or(text);
        Ok(Self {
            key: name.parse::<SortKey>().map_err(|_| UnknownSort::of(name))?,
            is_descending: name.len() < text.len(),
        })
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_descending { "-" } else { "" };
        write!(f, "{sign}{}", self.key)
    }
}

/// The place of a host in an order. It stays the same when other hosts come and go, and when the host itself is gone.
///
/// Its text is opaque, of letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    sort: Sort,
    place: Place<'static>,
}

/// A text that is no cursor for a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CursorError {
    #[error("it is no place in a list: begin again without it")]
    Unreadable,
    #[error(
        "it is a place in the order {found}, and the list is in the order {wanted}: begin again without it"
    )]
    OtherSort { found: Sort, wanted: Sort },
}

/// Longest text of a cursor, bytes.
const MAX_CURSOR: usize = 4096;

impl Cursor {
    /// The place of `host` in the order `sort`.
    pub fn of<'a>(host: impl Facts<'a>, sort: Sort) -> Self {
        let place = Place::of(host, sort.key).into_owned();
        Self { sort, place }
    }

    /// Reads a place in the order `sort`.
    ///
    /// # Errors
    /// For other texts, and for places in other orders.
    pub fn read(text: &str, sort: Sort) -> Result<Self, CursorError> {
        let is_short = text.len() <= MAX_CURSOR;
        let json = is_short.then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten();
        let cursor: Option<Self> = json.and_then(|json| serde_json::from_slice(&json).ok());
        match cursor {
            Some(cursor) if cursor.sort == sort => Ok(cursor),
            Some(cursor) => Err(CursorError::OtherSort {
                found: cursor.sort,
                wanted: sort,
            }),
            None => Err(CursorError::Unreadable),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(to_json(self)))
    }
}

/// A part of an ordered list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window<H> {
    /// In order.
    pub hosts: Vec<H>,
    /// Place of the last of them, after which the next window begins; `None`: there are none.
    pub last: Option<Cursor>,
    /// True if further hosts follow.
    pub has_more: bool,
}

/// The first `limit` of `hosts` in the order `sort`, after the place `after` (of the same order) if one is given.
pub fn window<'a, H: Facts<'a>>(
    hosts: impl IntoIterator<Item = H>,
    sort: Sort,
    after: Option<&Cursor>,
    limit: usize,
) -> Window<H> {
    let compare = |a: &Place<'_>, b: &Place<'_>| a.compare(b, sort.is_descending);
    let is_after = |place: &Place<'_>| after.is_none_or(|after| compare(place, &after.place).is_gt());
    let mut rows: Vec<(Place<'a>, H)> = Vec::new();
    // A place behind the window: most hosts are compared with it alone.
    let mut behind: Option<Place<'a>> = None;
    let mut has_more = false;
    for host in hosts {
        let place = Place::of(host, sort.key);
        if !is_after(&place) {
            continue;
        }
        if behind
            .as_ref()
            .is_some_and(|behind| compare(&place, behind).is_ge())
        {
            continue;
        }
        rows.push((place, host));
        if rows.len() > limit.saturating_mul(2) {
            has_more = true;
            behind = cut(&mut rows, limit, sort).or(behind);
        }
    }
    if rows.len() > limit {
        has_more = true;
        cut(&mut rows, limit, sort);
    }
    rows.sort_unstable_by(|a, b| compare(&a.0, &b.0));
    Window {
        last: rows.last().map(|(_, host)| Cursor::of(*host, sort)),
        hosts: rows.into_iter().map(|(_, host)| host).collect(),
        has_more,
    }
}

/// Leaves the first `limit` of more rows, in no order, and returns the place of the next one.
fn cut<'a, H>(rows: &mut Vec<(Place<'a>, H)>, limit: usize, sort: Sort) -> Option<Place<'a>> {
    rows.select_nth_unstable_by(limit, |a, b| a.0.compare(&b.0, sort.is_descending));
    rows.truncate(limit + 1);
    rows.pop().map(|(place, _)| place)
}

/// The values that decide the order of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place<'a> {
    rank: Rank<'a>,
    name: Cow<'a, str>,
    infra_env_id: InfraEnvId,
    id: HostId,
}

/// The value by which is ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Rank<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    Unknown,
}

impl<'a> Place<'a> {
    fn of(host: impl Facts<'a>, key: SortKey) -> Self {
        Self {
            rank: Rank::of(host, key),
            name: Cow::Borrowed(host.name()),
            infra_env_id: host.infra_env_id(),
            id: host.id(),
        }
    }

    fn into_owned(self) -> Place<'static> {
        Place {
            rank: match self.rank {
                Rank::Number(number) => Rank::Number(number),
                Rank::Text(text) => Rank::Text(Cow::Owned(text.into_owned())),
                Rank::Unknown => Rank::Unknown,
            },
            name: Cow::Owned(self.name.into_owned()),
            infra_env_id: self.infra_env_id,
            id: self.id,
        }
    }

    fn compare(&self, other: &Place<'_>, is_descending: bool) -> Ordering {
        let by_key = self.rank.compare(&other.rank, is_descending);
        let by_name = by_key.then_with(|| natural_order(&self.name, &other.name));
        by_name.then_with(|| (self.infra_env_id, self.id).cmp(&(other.infra_env_id, other.id)))
    }
}

impl<'a> Rank<'a> {
    fn of(host: impl Facts<'a>, key: SortKey) -> Self {
        let first = |field| Self::text(host.first_text(field).unwrap_or_default());
        let Some(sizes) = host.hardware() else {
            return Self::without_hardware(host, key);
        };
        match key {
            SortKey::Cpu => Self::known(u64::from(sizes.cpu_threads)),
            SortKey::Memory => Self::known(sizes.memory_bytes),
            SortKey::Disk => Self::number(host.sum(Field::DiskBytes)),
            SortKey::Serial => first(Field::Serial),
            SortKey::Model => first(Field::Model),
            SortKey::Switch => match (host.first_text(Field::Switch), host.first_text(Field::Port)) {
                (Some(switch), Some(port)) => Self::Text(format!("{switch} {port}").into()),
                _ => Self::Unknown,
            },
            _ => Self::without_hardware(host, key),
        }
    }

    /// By what is known before the first inventory, too.
    fn without_hardware(host: impl Facts<'a>, key: SortKey) -> Self {
        match key {
            SortKey::Name => Self::text(host.name()),
            SortKey::State => Self::text(host.status().name()),
            SortKey::Pool => Self::text(host.pool()),
            SortKey::Cluster => match host.cluster_id() {
                Some(id) if host.cluster().is_empty() => Self::Text(Cow::Owned(id.to_string())),
                _ => Self::text(host.cluster()),
            },
            SortKey::Seen => Self::time(host.seen_at()),
            SortKey::Since => Self::time(host.since()),
            SortKey::Agent => Self::text(host.agent_version()),
            SortKey::Cpu
            | SortKey::Memory
            | SortKey::Disk
            | SortKey::Serial
            | SortKey::Model
            | SortKey::Switch => Self::Unknown,
        }
    }

    fn text(text: &'a str) -> Self {
        match text.is_empty() {
            true => Self::Unknown,
            false => Self::Text(Cow::Borrowed(text)),
        }
    }

    fn known(number: u64) -> Self {
        match number {
            0 => Self::Unknown,
            number => Self::number(number),
        }
    }

    fn number(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn time(time: Timestamp) -> Self {
        Self::Number(time.timestamp_micros())
    }

    fn compare(&self, other: &Rank<'_>, is_descending: bool) -> Ordering {
        let directed = |order: Ordering| if is_descending { order.reverse() } else { order };
        match (self, other) {
            (Self::Number(a), Rank::Number(b)) => directed(a.cmp(b)),
            (Self::Text(a), Rank::Text(b)) => directed(natural_order(a, b)),
            (Self::Unknown, Rank::Unknown) => Ordering::Equal,
            (Self::Unknown, _) | (Self::Text(_), Rank::Number(_)) => Ordering::Greater,
            (_, Rank::Unknown) | (Self::Number(_), Rank::Text(_)) => Ordering::Less,
        }
    }
}
