//! A clock that a test can turn forward.

use std::fs;
use std::path::{Path, PathBuf};

use muster_tests::artifacts::muster_program;

/// The service with a clock that a test can turn forward: libfaketime, which reads the offset from a file.
pub struct Clock {
    offset: PathBuf,
    program: PathBuf,
    _folder: tempfile::TempDir,
}

impl Clock {
    #[track_caller]
    pub fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
        assert!(
            fs::exists(library).unwrap(),
            "{library} is missing: run `make deps` (apt package libfaketime)"
        );
        let folder = tempfile::tempdir().unwrap();
        let (offset, program) = (folder.path().join("offset"), folder.path().join("muster"));
        let script = format!(
            "#!/bin/sh\nexport LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1 \
             FAKETIME_DONT_FAKE_MONOTONIC=1\nexec {} \"$@\"\n",
            offset.display(),
            muster_program().display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let clock = Self {
            offset,
            program,
            _folder: folder,
        };
        clock.forward(0);
        clock
    }

    /// The program to serve with.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Turns the service's clock to that many seconds ahead of ours.
    pub fn forward(&self, seconds: u32) {
        // Replaced at once: a reader sees the old or the new.
        let new = self.offset.with_extension("new");
        fs::write(&new, format!("+{seconds}\n")).unwrap();
        fs::rename(new, &self.offset).unwrap();
    }
}
