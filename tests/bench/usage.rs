//! What a process and its children have used: CPU time and memory, from `/proc`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};

/// CPU seconds (user and system) of a process and its children, those that have ended included.
pub fn cpu_seconds(pid: u32) -> f64 {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    let ticks: u64 = family(pid).into_iter().map(ticks).sum();
    #[expect(clippy::cast_precision_loss, reason = "far fewer ticks than 2^52")]
    {
        ticks as f64 / per_second as f64
    }
}

/// Memory of a process and its living children, MB (10^6 bytes); what they share is counted once.
pub fn family_mb(pid: u32) -> f64 {
    let of_one = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    family(pid).into_iter().map(of_one).sum::<f64>() * 1024.0 / 1e6
}

/// Resident memory of a process, MB (10^6 bytes).
pub fn resident_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0 / 1e6
}

/// Resident memory of a process while something was done, MB.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    /// The most that was seen.
    pub most: f64,
    /// The median of the last quarter of the time.
    pub last: f64,
}

/// What a process keeps in memory while `work` is done; looked at a hundred times a second.
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

fn family(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    std::iter::once(pid).chain(children).collect()
}

/// Fields 14 to 17 of `/proc/PID/stat` (its own time, and that of children that were waited for); the name before them stands in parentheses and may hold spaces.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}
