//! Restarts the machine, in the way that its process 1 supports.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// `SIGRTMIN+5` to systemd starts `reboot.target`. Source: systemd(1), SIGNALS.
const SYSTEMD_REBOOT: i32 = 5;

/// A process 1, by its name, that gives no way to restart the machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("process 1 is `{0}` and not systemd; run the agent in the host's process namespace (hostPID)")]
pub struct UnknownInit(String);

/// The way to restart the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// This program is process 1, and SIGTERM reboots.
    Ourselves,
    Systemd,
}

impl Way {
    /// The way on this machine.
    ///
    /// # Errors
    /// Fails if process 1 is unknown.
    pub fn of_machine() -> Result<Self, UnknownInit> {
        let comm = std::fs::read_to_string("/proc/1/comm").unwrap_or_default();
        Self::of(std::process::id() == 1, comm.trim())
    }

    /// The way if process 1 is this program, or has this name.
    ///
    /// # Errors
    /// Fails if process 1 is unknown.
    pub fn of(process_one: bool, comm: &str) -> Result<Self, UnknownInit> {
        match comm {
            _ if process_one => Ok(Self::Ourselves),
            "systemd" => Ok(Self::Systemd),
            other => Err(UnknownInit(other.to_owned())),
        }
    }

    /// # Errors
    /// Fails if the signal is refused.
    pub fn go(self) -> nix::Result<()> {
        match self {
            Self::Ourselves => kill(Pid::this(), Signal::SIGTERM),
            Self::Systemd => send_real_time(Pid::from_raw(1), SYSTEMD_REBOOT),
        }
    }
}

#[expect(unsafe_code, reason = "nix knows no real-time signals")]
fn send_real_time(to: Pid, above_first: i32) -> nix::Result<()> {
    // SAFETY: kill takes two numbers.
    nix::errno::Errno::result(unsafe { libc::kill(to.as_raw(), libc::SIGRTMIN() + above_first) }).map(drop)
}
