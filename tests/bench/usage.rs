//! Measures CPU time and memory of a process and its children.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System};

/// CPU seconds (user and system) of a process and its living children.
pub fn cpu_seconds(pid: u32) -> f64 {
    let milliseconds = family(pid, |process| process.accumulated_cpu_time());
    #[expect(clippy::cast_precision_loss, reason = "far fewer milliseconds than 2^52")]
    {
        milliseconds.into_iter().sum::<u64>() as f64 / 1e3
    }
}

/// Memory of a process and its living children, MB (10^6 bytes); shared pages are counted once. `sysinfo` has
/// no proportional set size.
pub fn family_mb(pid: u32) -> f64 {
    let of_one = |pid: Pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let processes = family(pid, Process::pid);
    processes.into_iter().map(of_one).sum::<f64>() * 1024.0 / 1e6
}

/// Resident memory of a process, MB (10^6 bytes).
pub fn resident_mb(pid: u32) -> f64 {
    let pid = Pid::from_u32(pid);
    let mut system = System::new().expect("Linux has processes to list");
    let memory = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, memory);
    #[expect(clippy::cast_precision_loss, reason = "far fewer bytes than 2^52")]
    system
        .process(pid)
        .map_or(0.0, |process| process.memory() as f64 / 1e6)
}

/// A figure of a process and of each of its children, those that it has now.
fn family<T>(pid: u32, figure: impl Fn(&Process) -> T) -> Vec<T> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new().expect("Linux has processes to list");
    let cpu = ProcessRefreshKind::nothing().with_cpu().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, cpu);
    let processes = system.processes().values();
    let related = processes.filter(|process| process.pid() == pid || process.parent() == Some(pid));
    related.map(figure).collect()
}

/// Resident memory of a process while something was done, MB.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    /// The most that was seen.
    pub most: f64,
    /// The median of the last quarter of the time.
    pub last: f64,
}

/// Samples the memory of a process a hundred times a second while `work` runs.
pub fn resident_while<T>(pid: u32, work: impl FnOnce() -> T) -> (Resident, T) {
    let done = Arc::new(AtomicBool::new(false));
    let watching: JoinHandle<Vec<f64>> = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut seen = vec![resident_mb(pid)];
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
                seen.push(resident_mb(pid));
            }
            seen
        }
    });
    let result = work();
    done.store(true, Ordering::Relaxed);
    let seen = watching.join().expect("reading /proc does not panic");
    let mut last = seen[seen.len() * 3 / 4..].to_vec();
    last.sort_by(f64::total_cmp);
    let resident = Resident {
        most: seen.iter().copied().fold(0.0, f64::max),
        last: last[last.len() / 2],
    };
    (resident, result)
}
