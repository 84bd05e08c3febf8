//! Kernel settings, orphaned children, and the end of the machine.

use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::reboot::{RebootMode, reboot, set_cad_enabled};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tracing::{error, info, warn};

use crate::inventory::disks::links;
use crate::root::Root;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Reboot,
    PowerOff,
}

/// Sets up the kernel: Ctrl-Alt-Del signals process 1 instead of resetting at once.
pub fn prepare() {
    if let Err(error) = set_cad_enabled(false) {
        warn!("Ctrl-Alt-Del resets the machine: {error}");
    }
    // The screen belongs to the agent; only fatal kernel messages appear on it.
    let _ = std::fs::write("/proc/sys/kernel/printk", "2");
    if let Err(error) = nix::unistd::sethostname("localhost") {
        warn!("host name: {error}");
    }
}

/// Reaps every child that has ended. The agent waits for the end of no program but the rescue shell and the SSH server, where
/// being reaped here first does no harm.
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

/// Makes the links under `/dev/disk` that are missing or point elsewhere, and removes those of disks that are gone.
pub fn link_disks() {
    let plan = links::plan(&Root::live());
    for folder in ["/dev/disk/by-id", "/dev/disk/by-path"] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let target = std::fs::read_link(&path).unwrap_or_default();
            let wanted = plan
                .links
                .iter()
                .any(|(link, to)| Path::new(link) == path && Path::new(to) == target);
            if !wanted && !plan.is_silent(&target.to_string_lossy()) {
                let _ = std::fs::remove_file(&path);
            }
        }
    }
    for (link, target) in plan.links {
        let link = Path::new(&link);
        if link.is_symlink() {
            continue;
        }
        let made = link
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::os::unix::fs::symlink(&target, link));
        if let Err(error) = made {
            warn!(link = %link.display(), "not made: {error}");
        }
    }
}

pub fn end(ending: Ending) -> ! {
    info!(?ending, "the machine ends");
    nix::unistd::sync();
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
