//! Writes sizes for users.

/// In SI units with up to three decimals, rounded up: `480 GB`, `1.921 TB`. Rounding up keeps a disk that is a little too small from
/// appearing half its size; where that makes two sizes look equal, the caller names the difference.
pub fn si_size(bytes: i64) -> String {
    const UNITS: [(i64, &str); 6] = [
        (1_000_000_000_000_000_000, "EB"),
        (1_000_000_000_000_000, "PB"),
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1_000, "kB"),
    ];
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let (unit, bytes) = (i128::from(unit), i128::from(bytes));
    let thousandths = (bytes * 1000 + unit - 1) / unit;
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    let decimals = format!("{rest:03}");
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() {
        format!("{whole} {name}")
    } else {
        format!("{whole}.{decimals} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::si_size;

    #[test]
    fn sizes_are_rounded_up_to_three_decimals() {
        assert_eq!(si_size(0), "0 B");
        assert_eq!(si_size(999), "999 B");
        assert_eq!(si_size(8_000_000_000), "8 GB");
        assert_eq!(si_size(1_920_383_410_176), "1.921 TB");
        assert_eq!(si_size(49_999_999_999), "50 GB");
        assert_eq!(si_size(i64::MAX), "9.224 EB");
        assert_eq!(si_size(-5), "-5 B");
    }
}
