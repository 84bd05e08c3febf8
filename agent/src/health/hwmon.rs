//! Reads temperatures and fans. Source: Documentation/hwmon/sysfs-interface.rst of Linux.
//!
//! Of each chip one temperature is taken for each limit, the highest: a processor has one for each core.

use std::collections::BTreeMap;
use std::time::Duration;

use muster_api::steps::{HealthFan, HealthTemperature};

use crate::inventory::disks::patience;
use crate::root::Root;

const CHIPS: &str = "/sys/class/hwmon";
/// Chips that are read: one for each disk, card and processor.
const MAX_CHIPS: usize = 128;
/// A chip without a response for this long is left out: that of an NVMe disk waits for its controller.
const PATIENCE: Duration = Duration::from_secs(3);
/// Temperatures and fans that are reported.
const MAX_SENSORS: usize = 32;
/// Temperatures outside of these are of sensors that are not connected, °C.
const PLAUSIBLE: std::ops::RangeInclusive<i64> = -40..=150;
/// Limits from this on are none: chips without one have the largest number that fits, °C.
const NO_LIMIT: i64 = 150;

/// The sensors of a machine, in the order of their chips.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sensors {
    pub temperatures: Vec<HealthTemperature>,
    pub fans: Vec<HealthFan>,
}

pub(super) fn sensors(root: &Root) -> Sensors {
    let mut chips = root.list(CHIPS).unwrap_or_default();
    chips.truncate(MAX_CHIPS);
    let of_chips: Vec<Sensors> = if root.answers_for_this_machine() {
        let answers = patience::each("sensors", chips, PATIENCE, |chip| of_chip(&Root::live(), chip));
        answers.into_iter().flatten().collect()
    } else {
        chips.iter().map(|chip| of_chip(root, chip)).collect()
    };
    let mut sensors = Sensors::default();
    for chip in of_chips {
        sensors.temperatures.extend(chip.temperatures);
        sensors.fans.extend(chip.fans);
    }
    sensors.temperatures.sort_by(|a, b| a.sensor.cmp(&b.sensor));
    sensors.fans.sort_by(|a, b| a.sensor.cmp(&b.sensor));
    sensors.temperatures.truncate(MAX_SENSORS);
    sensors.fans.truncate(MAX_SENSORS);
    sensors
}

fn of_chip(root: &Root, chip: &str) -> Sensors {
    let folder = format!("{CHIPS}/{chip}");
    let Some(name) = name(root, &folder) else {
        return Sensors::default();
    };
    let files = root.list(&folder).unwrap_or_default();
    Sensors {
        temperatures: hottest(root, &folder, &files, &name),
        fans: fans(root, &folder, &files, &name),
    }
}

/// The name of the chip and that of its device, once where one begins with the other: `coretemp.0`, `k10temp 0000:00:18.3`.
fn name(root: &Root, folder: &str) -> Option<String> {
    let chip = root.text(&format!("{folder}/name")).ok()?;
    let link = root.link(&format!("{folder}/device")).unwrap_or_default();
    let device = link.rsplit('/').next().unwrap_or_default();
    Some(match device {
        "" => chip,
        device if device.starts_with(&chip) => device.to_owned(),
        device => format!("{chip} {device}"),
    })
}

/// The names of the sensors of a kind (`temp`, `fan`): `temp1`, `temp2`.
fn inputs<'a>(files: &'a [String], kind: &'a str) -> impl Iterator<Item = &'a str> {
    files.iter().filter_map(move |file| {
        let sensor = file.strip_suffix("_input")?;
        let number = sensor.strip_prefix(kind)?;
        number.parse::<u32>().is_ok().then_some(sensor)
    })
}

fn number(root: &Root, folder: &str, file: &str) -> Option<i64> {
    root.text(&format!("{folder}/{file}")).ok()?.parse().ok()
}

/// Millidegrees to degrees, rounded.
fn degrees(milli: i64) -> i64 {
    milli.saturating_add(500).div_euclid(1000)
}

/// The hottest sensors of a chip, one of each limit: which of several limits is the nearest would change from minute to minute.
fn hottest(root: &Root, folder: &str, files: &[String], name: &str) -> Vec<HealthTemperature> {
    let mut by_limit: BTreeMap<Option<i64>, i64> = BTreeMap::new();
    for sensor in inputs(files, "temp") {
        let degrees_of = |kind: &str| number(root, folder, &format!("{sensor}_{kind}")).map(degrees);
        let Some(celsius) = degrees_of("input").filter(|celsius| PLAUSIBLE.contains(celsius)) else {
            continue;
        };
        let is_limit = |limit: &i64| *limit > 0 && *limit < NO_LIMIT;
        let limit = ["crit", "max"]
            .into_iter()
            .find_map(|kind| degrees_of(kind).filter(is_limit));
        let highest = by_limit.entry(limit).or_insert(celsius);
        *highest = celsius.max(*highest);
    }
    let is_single = by_limit.len() == 1;
    let sensor = |limit: Option<i64>| match limit {
        Some(limit) if !is_single => format!("{name} ({limit} °C)"),
        _ => name.to_owned(),
    };
    let small = |number: i64| i16::try_from(number).ok();
    by_limit
        .into_iter()
        .filter_map(|(limit, celsius)| {
            Some(HealthTemperature {
                sensor: sensor(limit),
                celsius: small(celsius)?,
                limit: limit.and_then(small),
            })
        })
        .collect()
}

fn fans(root: &Root, folder: &str, files: &[String], name: &str) -> Vec<HealthFan> {
    inputs(files, "fan")
        .filter_map(|sensor| {
            let label = root.text(&format!("{folder}/{sensor}_label"));
            let label = label.ok().filter(|label| !label.is_empty());
            let rpm = number(root, folder, &format!("{sensor}_input"))?;
            Some(HealthFan {
                sensor: format!("{name} {}", label.as_deref().unwrap_or(sensor)),
                rpm: u32::try_from(rpm).ok()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn temperatures(files: &[(&str, &str)]) -> Vec<(i16, Option<i16>)> {
        let mut machine = Machine::new().file("/sys/class/hwmon/hwmon3/name", "chip\n");
        for (file, text) in files {
            machine = machine.file(&format!("/sys/class/hwmon/hwmon3/{file}"), text);
        }
        let found = sensors(&machine.root()).temperatures;
        found.iter().map(|one| (one.celsius, one.limit)).collect()
    }

    #[test]
    fn of_a_chip_the_hottest_sensor_of_each_limit_counts() {
        let files = [
            ("temp1_input", "90000"),
            ("temp1_crit", "110000"),
            ("temp2_input", "70000"),
            ("temp2_max", "75000"),
            ("temp3_input", "99000"),
            ("temp4_input", "69000"),
            ("temp4_max", "75000"),
        ];
        let found = [(99, None), (90, Some(110)), (70, Some(75))];
        assert_eq!(temperatures(&files), found);
        assert_eq!(temperatures(&files[4..5]), [(99, None)]);
    }

    #[test]
    fn limits_that_are_none_and_sensors_without_a_cable_do_not_count() {
        let files = [
            ("temp1_input", "-128000"),
            ("temp2_input", "30000"),
            ("temp2_crit", "65261850"),
            ("temp2_max", "0"),
            ("temp3_input", "none"),
        ];
        assert_eq!(temperatures(&files), [(30, None)]);
    }

    #[test]
    fn a_name_has_the_device_once() {
        for (chip, device, expected) in [
            ("nvme", "../../nvme0", "nvme0"),
            ("k10temp", "../../../0000:00:18.3", "k10temp 0000:00:18.3"),
        ] {
            let machine = Machine::new()
                .file("/sys/class/hwmon/hwmon0/name", chip)
                .link("/sys/class/hwmon/hwmon0/device", device);
            let name = name(&machine.root(), "/sys/class/hwmon/hwmon0");
            assert_eq!(name.as_deref(), Some(expected));
        }
    }
}
