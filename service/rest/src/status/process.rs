//! Measures this process, under the names that Prometheus' own client libraries use.

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Resources in use by this process.
pub struct ProcessUsage {
    /// Resident memory, bytes.
    pub memory_bytes: u64,
    /// CPU time since the start, whole seconds: counters of the metrics library are integers.
    pub cpu_seconds: u64,
    /// Open files and sockets.
    pub open_files: usize,
}

impl ProcessUsage {
    /// The present usage; `None` when `/proc` cannot be read.
    pub fn read() -> Option<Self> {
        let pid = Pid::from_u32(std::process::id());
        let mut system = System::new().ok()?;
        let what = ProcessRefreshKind::nothing().with_memory().with_cpu();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
        let process = system.process(pid)?;
        Some(Self {
            memory_bytes: process.memory(),
            cpu_seconds: process.accumulated_cpu_time() / 1000,
            open_files: process.open_files()?,
        })
    }
}

/// Records the usage of this process.
pub fn record_process() {
    let Some(usage) = ProcessUsage::read() else { return };
    metrics::gauge!("process_resident_memory_bytes").set(usage.memory_bytes as f64);
    metrics::counter!("process_cpu_seconds_total").absolute(usage.cpu_seconds);
    metrics::gauge!("process_open_fds").set(usage.open_files as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_open_files() {
        let before = ProcessUsage::read().unwrap();
        assert!(before.memory_bytes > 1_000_000);
        let _file = std::fs::File::open("/proc/self/stat").unwrap();
        assert!(ProcessUsage::read().unwrap().open_files >= 3);
    }
}
