//! Sizes and lengths of time as the command line, the page and reasons write them.

/// Returns a size in SI units with three digits, rounded to the nearest: `480 GB`, `1.92 TB`, `43.6 MB`. The only form
/// of a disk's size in tables, details and reasons. If rounding makes two sizes look equal, the caller states the
/// difference.
pub fn si_size(bytes: i64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let last_digit = 10_i128.pow(bytes.ilog10() - 2);
    let rounded = (i128::from(bytes) + last_digit / 2) / last_digit * last_digit;
    let thousands = rounded.ilog10() / 3;
    let unit = 1000_i128.pow(thousands);
    let (whole, hundredths) = (rounded / unit, rounded % unit * 100 / unit);
    let name = UNITS[thousands as usize];
    match format!("{hundredths:02}").trim_end_matches('0') {
        "" => format!("{whole} {name}"),
        decimals => format!("{whole}.{decimals} {name}"),
    }
}

/// Memory in binary units, as it is sold: `256 GiB`, `3.8 GiB`.
pub fn gib(bytes: i64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    match gib {
        10.0.. => format!("{gib:.0} GiB"),
        _ => format!("{gib:.1} GiB"),
    }
}

/// A number of seconds in the largest unit of which it has two, rounded down, with the name of that unit as it is given.
pub fn in_largest_unit(seconds: u64, [s, min, h, d]: [&str; 4]) -> String {
    match seconds {
        0..120 => format!("{seconds}{s}"),
        120..7200 => format!("{}{min}", seconds / 60),
        7200..172_800 => format!("{}{h}", seconds / 3600),
        _ => format!("{}{d}", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits_and_are_rounded_to_the_nearest() {
        for (bytes, text) in [
            (0, "0 B"),
            (-5, "-5 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (43_574_272, "43.6 MB"),
            (999_499_999, "999 MB"),
            (999_500_000, "1 GB"),
            (1_004_999_999, "1 GB"),
            (1_005_000_000, "1.01 GB"),
            (8_000_000_000, "8 GB"),
            (9_994_999_999, "9.99 GB"),
            (9_995_000_000, "10 GB"),
            (49_960_000_000, "50 GB"),
            (99_949_999_999, "99.9 GB"),
            (99_950_000_000, "100 GB"),
            (128_849_018_880, "129 GB"),
            (480_103_981_056, "480 GB"),
            (1_920_383_410_176, "1.92 TB"),
            (i64::MAX, "9.22 EB"),
        ] {
            assert_eq!(si_size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn memory_has_one_decimal_below_ten() {
        for (bytes, text) in [
            (34_359_738_368, "32 GiB"),
            (4_100_000_000, "3.8 GiB"),
            (10 << 30, "10 GiB"),
            (0, "0.0 GiB"),
        ] {
            assert_eq!(gib(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn a_length_of_time_has_its_largest_unit() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7199, "119m"),
            (7200, "2h"),
            (172_799, "47h"),
            (172_800, "2d"),
        ] {
            assert_eq!(in_largest_unit(seconds, ["s", "m", "h", "d"]), text, "{seconds}");
        }
    }
}
