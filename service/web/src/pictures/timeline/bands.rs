//! The past of a host as bands and marks: pure layout.

use muster_api::event::{Event, Severity};
use muster_api::host::{HostStateChange, HostStatus};
use muster_api::time::Timestamp;

use super::time;
use crate::hosts::mood;
use crate::pictures::scale::Scale;
use crate::words;

/// Width of a letter in a band, in the units of the picture.
const LETTER: u32 = 8;

/// Ticks of the axis.
const TICKS: i64 = 6;

/// Longest text of an event in the table, letters.
const LONGEST: usize = 300;

/// A state over a time.
pub struct BandRow {
    pub x: u32,
    pub width: u32,
    /// Where its text begins.
    pub text_x: u32,
    pub mood: &'static str,
    /// True for a time without contact.
    pub is_silent: bool,
    pub state: &'static str,
    /// What fits into the band: the state, a symbol or nothing.
    pub text: &'static str,
    /// RFC 3339.
    pub from: String,
    pub length: String,
    pub who: String,
    pub reason: String,
}

/// The states of the scale's time, the oldest first. `changes`: oldest first; `now`: ms since 1970, the end of the last one. A state that
/// began before the scale begins with it; nothing is shown before the first change that is known.
pub fn bands(changes: &[HostStateChange], scale: Scale, now: i64) -> Vec<BandRow> {
    let read = changes
        .iter()
        .filter_map(|change| Some((at(&change.at)?, change)));
    let read: Vec<(i64, &HostStateChange)> = read.collect();
    let ends = read.iter().skip(1).map(|(at, _)| *at).chain([now]);
    let spans = read.iter().zip(ends);
    let shown = spans.filter_map(|((from, change), end)| {
        let end = end.max(*from);
        // A state that begins where the picture ends, or ends where it begins, has no length there.
        let bar = scale
            .part(*from, end)
            .filter(|_| end > scale.first && *from < scale.last)?;
        let is_silent = matches!(
            change.to,
            HostStatus::Disconnected | HostStatus::DisconnectedUnbound
        );
        let mood = mood(change.to);
        Some(BandRow {
            x: bar.x,
            width: bar.width,
            text_x: bar.x + 3,
            mood,
            is_silent,
            state: change.to.name(),
            text: text(change.to.name(), mood, bar.width),
            from: change.at.clone(),
            length: words::length(end.abs_diff(*from) / 1000),
            who: change.who.clone(),
            reason: words::beginning(&change.reason, LONGEST),
        })
    });
    shown.collect()
}

/// What fits into a band of this width.
fn text(state: &'static str, mood: &str, width: u32) -> &'static str {
    let letters = u32::try_from(state.len()).unwrap_or(u32::MAX);
    match (width / LETTER, mood) {
        (room, _) if room > letters => state,
        (0..=1, _) => "",
        (_, "good") => "✓",
        (_, "bad") => "✗",
        _ => "…",
    }
}

/// Something that happened.
pub struct MarkRow {
    pub x: u32,
    pub symbol: &'static str,
    pub what: &'static str,
    /// RFC 3339.
    pub at: String,
    pub message: String,
}

/// What happened in the scale's time, the oldest first. `events`: the newest first.
pub fn marks(events: &[Event], scale: Scale) -> Vec<MarkRow> {
    let marks = events.iter().rev().filter_map(|event| {
        let when = at(&event.event_time).filter(|when| (scale.first..=scale.last).contains(when))?;
        let (symbol, what) = kind(event)?;
        Some(MarkRow {
            x: scale.place(when),
            symbol,
            what,
            at: event.event_time.clone(),
            message: words::beginning(&event.message, LONGEST),
        })
    });
    marks.collect()
}

/// Symbol and name of what an event is about; `None`: it makes no mark, as a change of the state does not, which is a band.
fn kind(event: &Event) -> Option<(&'static str, &'static str)> {
    let name = event.name.as_deref().unwrap_or_default();
    match name {
        "host_status_updated" => None,
        "host_registration_succeeded" => Some(("⏻", "boot")),
        "host_approved_updated" => Some(("☑", "approval")),
        "host_installation_started" | "host_install_progress_updated" => Some(("▸", "installation")),
        _ if name.starts_with("muster_bmc_") => Some(("⚙", "BMC")),
        _ if name.starts_with("host_validation_") => Some(("!", "check")),
        _ if name.contains("finding") => Some(("!", "finding")),
        _ => match event.severity {
            Severity::Info => None,
            Severity::Warning => Some(("!", "warning")),
            Severity::Error | Severity::Critical => Some(("✗", "error")),
        },
    }
}

/// A place on the axis.
pub struct Tick {
    pub x: u32,
    pub text_x: u32,
    pub text: String,
}

/// Places at equal distances, the first at the beginning.
pub fn ticks(scale: Scale) -> Vec<Tick> {
    let length = scale.last.saturating_sub(scale.first);
    let is_short = length <= 2 * 24 * super::HOUR;
    let ticks = (0..TICKS).map(|number| {
        let at = scale.first.saturating_add(length / TICKS * number);
        // `2026-11-21T14:00:00.123Z`
        let text = time(at);
        let part = match is_short {
            true => text.get(11..16),
            false => text.get(5..10),
        };
        let x = scale.place(at);
        Tick {
            x,
            text_x: x + 3,
            text: part.unwrap_or_default().to_owned(),
        }
    });
    ticks.collect()
}

/// Milliseconds since 1970 of a time in RFC 3339.
fn at(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(|at| at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One hour in 360 units.
    fn scale() -> Scale {
        let first = at("2026-11-30T12:00:00Z").unwrap();
        Scale {
            first,
            last: first + super::super::HOUR,
            width: 360,
        }
    }

    fn change(at: &str, to: HostStatus) -> HostStateChange {
        HostStateChange {
            at: at.into(),
            from: None,
            to,
            who: "agent".into(),
            event: "reported".into(),
            reason: String::new(),
        }
    }

    #[test]
    fn a_band_ends_where_the_next_begins_and_is_to_scale() {
        let changes = [
            change("2026-11-30T10:00:00Z", HostStatus::KnownUnbound),
            change("2026-11-30T11:00:00Z", HostStatus::DiscoveringUnbound),
            change("2026-11-30T12:20:00Z", HostStatus::DisconnectedUnbound),
            change("2026-11-30T12:30:00Z", HostStatus::KnownUnbound),
            change("2026-11-30T13:30:00Z", HostStatus::Error),
        ];
        let bands = bands(&changes, scale(), at("2026-11-30T14:00:00Z").unwrap());
        let shown: Vec<_> = bands
            .iter()
            .map(|band| (band.x, band.width, band.state))
            .collect();
        assert_eq!(
            shown,
            [
                (0, 120, "discovering-unbound"),
                (120, 60, "disconnected-unbound"),
                (180, 180, "known-unbound"),
            ]
        );
        assert_eq!(
            bands.iter().map(|band| band.is_silent).collect::<Vec<_>>(),
            [false, true, false]
        );
        let lengths: Vec<&str> = bands.iter().map(|band| band.length.as_str()).collect();
        assert_eq!(lengths, ["80 min", "10 min", "60 min"]);
        assert_eq!(
            bands.iter().map(|band| band.text).collect::<Vec<_>>(),
            ["…", "✗", "known-unbound"]
        );
    }

    #[test]
    fn the_present_state_ends_now() {
        let changes = [change("2026-11-30T12:15:00Z", HostStatus::Known)];
        let bands = bands(&changes, scale(), at("2026-11-30T12:45:00Z").unwrap());
        assert_eq!((bands.len(), bands[0].x, bands[0].width), (1, 90, 180));
    }

    #[test]
    fn marks_are_what_happened_in_the_time_oldest_first() {
        let event = |name: &str, at: &str, severity| Event {
            cluster_id: None,
            event_time: at.into(),
            host_id: None,
            infra_env_id: None,
            message: "m".into(),
            name: Some(name.into()),
            props: None,
            severity,
        };
        let events = [
            event("host_approved_updated", "2026-11-30T12:30:00Z", Severity::Info),
            event("host_status_updated", "2026-11-30T12:20:00Z", Severity::Warning),
            event("image_status_updated", "2026-11-30T12:15:00Z", Severity::Info),
            event(
                "host_registration_succeeded",
                "2026-11-30T12:10:00Z",
                Severity::Info,
            ),
            event(
                "host_registration_succeeded",
                "2026-11-30T11:10:00Z",
                Severity::Info,
            ),
        ];
        let marks = marks(&events, scale());
        let shown: Vec<_> = marks.iter().map(|mark| (mark.x, mark.what)).collect();
        assert_eq!(shown, [(60, "boot"), (180, "approval")]);
    }

    #[test]
    fn ticks_name_hours_or_days() {
        let short = ticks(scale());
        let texts: Vec<&str> = short.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(texts, ["12:00", "12:10", "12:20", "12:30", "12:40", "12:50"]);
        let long = Scale {
            last: scale().first + 30 * 24 * super::super::HOUR,
            ..scale()
        };
        assert_eq!(ticks(long)[1].text, "12-05");
    }
}
