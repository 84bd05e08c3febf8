//! The newest events in the order of their ids, and `muster events --follow`, which goes on after them.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use chrono::Utc;
use muster_api::event::{FollowedEvent, FollowedEvents};
use muster_api::ids::EventId;
use serde_json::Value;
use tokio::signal::ctrl_c;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Query, table};
use crate::cli::failure::{Failure, Kind, kind_of};
use crate::cli::output::{Format, is_closed, print, show, width};
use crate::cli::service::Client;

/// Interval between two requests. Not woken by the stream of changes, which has no events without a change of a record, and which a proxy
/// may hold back: a request without new events reads an index.
const INTERVAL: Duration = Duration::from_secs(2);

/// Longest wait between two requests while there are no answers.
const LONGEST: Duration = Duration::from_secs(30);

/// Most events in one answer of the service.
const AT_ONCE: u32 = 1000;

/// Prints the newest events and all that come, until interrupted or until nothing reads standard output.
pub async fn print_all(client: &Client, query: &Query, limit: u32, format: &Format) -> Result<()> {
    if limit > AT_ONCE {
        return Err(Failure::usage(format!(
            "--follow begins with {AT_ONCE} events at most: give a --limit up to {AT_ONCE}, and more without --follow"
        ))
        .into());
    }
    tokio::select! {
        ended = follow(client, query, limit, format) => ended,
        _ = ctrl_c() => Ok(()),
    }
}

/// The newest events, at most `limit`, in the order of their ids: those with which `--follow` begins, as far as it takes so many.
pub async fn last(client: &Client, query: &Query, limit: u32) -> Result<Vec<FollowedEvent>> {
    if limit <= AT_ONCE {
        return newest(client, query, limit).await.map(|(_, events)| events);
    }
    let mut events: Vec<FollowedEvent> = Vec::new();
    let mut before = EventId(Uuid::max());
    let mut left = limit;
    while left > 0 {
        let part: FollowedEvents = client.get(&query.before(before, left.min(AT_ONCE))).await?;
        left = left.saturating_sub(u32::try_from(part.events.len())?);
        before = part.next;
        events.extend(part.events);
        if !part.more {
            break;
        }
    }
    events.sort_by_key(|event| event.id);
    Ok(events)
}

/// The newest events in the order of their ids, and the position after them.
async fn newest(client: &Client, query: &Query, limit: u32) -> Result<(Position, Vec<FollowedEvent>)> {
    let mut position = Position::start();
    let first = client.get::<FollowedEvents>(&query.by_id(None, limit)).await?;
    let mut events = position.take(first);
    // The last seconds may have more.
    events.drain(..events.len().saturating_sub(usize::try_from(limit)?));
    Ok((position, events))
}

async fn follow(client: &Client, query: &Query, limit: u32, format: &Format) -> Result<()> {
    let (mut position, events) = newest(client, query, limit).await?;
    print_first(&events, format)?;
    let mut failures = 0;
    loop {
        if failures > 0 || !position.more {
            sleep(wait(failures)).await;
        }
        if is_closed() {
            return Ok(());
        }
        let path = query.by_id(Some(position.next), AT_ONCE);
        match client.get::<FollowedEvents>(&path).await {
            Ok(answer) => {
                failures = 0;
                print_next(&position.take(answer), format)?;
            }
            Err(error) if matches!(kind_of(&error), Kind::Refused | Kind::NotFound) => return Err(error),
            Err(error) => {
                if failures == 0 {
                    let since = Utc::now().format("%Y-%m-%d %H:%M:%S");
                    eprintln!("{error:#}; no events since {since}, still trying");
                }
                failures += 1;
            }
        }
    }
}

/// The time before a request after so many failures in a row.
fn wait(failures: u32) -> Duration {
    match failures {
        0 => INTERVAL,
        failures => Duration::from_secs(1 << (failures - 1).min(5)).min(LONGEST),
    }
}

/// The position of a client in the events.
struct Position {
    /// `after` of the next request.
    next: EventId,
    more: bool,
    /// All events up to here were received. Replicas have different clocks, and it never goes back.
    settled: EventId,
    /// Received events after `settled`, which answers may have again.
    received: HashSet<EventId>,
}

impl Position {
    fn start() -> Self {
        let before_all = EventId(Uuid::nil());
        Self {
            next: before_all,
            more: false,
            settled: before_all,
            received: HashSet::new(),
        }
    }

    /// The events of an answer that were not received before.
    fn take(&mut self, answer: FollowedEvents) -> Vec<FollowedEvent> {
        let received = &mut self.received;
        let new = answer.events.into_iter();
        let new = new.filter(|event| received.insert(event.id)).collect();
        self.more = answer.more;
        if self.more {
            self.next = answer.next;
        } else {
            self.settled = self.settled.max(answer.next);
            self.next = self.settled;
            let settled = self.settled;
            self.received.retain(|id| *id > settled);
        }
        new
    }
}

/// Tables begin with their headings.
fn print_first(events: &[FollowedEvent], format: &Format) -> Result<()> {
    if !format.is_table() {
        return print_next(events, format);
    }
    let (columns, wide) = layout(format);
    print(&table(events).render(columns, wide));
    Ok(())
}

fn print_next(events: &[FollowedEvent], format: &Format) -> Result<()> {
    if format.is_table() {
        let (columns, wide) = layout(format);
        print(&table(events).lines(columns, wide).1.concat());
        return Ok(());
    }
    for event in events {
        print_alone(event, format)?;
    }
    Ok(())
}

fn layout(format: &Format) -> (Option<usize>, bool) {
    let wide = matches!(format, Format::Wide);
    (width().filter(|_| !wide), wide)
}

/// One event: JSON in a line, in the other formats as a list of one, as they have it without `--follow`.
fn print_alone(followed: &FollowedEvent, format: &Format) -> Result<()> {
    let value = serde_json::to_value(followed)?;
    if matches!(format, Format::Json) {
        print(&format!("{value}\n"));
        return Ok(());
    }
    let event = || table([followed]);
    show(
        format,
        event,
        &Value::from(vec![value]),
        &[followed.id.to_string()],
    )
}

#[cfg(test)]
mod tests {
    use muster_api::event::{Event, Severity};

    use super::*;

    fn id(number: u128) -> EventId {
        EventId(Uuid::from_u128(number))
    }

    fn answer(events: &[u128], next: u128, more: bool) -> FollowedEvents {
        let event = |number: &u128| FollowedEvent {
            id: id(*number),
            event: Event {
                cluster_id: None,
                event_time: "2026-01-01T00:00:01.000Z".into(),
                host_id: None,
                infra_env_id: None,
                message: number.to_string(),
                name: None,
                props: None,
                severity: Severity::Info,
            },
        };
        FollowedEvents {
            events: events.iter().map(event).collect(),
            next: id(next),
            more,
        }
    }

    #[test]
    fn each_event_is_taken_once_also_one_that_appears_late() {
        let mut position = Position::start();
        let mut taken = Vec::new();
        for (answer, after) in [
            (answer(&[10, 20, 30], 15, false), 15),
            (answer(&[20, 25, 30, 40], 40, true), 40),
            (answer(&[50], 35, false), 35),
            // Of a replica with a clock that is late.
            (answer(&[40, 45, 50], 34, false), 35),
            (answer(&[], 60, false), 60),
        ] {
            let new = position.take(answer);
            taken.extend(new.into_iter().map(|followed| followed.event.message));
            assert_eq!(position.next, id(after));
        }
        assert_eq!(taken, ["10", "20", "30", "25", "40", "50", "45"]);
        assert!(position.received.is_empty());
    }

    #[test]
    fn waits_grow_to_half_a_minute() {
        let seconds: Vec<u64> = (0..9).map(|failures| wait(failures).as_secs()).collect();
        assert_eq!(seconds, [2, 1, 2, 4, 8, 16, 30, 30, 30]);
    }
}
