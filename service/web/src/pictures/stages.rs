//! The stages of an installation as a bar: of one host, or one below the other of many. The page around it has the table.

use askama::Template;
use askama::filters::HtmlSafe;
use muster_api::host::Host;
use muster_api::search::HostWait;
use muster_api::time::Timestamp;

use super::scale::Scale;
use crate::words;

/// Width of the picture, in its own units.
const WIDTH: u32 = 1000;

/// Width of the text about the beginning of a wait: the text of the deadline ends beyond it.
const BESIDE: u32 = 420;

/// The installation of one host.
#[derive(Template)]
#[template(path = "pictures/stages.html")]
pub struct StageBar {
    /// Of the host: several may be on one page.
    name: String,
    pub stages: Vec<Stage>,
    /// The present stage.
    pub current: String,
    /// Time since it began.
    pub present: String,
    pub wait: Option<WaitBar>,
}

impl HtmlSafe for StageBar {}

/// A stage. All have the same width: their usual durations are not known.
pub struct Stage {
    pub number: usize,
    pub name: String,
    x: u32,
    width: u32,
    middle: u32,
    mood: &'static str,
    symbol: &'static str,
    pub state: &'static str,
}

/// The present wait, to scale.
#[derive(Debug, PartialEq, Eq)]
pub struct WaitBar {
    /// Until now.
    done: u32,
    /// The deadline.
    mark: u32,
    mark_text: u32,
    pub is_over: bool,
    pub what: String,
    pub since: String,
    pub until: String,
}

impl StageBar {
    /// `None`: it is not being installed. `now`: RFC 3339.
    pub fn of(host: &Host, name: &str, wait: Option<&HostWait>, now: &str) -> Option<Self> {
        let progress = host.progress.as_ref()?;
        let names = host.progress_stages.as_deref().unwrap_or_default();
        if progress.current_stage.is_empty() || names.is_empty() {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            stages: stages(names, &progress.current_stage),
            current: progress.current_stage.clone(),
            present: words::relative(&progress.stage_started_at, now),
            wait: wait.and_then(|wait| WaitBar::of(wait, now)),
        })
    }
}

fn stages(names: &[String], current: &str) -> Vec<Stage> {
    let present = names.iter().position(|name| name == current);
    // The last one is reached when it is done.
    let is_over = present.is_some_and(|present| present + 1 == names.len());
    let scale = Scale {
        first: 0,
        last: i64::try_from(names.len()).unwrap_or(i64::MAX),
        width: WIDTH,
    };
    let stages = names
        .iter()
        .zip(0_i64..)
        .enumerate()
        .filter_map(|(index, (name, place))| {
            let bar = scale.part(place, place + 1)?;
            let (mood, symbol, state) = match present {
                Some(present) if index < present || is_over => ("good", "✓", "done"),
                Some(present) if index == present => ("busy", "▸", "now"),
                _ => ("ground", "", "to come"),
            };
            Some(Stage {
                number: index + 1,
                name: name.clone(),
                x: bar.x,
                width: bar.width,
                middle: bar.middle(),
                mood,
                symbol,
                state,
            })
        });
    stages.collect()
}

impl WaitBar {
    /// `None`: it has no end. Where the deadline is over, the picture ends now.
    fn of(wait: &HostWait, now: &str) -> Option<Self> {
        let until = wait.until.as_ref()?;
        let at = |text: &str| text.parse::<Timestamp>().ok().map(|at| at.timestamp_millis());
        let (since, end, present) = (at(&wait.since)?, at(until)?, at(now)?);
        let scale = Scale {
            first: since,
            last: end.max(present),
            width: WIDTH,
        };
        let mark = scale.place(end);
        Some(Self {
            done: scale.place(present),
            mark,
            mark_text: mark.max(BESIDE) - 6,
            is_over: present > end,
            what: wait.what.clone(),
            since: words::relative(&wait.since, now),
            until: words::relative(until, now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["Installing", "Rebooting", "Joined"].map(str::to_owned).into()
    }

    #[test]
    fn stages_lie_side_by_side_and_the_last_one_is_an_end() {
        let found = stages(&names(), "Rebooting");
        let states: Vec<&str> = found.iter().map(|stage| stage.state).collect();
        assert_eq!(states, ["done", "now", "to come"]);
        for pair in found.windows(2) {
            assert_eq!(pair[0].x + pair[0].width, pair[1].x);
        }
        assert_eq!(found[2].x + found[2].width, WIDTH);
        assert!(
            stages(&names(), "Joined")
                .iter()
                .all(|stage| stage.state == "done")
        );
        assert!(
            stages(&names(), "Failed")
                .iter()
                .all(|stage| stage.state == "to come")
        );
    }

    #[test]
    fn a_wait_is_to_scale_up_to_its_deadline_or_to_now() {
        let mut wait = HostWait {
            what: "the node".into(),
            since: "2026-11-30T12:00:00.000Z".into(),
            until: Some("2026-11-30T12:20:00.000Z".into()),
            then: String::new(),
            what_to_do: String::new(),
        };
        let early = WaitBar::of(&wait, "2026-11-30T12:05:00.000Z").unwrap();
        assert_eq!((early.done, early.mark, early.is_over), (250, 1000, false));
        let late = WaitBar::of(&wait, "2026-11-30T12:40:00.000Z").unwrap();
        assert_eq!((late.done, late.mark, late.is_over), (1000, 500, true));
        let long_ago = WaitBar::of(&wait, "2026-12-30T12:40:00.000Z").unwrap();
        assert_eq!((long_ago.mark, long_ago.mark_text), (0, BESIDE - 6));
        let before = WaitBar::of(&wait, "2026-11-30T11:00:00.000Z").unwrap();
        assert_eq!((before.done, before.is_over), (0, false));
        wait.until = None;
        assert_eq!(WaitBar::of(&wait, "2026-11-30T12:05:00.000Z"), None);
    }
}
