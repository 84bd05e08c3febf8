//! How far the erasure of disks is, for the console.

/// A coarse step, so that a serial console does not fill.
const STEP: i128 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasureView {
    pub disks: usize,
    /// A multiple of 5.
    pub percent: u8,
}

impl ErasureView {
    /// So many disks, of which `done` of `total` bytes are erased.
    pub fn of(disks: usize, done: i128, total: i128) -> Self {
        let percent = (done * 100).checked_div(total).unwrap_or(0) / STEP * STEP;
        Self {
            disks,
            percent: u8::try_from(percent.clamp(0, 100)).unwrap_or(100),
        }
    }

    /// The line for the screen.
    pub fn line(self) -> String {
        let disks = match self.disks {
            1 => "one disk".to_owned(),
            many => format!("{many} disks"),
        };
        format!("{disks}, {} %; do not switch off", self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_in_coarse_steps() {
        let line = |disks, done, total| ErasureView::of(disks, done, total).line();
        assert_eq!(line(1, 0, 0), "one disk, 0 %; do not switch off");
        assert_eq!(line(3, 449, 1000), "3 disks, 40 %; do not switch off");
        assert_eq!(ErasureView::of(1, 7, 7).percent, 100);
    }
}
