//! cloud-init itself, of Debian 13 and not installed: fetched by `.ci/cloud-init`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::artifacts::project_root;
use crate::process::{output_within, run};

/// Only reached by a program that hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The program.
#[derive(Debug, Clone)]
pub struct CloudInit {
    program: PathBuf,
}

impl CloudInit {
    /// The one that `.ci/cloud-init` fetched.
    ///
    /// # Panics
    /// If it did not; the message has the command that does.
    pub fn fetched() -> Self {
        let printed = run(Command::new(project_root().join(".ci/cloud-init")).arg("--where"));
        Self {
            program: printed.trim().into(),
        }
    }

    /// What its schema refuses of a cloud-config, which is no template: its own words; `None`: nothing.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn refuses(&self, config: &str) -> Option<String> {
        let file = tempfile::NamedTempFile::with_suffix(".yaml").expect("a temporary file");
        std::fs::write(file.path(), config).expect("a file can be written");
        let mut schema = Command::new(&self.program);
        schema.args(["schema", "--config-file"]).arg(file.path());
        let output = output_within(&mut schema, b"", LIMIT);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (!output.status.success() || !said.contains("Valid schema")).then_some(said)
    }
}
