//! Kernel settings, orphaned children, and the end of the machine.

use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::reboot::{RebootMode, reboot, set_cad_enabled};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tracing::{error, info, warn};

use super::{mounts, watchdog};
use crate::config::live::KernelArguments;
use crate::inventory::trouble::last_panic;
use crate::net::arp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Reboot,
    PowerOff,
}

impl Ending {
    /// The key of SysRq that does it without a call to any driver.
    fn at_once(self) -> &'static str {
        match self {
            Self::Reboot => "b",
            Self::PowerOff => "o",
        }
    }
}

/// Runs `work` on a thread of its own and waits for it until the deadline. True when it ended.
fn within(deadline: Duration, work: impl FnOnce() + Send + 'static) -> bool {
    let (ended, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().spawn(move || {
        work();
        // The receiver may be gone.
        let _ = ended.send(());
    });
    thread.is_ok() && receiver.recv_timeout(deadline).is_ok()
}

/// Time for unwritten data.
const SYNC_DEADLINE: Duration = Duration::from_secs(5);
/// Time for the kernel to end the machine: drivers wait for their devices.
const END_DEADLINE: Duration = Duration::from_secs(60);

/// Sets up the kernel: Ctrl-Alt-Del signals process 1 instead of resetting at once; a panic, which an error in the kernel is, too,
/// restarts the machine. A task that hangs does not: a sick disk is no reason to restart.
pub fn prepare() {
    if let Err(error) = set_cad_enabled(false) {
        warn!("Ctrl-Alt-Del resets the machine: {error}");
    }
    // The screen belongs to the agent; only fatal kernel messages appear on it.
    let _ = std::fs::write("/proc/sys/kernel/printk", "2");
    arp::answer_strictly();
    if !KernelArguments::of_this_boot().has("panic") {
        let _ = std::fs::write("/proc/sys/kernel/panic", "60");
    }
    let _ = std::fs::write("/proc/sys/kernel/panic_on_oops", "1");
    if let Err(error) = nix::unistd::sethostname("localhost") {
        warn!("host name: {error}");
    }
}

/// Reaps every child that has ended. The agent waits only for the rescue shell and the SSH server, and it does
/// no harm if they are reaped here first.
pub fn reap() {
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => {
                warn!("children: {error}");
                return;
            }
        }
    }
}

/// Reads how the previous boot ended, for inventory and logs.
pub fn read_last_panic() {
    mounts::panic_store();
    match last_panic::take(Path::new(mounts::PANICS), Path::new("/run/muster")) {
        Ok(true) => warn!("the boot before this one ended with a panic of the kernel"),
        Ok(false) => {}
        Err(error) => info!("no store of the kernel's last words: {error}"),
    }
}

/// Ends the machine, whatever its disks do.
pub fn end(ending: Ending) -> ! {
    info!(?ending, "the machine ends");
    within(SYNC_DEADLINE, nix::unistd::sync);
    watchdog::stop();
    let fallback = std::thread::Builder::new()
        .name("last resort".to_owned())
        .spawn(move || {
            std::thread::sleep(END_DEADLINE);
            let _ = std::fs::write("/proc/sysrq-trigger", ending.at_once());
        });
    if let Err(error) = fallback {
        warn!("a driver that hangs would hold up the end: {error}");
    }
    let mode = match ending {
        Ending::Reboot => RebootMode::RB_AUTOBOOT,
        Ending::PowerOff => RebootMode::RB_POWER_OFF,
    };
    loop {
        let Err(error) = reboot(mode);
        error!("the machine does not end: {error}");
        std::thread::sleep(Duration::from_secs(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_not_waited_for_beyond_its_deadline() {
        assert!(within(Duration::from_secs(30), || {}));
        let hangs = || std::thread::sleep(Duration::from_secs(600));
        assert!(!within(Duration::from_millis(50), hangs));
    }
}
