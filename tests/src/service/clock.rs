//! A clock that a test can set.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::artifacts::muster_program;

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// The clock of programs that are started with it: libfaketime, which reads the offset from a file. The time since the
/// computer's start is unchanged.
pub struct Clock {
    offset: PathBuf,
    folder: tempfile::TempDir,
}

impl Clock {
    #[track_caller]
    pub fn start() -> Self {
        assert!(
            fs::exists(LIBRARY).unwrap(),
            "{LIBRARY} is missing: run `make deps` (apt package libfaketime)"
        );
        let folder = tempfile::tempdir().unwrap();
        // PostgreSQL reads it, too, as a user of its own.
        allow(folder.path());
        let offset = folder.path().join("offset");
        let clock = Self { offset, folder };
        clock.forward(0);
        clock
    }

    /// The service with this clock.
    pub fn program(&self) -> PathBuf {
        self.around(&muster_program())
    }

    /// A program with this clock.
    pub fn around(&self, program: &Path) -> PathBuf {
        let script = format!(
            "#!/bin/sh\nexport LD_PRELOAD={LIBRARY} FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1 \
             FAKETIME_DONT_FAKE_MONOTONIC=1\nexec {} \"$@\"\n",
            self.offset.display(),
            program.display()
        );
        // Programs of one name may be in several folders.
        let name = program.display().to_string().replace('/', "_");
        let with_clock = self.folder.path().join(name);
        fs::write(&with_clock, script).unwrap();
        allow(&with_clock);
        with_clock
    }

    /// Sets it to that many seconds ahead of ours.
    pub fn forward(&self, seconds: u32) {
        // Replaced atomically: a reader sees the old or the new file.
        let new = self.offset.with_extension("new");
        fs::write(&new, format!("+{seconds}\n")).unwrap();
        fs::rename(new, &self.offset).unwrap();
    }
}

fn allow(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
