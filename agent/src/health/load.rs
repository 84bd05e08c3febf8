//! Reads load, memory in use and the time of the boot. Source: proc(5).

use crate::root::Root;

/// Seconds since 1970.
pub(super) fn booted_at(root: &Root) -> Option<i64> {
    let text = root.text("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// The load of the last five minutes in percent of the processors that are online.
pub(super) fn load_percent(root: &Root) -> Option<u32> {
    let text = root.text("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
    let processors = online(&root.text("/sys/devices/system/cpu/online").ok()?)?;
    let percent = (load * 100.0 / f64::from(processors)).round();
    // A cast of a float ends at the limits of the number.
    (percent >= 0.0).then_some(percent as u32)
}

/// The number of processors in a list such as `0-3,8`.
fn online(list: &str) -> Option<u32> {
    let mut number = 0_u32;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        number = number.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (number > 0).then_some(number)
}

/// The memory that is not available to programs, percent.
pub(super) fn memory_percent(root: &Root) -> Option<u8> {
    let text = root.text("/proc/meminfo").ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let (total, available) = (kilobytes("MemTotal:")?, kilobytes("MemAvailable:")?);
    let used = total.checked_sub(available)?;
    u8::try_from(used.checked_mul(100)?.checked_div(total)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_in_lists_of_ranges() {
        for (list, number) in [
            ("0", Some(1)),
            ("0-7", Some(8)),
            ("0-3,8,10-11", Some(7)),
            ("", None),
            ("3-1", None),
            ("x", None),
        ] {
            assert_eq!(online(list), number, "{list}");
        }
    }
}
