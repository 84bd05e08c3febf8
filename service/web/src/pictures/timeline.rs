//! The past of one host, or of two, one below the other: states as bands, what happened as marks, to the scale of a zoom.

mod bands;

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use muster_api::event::Event;
use muster_api::host::HostStateChange;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::FoundHost;
use muster_api::time::{Timestamp, millis, now};
use url::form_urlencoded::byte_serialize;

use self::bands::{BandRow, MarkRow, Tick, bands, marks, ticks};
use super::scale::Scale;
use crate::hosts;
use crate::html::{Frame, answer};
use crate::rest::{Path, Refusal, Visitor};
use crate::sign_in::frame;

/// Width of the picture, in its own units.
const WIDTH: u32 = 1000;

/// Changes of the state that are read, the newest ones.
const CHANGES: u32 = 1000;

/// Events that are read, the newest ones.
const EVENTS: u32 = 500;

/// Names of zooms, with their lengths in milliseconds.
const ZOOMS: [(&str, i64); 6] = [
    ("1 h", HOUR),
    ("6 h", 6 * HOUR),
    ("1 d", 24 * HOUR),
    ("7 d", 7 * 24 * HOUR),
    ("30 d", 30 * 24 * HOUR),
    ("90 d", 90 * 24 * HOUR),
];

/// The zoom unless another one is chosen.
const USUAL: &str = "1 d";

const HOUR: i64 = 3_600_000;

#[derive(Template)]
#[template(path = "pictures/timeline.html")]
struct TimelinePage {
    frame: Frame,
    host: Known,
    view: View,
    zooms: Vec<Link>,
    lines: Vec<Line>,
    ticks: Vec<Tick>,
    /// The address of the time before.
    earlier: String,
    /// The address of the time after; `None`: it is to come.
    later: Option<String>,
    from: String,
    until: String,
    /// Hosts that can stand below.
    others: Vec<Choice>,
}

/// A link to another zoom.
struct Link {
    name: &'static str,
    address: String,
    is_shown: bool,
}

/// A host by its name.
struct Known {
    id: HostId,
    name: String,
    address: String,
}

impl Known {
    fn of(host: &FoundHost) -> Self {
        Self {
            id: host.id,
            name: host.name.clone(),
            address: hosts::address(host.infra_env_id, host.id),
        }
    }
}

/// A host that can be chosen.
struct Choice {
    id: HostId,
    name: String,
    is_chosen: bool,
}

/// The past of one host.
struct Line {
    name: String,
    address: String,
    bands: Vec<BandRow>,
    marks: Vec<MarkRow>,
    /// True if older events are not shown.
    is_cut: bool,
}

/// The address of the page.
#[derive(Clone)]
struct View {
    pool: InfraEnvId,
    id: HostId,
    zoom: &'static str,
    /// Milliseconds since 1970; `None`: now.
    end: Option<i64>,
    with: Option<HostId>,
}

/// Most hosts that can be chosen to stand below.
const OTHERS: usize = 100;

pub async fn show(
    visitor: Visitor,
    Path((pool, id)): Path<(InfraEnvId, HostId)>,
) -> Result<Response, Refusal> {
    let view = View::of(&visitor, pool, id);
    let frame = frame(&visitor).await?;
    let found = visitor.hosts(&format!("id:{id} pool:{pool}"), 1, "").await?;
    let Some(host) = found.hosts.first() else {
        return Err(visitor.refusal(StatusCode::NOT_FOUND, format!("host {id} was not found")));
    };
    let beside = visitor.hosts(&format!("pool:{pool}"), OTHERS, "").await?;
    let beside = beside.hosts.into_iter().map(|other| (other.id, other.name));
    let scale = view.scale();
    let mut chosen = None;
    let mut lines = vec![line(&visitor, host, scale).await?];
    if let Some(with) = view.with {
        let found = visitor.hosts(&format!("id:{with} pool:{pool}"), 1, "").await?;
        if let Some(other) = found.hosts.first() {
            lines.push(line(&visitor, other, scale).await?);
            chosen = Some((other.id, other.name.clone()));
        }
    }
    let length = scale.last - scale.first;
    let page = TimelinePage {
        frame,
        host: Known::of(host),
        zooms: view.zooms(),
        lines,
        ticks: ticks(scale),
        earlier: view.until(Some(scale.first)).address(),
        later: view.end.map(|end| {
            let next = end.saturating_add(length);
            let is_past = next < now().timestamp_millis();
            view.until(is_past.then_some(next)).address()
        }),
        from: time(scale.first),
        until: time(scale.last),
        others: choices(beside, id, chosen),
        view,
    };
    Ok(answer(&page))
}

/// The hosts that can stand below `own`: the first of the pool, and the chosen one, which may be none of these.
fn choices(
    first: impl Iterator<Item = (HostId, String)>,
    own: HostId,
    chosen: Option<(HostId, String)>,
) -> Vec<Choice> {
    let chosen_id = chosen.as_ref().map(|(id, _)| *id);
    let others = first.filter(|(id, _)| *id != own && Some(*id) != chosen_id);
    let others = others.map(|(id, name)| Choice {
        id,
        name,
        is_chosen: false,
    });
    let chosen = chosen.map(|(id, name)| Choice {
        id,
        name,
        is_chosen: true,
    });
    chosen.into_iter().chain(others).collect()
}

async fn line(visitor: &Visitor, host: &FoundHost, scale: Scale) -> Result<Line, Refusal> {
    let (pool, id) = (host.infra_env_id, host.id);
    let path = format!("/infra-envs/{pool}/hosts/{id}/history?limit={CHANGES}");
    let changes: Vec<HostStateChange> = visitor.get(&path).await?;
    let events = format!("/events?infra_env_id={pool}&host_id={id}&order=descending&limit={EVENTS}");
    let events: Vec<Event> = visitor.get(&events).await?;
    let is_cut = events.len() >= EVENTS as usize;
    Ok(Line {
        name: host.name.clone(),
        address: hosts::address(pool, id),
        bands: bands(&changes, scale, now().timestamp_millis()),
        marks: marks(&events, scale),
        is_cut,
    })
}

/// A time as RFC 3339; empty: it is beyond all calendars.
fn time(at: i64) -> String {
    Timestamp::from_timestamp_millis(at).map_or_else(String::new, |at| millis(Some(at)))
}

impl View {
    /// What the address has in a wrong form is left out.
    fn of(visitor: &Visitor, pool: InfraEnvId, id: HostId) -> Self {
        let [zoom, end, with] = visitor.parameters(["zoom", "end", "with"]);
        let zoom = ZOOMS.iter().find(|(name, _)| *name == zoom);
        let end = end.parse::<Timestamp>().ok();
        Self {
            pool,
            id,
            zoom: zoom.map_or(USUAL, |(name, _)| *name),
            end: end.map(|end| end.timestamp_millis()),
            with: with.parse::<HostId>().ok().filter(|with| *with != id),
        }
    }

    /// The times that are shown, ms since 1970.
    fn scale(&self) -> Scale {
        let length = ZOOMS.iter().find(|(name, _)| *name == self.zoom);
        let length = length.map_or(24 * HOUR, |(_, length)| *length);
        let last = self.end.unwrap_or_else(|| now().timestamp_millis());
        Scale {
            first: last.saturating_sub(length),
            last,
            width: WIDTH,
        }
    }

    fn until(&self, end: Option<i64>) -> Self {
        Self { end, ..self.clone() }
    }

    fn zooms(&self) -> Vec<Link> {
        let links = ZOOMS.iter().map(|(name, _)| {
            let view = Self {
                zoom: name,
                ..self.clone()
            };
            Link {
                name,
                address: view.address(),
                is_shown: *name == self.zoom,
            }
        });
        links.collect()
    }

    fn address(&self) -> String {
        let zoom: String = byte_serialize(self.zoom.as_bytes()).collect();
        let mut address = format!("{}?zoom={zoom}", timeline_of(self.pool, self.id));
        if let Some(end) = self.end {
            let end: String = byte_serialize(time(end).as_bytes()).collect();
            address.push_str(&format!("&end={end}"));
        }
        if let Some(with) = self.with {
            address.push_str(&format!("&with={with}"));
        }
        address
    }
}

/// The address of the past of a host.
pub fn timeline_of(pool: InfraEnvId, id: HostId) -> String {
    format!("/ui/timeline/{pool}/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_host_is_offered_wherever_it_is_in_its_pool() {
        let [own, near, far] = [(); 3].map(|()| HostId::random());
        let first = || [(own, "own".to_owned()), (near, "near".to_owned())].into_iter();
        let offered = |chosen: Option<(HostId, String)>| -> Vec<(HostId, bool)> {
            let offered = choices(first(), own, chosen).into_iter();
            offered.map(|one| (one.id, one.is_chosen)).collect()
        };
        assert_eq!(offered(None), [(near, false)]);
        assert_eq!(offered(Some((near, "near".to_owned()))), [(near, true)]);
        assert_eq!(
            offered(Some((far, "far".to_owned()))),
            [(far, true), (near, false)]
        );
    }
}
