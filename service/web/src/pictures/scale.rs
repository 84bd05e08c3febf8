//! Lengths to scale: numbers to places on a line.

/// A part of a line, in the units of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    pub x: u32,
    pub width: u32,
}

impl Bar {
    pub fn middle(self) -> u32 {
        self.x + self.width / 2
    }
}

/// A line for values from `first` to `last`, of this width.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub first: i64,
    pub last: i64,
    pub width: u32,
}

impl Scale {
    /// The place of a value; one beyond an end is at that end. All values have place 0 where the line has no length.
    pub fn place(self, value: i64) -> u32 {
        let length = i128::from(self.last) - i128::from(self.first);
        if length <= 0 {
            return 0;
        }
        let value = i128::from(value.clamp(self.first, self.last)) - i128::from(self.first);
        u32::try_from(value * i128::from(self.width) / length).unwrap_or(self.width)
    }

    /// The part of the line between two values; `None`: it is outside of the line. Parts that follow one another have no gap.
    pub fn part(self, from: i64, to: i64) -> Option<Bar> {
        if to < self.first || from > self.last {
            return None;
        }
        let (x, end) = (self.place(from), self.place(to));
        Some(Bar {
            x,
            width: end.saturating_sub(x),
        })
    }
}

/// The length of `value`, where `largest` has the whole `width`. What is not zero has a length of 1 at least.
pub fn length(value: u64, largest: u64, width: u32) -> u32 {
    if value == 0 || largest == 0 {
        return 0;
    }
    let length = u128::from(value.min(largest)) * u128::from(width) / u128::from(largest);
    u32::try_from(length).unwrap_or(width).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Scale = Scale {
        first: 1_000,
        last: 2_000,
        width: 300,
    };

    #[test]
    fn places_are_to_scale_and_stay_on_the_line() {
        assert_eq!(
            [0, 1_000, 1_500, 2_000, i64::MAX].map(|value| LINE.place(value)),
            [0, 0, 150, 300, 300]
        );
        let whole = Scale {
            first: i64::MIN,
            last: i64::MAX,
            width: 10,
        };
        assert_eq!(
            [i64::MIN, 0, i64::MAX].map(|value| whole.place(value)),
            [0, 5, 10]
        );
        let none = Scale {
            first: 5,
            last: 5,
            width: 10,
        };
        assert_eq!(none.place(5), 0);
    }

    #[test]
    fn a_part_ends_where_the_next_begins() {
        let times = [900, 1_003, 1_334, 1_667, 1_668, 2_100];
        let parts: Vec<Bar> = times
            .windows(2)
            .filter_map(|pair| LINE.part(pair[0], pair[1]))
            .collect();
        assert_eq!(parts.len(), 5);
        for pair in parts.windows(2) {
            assert_eq!(pair[0].x + pair[0].width, pair[1].x);
        }
        assert_eq!((parts[0].x, parts[4].x + parts[4].width), (0, 300));
        assert_eq!(LINE.part(0, 999), None);
        assert_eq!(LINE.part(2_001, 3_000), None);
    }

    #[test]
    fn lengths_are_to_scale() {
        assert_eq!(length(480, 960, 100), 50);
        assert_eq!((length(1, u64::MAX, 100), length(0, 9, 100)), (1, 0));
        assert_eq!((length(9, 9, 100), length(10, 9, 100)), (100, 100));
    }
}
