//! Sets the clock of a machine without a time service, and with it the battery-backed one.
//!
//! A clock that was never set, or is months behind, would make certificates look not yet valid. So before the first TLS
//! handshake, and with a clock before [`clock::earliest`], the time sources are queried; without a response the `Date` of the
//! service's own response sets it, requested without token and without trust. It is used only to move such a clock forward.

use std::time::Duration;

use tracing::{info, warn};
use url::Url;

use super::agreement;
use super::clock;
use super::rtc;
use super::sources::TimeSources;

/// Smaller offsets are not corrected, seconds.
const CLOSE_ENOUGH: f64 = 0.1;
/// A clock that is wrong by less than this makes no certificate invalid, except within these seconds.
const WRONG: u64 = 60;
/// Interval while no source responds.
const SOON: Duration = Duration::from_secs(30);
/// Interval after a correction: a clock drifts slowly.
const LATER: Duration = Duration::from_secs(10 * 60);

/// Keeps the clock right for ever.
///
/// # Errors
/// Never; the type is that of every part of process 1.
pub async fn keep(sources: &TimeSources) -> anyhow::Result<()> {
    loop {
        let wait = if once(sources).await { LATER } else { SOON };
        tokio::time::sleep(wait).await;
    }
}

/// Queries the sources and sets the clock. True if a source could be trusted.
pub async fn once(sources: &TimeSources) -> bool {
    let asked = sources.ask().await;
    let measurements: Vec<_> = asked.iter().map(|one| one.measurement).collect();
    let Some(best) = agreement::best(&measurements) else {
        return false;
    };
    let Some(measurement) = measurements[best] else {
        return false;
    };
    if measurement.offset.abs() > CLOSE_ENOUGH {
        match clock::step(measurement.offset) {
            Ok(()) => {
                info!(
                    source = asked[best].source,
                    by_s = measurement.offset,
                    "clock set"
                );
                set_battery_clock(measurement.offset);
            }
            Err(error) => warn!("{error}"),
        }
    }
    true
}

/// Corrects a clock that shows a time before `earliest`, if any source responds. `http` must not verify certificates.
///
/// `earliest` may be wrong, too: if sources respond, they win; if none does, the clock stays as it is.
pub async fn before_tls(sources: &TimeSources, http: &reqwest::Client, health: &Url, earliest: Duration) {
    if clock::since_epoch() >= earliest || once(sources).await && !clock::is_unset() {
        return;
    }
    let Ok(answer) = http
        .head(health.clone())
        .timeout(Duration::from_secs(10))
        .send()
        .await
    else {
        return;
    };
    match date_of(&answer).filter(|date| leads_forward(*date, clock::since_epoch())) {
        Some(date) => set_by_service(date),
        None if clock::is_unset() => warn!("the clock was never set and no source answers"),
        None => info!("the clock may be behind, and no source gives a later time"),
    }
}

/// True if the service's date is one that a clock can show now, and later than that of this host's clock.
fn leads_forward(date: Duration, now: Duration) -> bool {
    date > clock::earliest(None) && date > now + Duration::from_secs(WRONG)
}

fn set_by_service(date: Duration) {
    let before = clock::now();
    match clock::set(date) {
        Ok(()) => {
            info!("clock set by the service's own answer");
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
            set_battery_clock(date.as_secs() as f64 - before as f64);
        }
        Err(error) => warn!("{error}"),
    }
}

/// Corrects the clock after a certificate of the service was not valid by it. Queries the sources, and once the service itself; true if
/// the clock was set to a time at which another attempt is worth it. `http` must not verify certificates.
///
/// A false date in that response can make a certificate valid that once was, if its key was stolen: no better source responded.
pub async fn after_invalid_date(sources: &TimeSources, http: &reqwest::Client, health: &Url) -> bool {
    if once(sources).await {
        return false;
    }
    let request = http.head(health.clone()).timeout(Duration::from_secs(10)).send();
    let Ok(answer) = request.await else {
        return false;
    };
    let Some(date) = date_of(&answer).filter(|date| *date > clock::earliest(None)) else {
        return false;
    };
    if date.as_secs().abs_diff(clock::now()) < WRONG {
        return false;
    }
    set_by_service(date);
    true
}

/// Sets the battery-backed clock after a step of that many seconds, if it can have been wrong: its own resolution is a second.
fn set_battery_clock(step: f64) {
    if step.abs() < 2.0 || std::process::id() != 1 {
        return;
    }
    if let Err(error) = rtc::set_to_system_time() {
        info!("the battery-backed clock keeps its time: {error}");
    }
}

/// The service's clock at a response, as time since 1970; `None`: the response has no date.
pub fn date_of(answer: &reqwest::Response) -> Option<Duration> {
    http_date(answer.headers().get("date")?.to_str().ok()?)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers may send (RFC 9110 §5.6.7), as time since 1970.
fn http_date(text: &str) -> Option<Duration> {
    let date = chrono::NaiveDateTime::parse_from_str(text, "%a, %d %b %Y %H:%M:%S GMT").ok()?;
    u64::try_from(date.and_utc().timestamp())
        .ok()
        .map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_moves_a_clock_forward_alone_and_to_no_time_before_this_program() {
        let (floor, month) = (clock::earliest(None), Duration::from_secs(30 * 24 * 3600));
        let never_set = Duration::from_secs(1_000);
        assert!(leads_forward(floor + month, never_set));
        assert!(leads_forward(floor + month * 6, floor + month));
        assert!(!leads_forward(floor + month, floor + month * 6));
        assert!(!leads_forward(floor + month, floor + month));
        assert!(!leads_forward(floor - month, never_set));
    }

    #[test]
    fn dates_of_answers_are_read() {
        assert_eq!(
            http_date("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::from_secs(784_111_777))
        );
        for wrong in [
            "",
            "1994-11-06",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Thu, 01 Jan 1900 00:00:00 GMT",
        ] {
            assert_eq!(http_date(wrong), None, "{wrong}");
        }
    }
}
