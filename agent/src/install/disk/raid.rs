//! Stops a software RAID of the kernel. Source: the kernel's `Documentation/admin-guide/md.rst`, `array_state`.

use std::time::{Duration, Instant};

/// Longest wait for pending writes of the array.
const QUIET: Duration = Duration::from_secs(10);
/// States in which stopping writes to no member.
const AT_REST: [&str; 5] = ["clean", "readonly", "read-auto", "inactive", "clear"];

/// Stops the array of this kernel name once it is at rest.
///
/// # Errors
/// The reason why it does not stop.
pub fn stop(name: &str) -> Result<(), String> {
    let file = format!("/sys/class/block/{name}/md/array_state");
    let state = || std::fs::read_to_string(&file).map(|text| text.trim().to_owned());
    let began = Instant::now();
    loop {
        let present = state().map_err(|error| format!("{file}: {error}"))?;
        if AT_REST.contains(&present.as_str()) {
            break;
        }
        if began.elapsed() >= QUIET {
            return Err(format!("the RAID {name} is written to (its state is {present})"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::fs::write(&file, "clear").map_err(|error| format!("the RAID {name} does not stop: {error}"))
}
