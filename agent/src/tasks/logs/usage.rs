//! Reports the machine's load and memory, and the memory of this process, for `machine.logs`.
//!
//! Reads the running machine through `sysinfo` and not through [`crate::root::Root`]: these values are live by intent,
//! and no captured tree could repeat them.

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

const MIB: u64 = 1 << 20;

pub(super) fn text() -> Result<String, sysinfo::Error> {
    let mut system = System::new()?;
    system.refresh_memory();
    let load = System::load_average()?;
    Ok(format!(
        "up {} s\nload {} {} {}\nmemory: {} of {} MiB used, {} MiB by this process",
        System::uptime()?,
        load.one,
        load.five,
        load.fifteen,
        system.used_memory() / MIB,
        system.total_memory() / MIB,
        own_memory(&mut system) / MIB,
    ))
}

/// Resident bytes of this process; 0 when it cannot be read.
fn own_memory(system: &mut System) -> u64 {
    let Ok(own) = sysinfo::get_current_pid() else {
        return 0;
    };
    let what = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), false, what);
    system.process(own).map_or(0, sysinfo::Process::memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_of_a_running_machine() {
        assert!(own_memory(&mut System::new().unwrap()) > 0);
        let text = text().unwrap();
        assert!(text.starts_with("up ") && text.contains("MiB used"), "{text}");
    }
}
