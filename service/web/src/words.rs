//! Times and sizes as people write them, and words of commands.

use muster_api::time::Timestamp;
use muster_api::words;

/// The distance of `time` from `now` (both RFC 3339), such as `42 s ago` or `in 5 min`. A text that is no time is returned unchanged.
pub fn relative(time: &str, now: &str) -> String {
    let Some(seconds) = seconds_since(time, now) else {
        return time.to_owned();
    };
    let length = length(seconds.unsigned_abs());
    match seconds {
        ..0 => format!("in {length}"),
        0.. => format!("{length} ago"),
    }
}

/// Seconds from `time` to `now` (both RFC 3339); negative: it is still to come. `None`: one of them is no time.
fn seconds_since(time: &str, now: &str) -> Option<i64> {
    let (time, now) = (time.parse::<Timestamp>().ok()?, now.parse::<Timestamp>().ok()?);
    Some((now - time).num_seconds())
}

/// A number of seconds in its largest unit.
pub fn length(seconds: u64) -> String {
    words::in_largest_unit(seconds, [" s", " min", " h", " d"])
}

/// True if `time` (RFC 3339) is before `now`.
pub fn is_over(time: &str, now: &str) -> bool {
    let read = |text: &str| text.parse::<Timestamp>().ok();
    read(time).zip(read(now)).is_some_and(|(time, now)| time < now)
}

/// True if `time` (RFC 3339) is more than this number of minutes before `now`.
pub fn is_older(time: &str, minutes: i64, now: &str) -> bool {
    seconds_since(time, now).is_some_and(|seconds| seconds > minutes * 60)
}

/// A text as one word of a shell's command.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Memory in binary units, as it is sold; empty: not known.
pub fn memory(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => words::gib(signed(bytes)),
    }
}

/// The size of a disk in decimal units, as it is sold.
pub fn disk(bytes: u64) -> String {
    words::si_size(signed(bytes))
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The speed of a network card, Mbit/s; empty: not known.
pub fn speed(mbps: i64) -> String {
    match mbps {
        ..=0 => String::new(),
        1..1000 => format!("{mbps} Mbit/s"),
        _ => format!("{} Gbit/s", mbps as f64 / 1e3),
    }
}

/// The size of a file in decimal units.
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{bytes} bytes"),
    }
}

/// At most `most` letters of a text; what follows is `…`.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `1 host`, `2 hosts`.
pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_written_as_people_write_them() {
        let now = "2026-11-30T12:00:00.000Z";
        for (time, words) in [
            ("2026-11-30T11:59:18.000Z", "42 s ago"),
            ("2026-11-30T11:00:00Z", "60 min ago"),
            ("2026-11-20T12:00:00Z", "10 d ago"),
            ("2026-11-30T12:05:00.500Z", "in 5 min"),
            ("never", "never"),
        ] {
            assert_eq!(relative(time, now), words);
        }
        assert!(is_over("2026-11-30T11:59:18.000Z", now) && !is_over(now, now));
        assert!(is_older("2026-11-30T11:49:59.000Z", 10, now) && !is_older("2026-11-30T11:50:00Z", 10, now));
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(
            [memory(0), memory(34_359_738_368), memory(4_100_000_000)],
            ["", "32 GiB", "3.8 GiB"]
        );
        assert_eq!(
            [size(3), size(1_999), size(12_345_678)],
            ["3 bytes", "2 kB", "12.3 MB"]
        );
        assert_eq!(
            [speed(-1), speed(100), speed(2_500), speed(25_000)],
            ["", "100 Mbit/s", "2.5 Gbit/s", "25 Gbit/s"]
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!([beginning("äöü", 3), beginning("äöüß", 3)], ["äöü", "äöü…"]);
        assert_eq!(
            [disk(480_103_981_056), disk(1_920_383_410_176)],
            ["480 GB", "1.92 TB"]
        );
    }
}
