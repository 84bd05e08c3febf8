//! Sets the battery-backed clock from the system's, so that an installed system starts with a time by which certificates are
//! valid. Source: rtc(4).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use chrono::{DateTime, Datelike, Timelike, Utc};

use crate::passthrough::checked;

const DEVICE: &str = "/dev/rtc0";
/// `_IOW('p', 0x0a, struct rtc_time)`
const RTC_SET_TIME: libc::c_ulong = 0x4024_700a;

/// `struct rtc_time`
#[repr(C)]
#[derive(Debug, Default, PartialEq, Eq)]
struct RtcTime {
    second: i32,
    minute: i32,
    hour: i32,
    day: i32,
    /// From 0.
    month: i32,
    /// From 1900.
    year: i32,
    unused: [i32; 3],
}

const _: () = assert!(size_of::<RtcTime>() == 36);

/// Sets it to the system's time, in UTC.
///
/// # Errors
/// Fails if the machine has no such clock, or if the device refuses the time.
pub fn set_to_system_time() -> io::Result<()> {
    let device = File::open(DEVICE)?;
    set(&device, &of(Utc::now()))
}

fn of(time: DateTime<Utc>) -> RtcTime {
    let small = |number: u32| i32::try_from(number).unwrap_or(0);
    RtcTime {
        second: small(time.second()),
        minute: small(time.minute()),
        hour: small(time.hour()),
        day: small(time.day()),
        month: small(time.month0()),
        year: time.year() - 1900,
        unused: [0; 3],
    }
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn set(device: &File, time: &RtcTime) -> io::Result<()> {
    // SAFETY: the kernel reads a struct of this layout, which outlives the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), RTC_SET_TIME as _, std::ptr::from_ref(time)) };
    checked(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_counts_months_from_zero_and_years_from_1900() {
        let time = "2026-11-22T07:08:09Z".parse().unwrap();
        let expected = RtcTime {
            second: 9,
            minute: 8,
            hour: 7,
            day: 22,
            month: 10,
            year: 126,
            unused: [0; 3],
        };
        assert_eq!(of(time), expected);
    }
}
