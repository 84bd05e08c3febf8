//! Stops a software RAID of the kernel. Source: the kernel's `Documentation/admin-guide/md.rst`, `array_state`.

use std::io;
use std::time::{Duration, Instant};

/// Longest wait for pending writes of the array.
const QUIET: Duration = Duration::from_secs(10);
/// States in which stopping writes to no member.
const AT_REST: [&str; 5] = ["clean", "readonly", "read-auto", "inactive", "clear"];

/// An array that is not stopped.
#[derive(Debug, thiserror::Error)]
pub enum RaidError {
    /// Its state cannot be read.
    #[error("{file}: {error}")]
    State { file: String, error: io::Error },
    /// It did not come to rest.
    #[error("the RAID {name} is written to (its state is {state})")]
    Busy { name: String, state: String },
    /// The kernel refuses to stop it.
    #[error("the RAID {name} does not stop: {error}")]
    Refused { name: String, error: io::Error },
}

/// Stops the array of this kernel name once it is at rest.
///
/// # Errors
/// [`RaidError`]
pub fn stop(name: &str) -> Result<(), RaidError> {
    let file = format!("/sys/class/block/{name}/md/array_state");
    let state = || std::fs::read_to_string(&file).map(|text| text.trim().to_owned());
    let began = Instant::now();
    loop {
        let present = state().map_err(|error| RaidError::State {
            file: file.clone(),
            error,
        })?;
        if AT_REST.contains(&present.as_str()) {
            break;
        }
        if began.elapsed() >= QUIET {
            return Err(RaidError::Busy {
                name: name.to_owned(),
                state: present,
            });
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::fs::write(&file, "clear").map_err(|error| RaidError::Refused {
        name: name.to_owned(),
        error,
    })
}
