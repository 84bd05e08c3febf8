//! Decides which changes of a machine's health are worth a report: a fleet at rest sends none, and one whose values swing sends a few an
//! hour.

use std::time::Duration;

use muster_api::steps::{HealthDisk, HealthDiskFault, HealthFan, HealthReport, HealthTemperature};

/// Changes that are not urgent are reported only when the last report is this old.
pub const QUIET: Duration = Duration::from_secs(600);
/// Boots that differ by less are one: the clock was corrected, seconds.
const SAME_BOOT_SECS: u64 = 300;
/// Percent of the processors.
const LOAD: u32 = 50;
/// Percent of the memory.
const MEMORY: u8 = 10;
/// °C.
const CELSIUS: u16 = 5;
/// Least change of a fan, turns a minute.
const RPM: u32 = 300;
/// Corrected errors of memory from which on the service has a finding; reaching them is always reported.
const MANY_CORRECTED: u64 = 100;

/// The report that stands after a measurement, where `last` has stood for `since`: `measured` where it differs from that beyond the
/// hysteresis and is urgent, or `last` is old enough; otherwise `last`.
pub fn settled(last: Option<&HealthReport>, since: Duration, measured: HealthReport) -> HealthReport {
    let stands = |last: &HealthReport| {
        let may_change = since >= QUIET || is_urgent(last, &measured);
        !may_change || !is_news(last, &measured)
    };
    match last {
        Some(last) if stands(last) => last.clone(),
        _ => measured,
    }
}

/// True if hardware has become sick since `last`: a sensor has reached its limit, a disk has a fault or its first error, memory its first
/// error that could not be corrected.
fn is_urgent(last: &HealthReport, now: &HealthReport) -> bool {
    let is_hot_now = now.temperatures.iter().filter(|one| is_hot(one)).any(|one| {
        let before = last.temperatures.iter().find(|other| other.sensor == one.sensor);
        !before.is_some_and(is_hot)
    });
    let is_sick_now = now.disks.iter().any(|disk| {
        let before = last.disks.iter().find(|other| other.name == disk.name);
        let has = |fault: &HealthDiskFault| before.is_some_and(|before| before.faults.contains(fault));
        let had_errors = before.is_some_and(|before| before.media_errors > 0);
        disk.faults.iter().any(|fault| !has(fault)) || (disk.media_errors > 0 && !had_errors)
    });
    is_hot_now || is_sick_now || (last.memory_uncorrected == 0 && now.memory_uncorrected > 0)
}

fn is_hot(one: &HealthTemperature) -> bool {
    one.limit.is_some_and(|limit| one.celsius >= limit)
}

/// True if a value has changed enough since `last` was reported.
fn is_news(last: &HealthReport, now: &HealthReport) -> bool {
    last.booted_at.abs_diff(now.booted_at) >= SAME_BOOT_SECS
        || last.bios_version != now.bios_version
        || last.load_percent.abs_diff(now.load_percent) >= LOAD
        || last.memory_percent.abs_diff(now.memory_percent) >= MEMORY
        || any_pair(&last.temperatures, &now.temperatures, is_other_temperature)
        || any_pair(&last.fans, &now.fans, is_other_fan)
        || any_pair(&last.disks, &now.disks, is_other_disk)
        || is_other_count(last.memory_corrected, now.memory_corrected)
        || last.memory_uncorrected != now.memory_uncorrected
        || last.slow_links != now.slow_links
}

/// True if the lists have different lengths, or `differs` holds for two entries of one place.
fn any_pair<T>(last: &[T], now: &[T], differs: fn(&T, &T) -> bool) -> bool {
    last.len() != now.len() || last.iter().zip(now).any(|(last, now)| differs(last, now))
}

/// Reaching a limit is reported at once, leaving it with the usual hysteresis: it does not flap.
fn is_other_temperature(last: &HealthTemperature, now: &HealthTemperature) -> bool {
    last.sensor != now.sensor
        || last.limit != now.limit
        || last.celsius.abs_diff(now.celsius) >= CELSIUS
        || (is_hot(now) && !is_hot(last))
}

/// A fan that stops or starts, or turns a quarter faster or slower.
fn is_other_fan(last: &HealthFan, now: &HealthFan) -> bool {
    let difference = last.rpm.abs_diff(now.rpm);
    last.sensor != now.sensor
        || (last.rpm == 0) != (now.rpm == 0)
        || (difference >= RPM && difference > last.rpm / 4)
}

fn is_other_disk(last: &HealthDisk, now: &HealthDisk) -> bool {
    last.name != now.name
        || last.faults != now.faults
        || last.wear_percent != now.wear_percent
        || is_other_count(last.media_errors, now.media_errors)
}

/// True for the first errors, for twice as many as were reported, and for fewer: the counter began at zero again.
fn is_other_count(last: u64, now: u64) -> bool {
    let has_reached = last < MANY_CORRECTED && now >= MANY_CORRECTED;
    now < last || (last == 0 && now > 0) || has_reached || (now > last && now / 2 >= last)
}

#[cfg(test)]
mod tests {
    use muster_api::steps::HealthLink;

    use super::*;

    fn report() -> HealthReport {
        HealthReport {
            booted_at: 1_700_000_000,
            load_percent: 20,
            memory_percent: 30,
            temperatures: vec![HealthTemperature {
                sensor: "nvme0".to_owned(),
                celsius: 78,
                limit: Some(81),
            }],
            fans: vec![HealthFan {
                sensor: "fan1".to_owned(),
                rpm: 4000,
            }],
            disks: vec![HealthDisk {
                name: "nvme0n1".to_owned(),
                wear_percent: Some(3),
                ..HealthDisk::default()
            }],
            memory_corrected: 10,
            ..HealthReport::default()
        }
    }

    fn is_reported(change: impl FnOnce(&mut HealthReport)) -> bool {
        is_reported_after(QUIET, change)
    }

    fn is_reported_after(since: Duration, change: impl FnOnce(&mut HealthReport)) -> bool {
        let (last, mut now) = (report(), report());
        change(&mut now);
        let measured = now.clone();
        let settled = settled(Some(&last), since, now);
        assert!(settled == last || settled == measured);
        settled != last
    }

    #[test]
    fn the_first_measurement_is_reported() {
        assert_eq!(settled(None, Duration::ZERO, report()), report());
    }

    #[test]
    fn small_changes_are_not_reported() {
        assert!(!is_reported(|_| {}));
        assert!(!is_reported(|now| now.booted_at += 299));
        assert!(!is_reported(|now| now.load_percent += 49));
        assert!(!is_reported(|now| now.memory_percent -= 9));
        assert!(!is_reported(|now| now.temperatures[0].celsius -= 4));
        assert!(!is_reported(|now| now.temperatures[0].celsius += 2));
        assert!(!is_reported(|now| now.fans[0].rpm -= 1000));
        assert!(!is_reported(|now| now.memory_corrected += 9));
    }

    #[test]
    fn changes_beyond_the_hysteresis_are_reported() {
        assert!(is_reported(|now| now.booted_at -= 300));
        assert!(is_reported(|now| now.bios_version = "2".to_owned()));
        assert!(is_reported(|now| now.load_percent += 50));
        assert!(is_reported(|now| now.memory_percent += 10));
        assert!(is_reported(|now| now.temperatures[0].celsius -= 5));
        assert!(is_reported(|now| now.temperatures[0].celsius += 3), "the limit");
        assert!(is_reported(|now| now.temperatures.clear()));
        assert!(is_reported(|now| now.fans[0].rpm = 0));
        assert!(is_reported(|now| now.fans[0].rpm -= 1001));
        assert!(is_reported(
            |now| now.disks[0].faults = vec![HealthDiskFault::ReadOnly]
        ));
        assert!(is_reported(|now| now.disks[0].wear_percent = Some(4)));
        assert!(is_reported(|now| now.disks[0].media_errors = 1));
        assert!(is_reported(|now| now.memory_corrected = 20));
        assert!(is_reported(|now| now.memory_corrected = 0), "counted anew");
        assert!(is_reported(|now| now.memory_uncorrected = 1));
        assert!(is_reported(|now| now.slow_links = vec![HealthLink::default()]));
    }

    #[test]
    fn what_is_urgent_is_reported_at_once_and_anything_else_when_the_last_report_is_old() {
        let at_once = |change: fn(&mut HealthReport)| is_reported_after(Duration::ZERO, change);
        assert!(at_once(|now| now.temperatures[0].celsius = 81));
        assert!(at_once(
            |now| now.disks[0].faults = vec![HealthDiskFault::ReadOnly]
        ));
        assert!(at_once(|now| now.disks[0].media_errors = 1));
        assert!(at_once(|now| now.memory_uncorrected = 1));
        assert!(!at_once(|now| now.temperatures[0].celsius = 40));
        assert!(!at_once(|now| now.temperatures.clear()));
        assert!(!at_once(|now| now.fans[0].rpm = 0));
        assert!(!at_once(|now| now.load_percent += 500));
        assert!(!at_once(|now| now.disks[0].wear_percent = Some(4)));
        assert!(!at_once(|now| now.disks.clear()));
        assert!(!at_once(|now| now.memory_corrected = 1000));
        assert!(!at_once(|now| now.slow_links = vec![HealthLink::default()]));
    }

    #[test]
    fn values_that_swing_each_minute_are_a_few_reports_an_hour() {
        let minute = Duration::from_secs(60);
        let (mut last, mut since, mut reports) = (report(), Duration::ZERO, 0);
        for number in 0..60_u32 {
            since += minute;
            let mut now = report();
            let is_even = number % 2 == 0;
            now.temperatures[0].celsius = if is_even { 90 } else { 60 };
            now.fans[0].rpm = if is_even { 0 } else { 4000 };
            now.memory_uncorrected = u64::from(number);
            now.disks[0].faults = vec![HealthDiskFault::FailurePredicted; usize::from(is_even)];
            let next = settled(Some(&last), since, now);
            if next != last {
                (last, since) = (next, Duration::ZERO);
                reports += 1;
            }
        }
        assert!(reports <= 13, "{reports}");
    }

    #[test]
    fn a_sensor_at_its_limit_does_not_flap() {
        let mut last = report();
        let mut reports = 0;
        for celsius in [81, 80, 81, 80, 79, 81, 77, 81, 76, 81] {
            let mut now = report();
            now.temperatures[0].celsius = celsius;
            let next = settled(Some(&last), QUIET, now);
            reports += usize::from(next != last);
            last = next;
        }
        assert_eq!(reports, 3, "81, 76 and 81 again");
    }

    #[test]
    fn slow_drift_is_reported_in_steps() {
        let mut last = report();
        let mut reports = 0;
        for celsius in (40..=78).rev() {
            let mut now = report();
            now.temperatures[0].celsius = celsius;
            let next = settled(Some(&last), QUIET, now);
            reports += usize::from(next != last);
            last = next;
        }
        assert_eq!(reports, 7, "at 73, 68, 63, 58, 53, 48 and 43");
    }
}
