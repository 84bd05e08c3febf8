//! Shows the health of a host as the API returns it.

use muster_api::host::{HostHealth, HostHealthHour, HostHealthWorst};
use muster_api::time::{Timestamp, millis};

use crate::record::{Health, WorstOfDay};

const HOUR_SECS: i64 = 3600;
const DAY_SECS: i64 = 24 * HOUR_SECS;

pub(super) fn shown_health(health: &Health) -> HostHealth {
    let hours = health.hours.iter().map(|hour| HostHealthHour {
        at: millis(Timestamp::from_timestamp(hour.hour.saturating_mul(HOUR_SECS), 0)),
        celsius: hour.celsius,
        load_percent: hour.load_percent,
    });
    HostHealth {
        reported_at: millis(Some(health.at)),
        last: health.last.clone(),
        worst: shown_worst(&health.worst),
        hours: hours.collect(),
    }
}

fn shown_worst(worst: &WorstOfDay) -> HostHealthWorst {
    let day = Timestamp::from_timestamp(worst.day.saturating_mul(DAY_SECS), 0);
    HostHealthWorst {
        day: day.map_or_else(String::new, |day| day.format("%Y-%m-%d").to_string()),
        celsius: worst.celsius,
        load_percent: worst.load_percent,
        memory_percent: worst.memory_percent,
    }
}
