//! Detects that every disk present at power-on has been found. Drivers probe their devices asynchronously
//! (`async_probe`, scans of ports and buses), and no file reports that they are done.
//!
//! The kernel's barrier does: loading or removing a module without `async_probe` waits until nothing is being
//! probed any more (`async_synchronize_full` in `do_init_module` and `delete_module`, kernel/module/main.c).
//! `isofs` serves, which no device needs. A disk may need several rounds: its controller's driver finds it,
//! and only then is the driver requested that makes it a block device. So storage has settled when, after a
//! barrier, no driver waits to be loaded, no NVMe controller is starting, and no device has appeared for a
//! while.

use std::ffi::CStr;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use nix::kmod::{DeleteModuleFlags, ModuleInitFlags, delete_module, finit_module};
use tracing::info;

/// A module that depends on no device and is requested by none.
pub(super) const BARRIER: &str = "isofs";
const BARRIER_C: &CStr = c"isofs";
/// Time without a new device after a barrier: events of devices that the barrier waited for have arrived by
/// then.
const QUIET: Duration = Duration::from_millis(150);
/// Interval between two checks for drivers that wait.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Counters of the work in progress.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Drivers that wait to be loaded or are being loaded.
    tasks: AtomicUsize,
    /// Devices that have appeared so far.
    arrivals: AtomicU64,
}

impl Pending {
    pub(super) fn task_added(&self) {
        self.tasks.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn task_done(&self) {
        self.tasks.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn device_came(&self) {
        self.arrivals.fetch_add(1, Ordering::SeqCst);
    }

    fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::SeqCst)
    }

    fn is_idle(&self) -> bool {
        self.tasks.load(Ordering::SeqCst) == 0
    }
}

/// Waits until storage has settled. `barrier` is the file of [`BARRIER`] unless it is built into the kernel.
/// A disk that never answers blocks this for ever: callers have a time limit of their own.
pub(super) fn wait_until_settled(pending: &Pending, barrier: Option<&Path>) {
    let mut rounds = 0;
    loop {
        while !pending.is_idle() {
            std::thread::sleep(CHECK_INTERVAL);
        }
        let before = pending.arrivals();
        if let Some(file) = barrier {
            wait_for_probes(file);
        }
        std::thread::sleep(QUIET);
        rounds += 1;
        if pending.arrivals() == before && pending.is_idle() && !nvme_is_coming(Path::new("/sys/class/nvme"))
        {
            info!(rounds, "storage has settled");
            return;
        }
    }
}

/// Waits until the kernel probes nothing any more.
fn wait_for_probes(file: &Path) {
    // In use when a medium is mounted, absent the first time: then loading it, or this alone, is the barrier.
    let _ = delete_module(BARRIER_C, DeleteModuleFlags::O_NONBLOCK);
    let loaded = File::open(file).map(|file| finit_module(&file, c"", ModuleInitFlags::empty()));
    if let Err(error) = loaded {
        info!(module = BARRIER, "not loaded: {error}");
    }
}

/// NVMe controllers start on a work queue that the barrier does not cover.
fn nvme_is_coming(class: &Path) -> bool {
    std::fs::read_dir(class)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|controller| std::fs::read_to_string(controller.path().join("state")).ok())
        .any(|state| matches!(state.trim_end(), "new" | "resetting" | "connecting"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn storage_settles_when_no_driver_waits_and_no_device_comes() {
        let pending = Arc::new(Pending::default());
        pending.task_added();
        let (sender, receiver) = channel();
        let waiting = Arc::clone(&pending);
        std::thread::spawn(move || {
            wait_until_settled(&waiting, None);
            sender.send(()).unwrap();
        });
        // Each new device restarts the quiet time.
        for _ in 0..3 {
            assert!(receiver.recv_timeout(QUIET / 2).is_err());
            pending.device_came();
        }
        assert!(receiver.recv_timeout(QUIET * 2).is_err(), "a driver waits");
        pending.task_done();
        receiver.recv_timeout(Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn an_nvme_controller_that_starts_is_waited_for_and_a_dead_one_is_not() {
        let class = tempfile::tempdir().unwrap();
        for (state, coming) in [
            ("live\n", false),
            ("connecting\n", true),
            ("dead\n", false),
            ("new\n", true),
        ] {
            let controller = class.path().join("nvme0");
            std::fs::create_dir_all(&controller).unwrap();
            std::fs::write(controller.join("state"), state).unwrap();
            assert_eq!(nvme_is_coming(class.path()), coming, "{state}");
        }
        assert!(!nvme_is_coming(&class.path().join("absent")));
    }
}
