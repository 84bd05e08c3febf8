//! Limits the tests with running machines, over all test programs on this computer, to two: software emulation keeps a
//! core busy. A test with several machines has one slot for all of them: it is better if machines share their cores
//! than if tests wait for both slots.

use std::fs::File;
use std::time::Duration;

use crate::artifacts::lock_file;

const NAMES: [&str; 2] = ["machine-slot-0", "machine-slot-1"];

/// The right to run machines; given back when dropped.
#[derive(Debug)]
pub struct Slots {
    _held: Vec<File>,
}

impl Slots {
    /// Waits for one of the slots.
    pub fn one() -> Self {
        let files = NAMES.map(lock_file);
        loop {
            if let Some(at) = files.iter().position(|file| file.try_lock().is_ok()) {
                let held = files.into_iter().nth(at).into_iter().collect();
                return Self { _held: held };
            }
            // The first free slot is unknown, and a lock cannot be awaited together with another.
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The right to run one more machine of a scenario that holds a slot or all.
    #[must_use]
    pub fn with(&self) -> Self {
        Self { _held: Vec::new() }
    }

    /// Waits until no other machine runs, and prevents others from starting: for measurements.
    pub fn all() -> Self {
        let held = NAMES.map(|name| {
            let file = lock_file(name);
            file.lock().unwrap_or_else(|error| panic!("lock {name}: {error}"));
            file
        });
        Self { _held: held.into() }
    }
}
