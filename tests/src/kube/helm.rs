//! `helm`, as users type it, with the chart of `make manifests`: nothing leaves this computer.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::clusterctl::{finish, isolated};
use super::control_plane::ControlPlane;
use super::programs::program;
use crate::artifacts::project_root;
use crate::process::{output_within, run};

/// It installs kinds and waits for them.
const LIMIT: Duration = Duration::from_secs(300);

/// Helm for one cluster, and a folder with the chart.
pub struct Helm {
    kubeconfig: PathBuf,
    folder: TempDir,
}

impl Helm {
    /// # Panics
    /// If the chart cannot be made.
    #[track_caller]
    pub fn new(plane: &ControlPlane) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-helm-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let mut script = Command::new(project_root().join(".ci/chart"));
        run(script.arg(folder.path()).env("KUBECTL", program("kubectl")));
        Self {
            kubeconfig: plane.kubeconfig(),
            folder,
        }
    }

    /// Runs it in the folder where the chart is `./muster`; returns what it prints.
    ///
    /// # Panics
    /// If it fails; shows its output.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        finish(&mut self.command(arguments)).0
    }

    /// Runs it, whatever its status.
    ///
    /// # Panics
    /// If it does not end in time.
    #[track_caller]
    pub fn try_run(&self, arguments: &[&str]) -> Output {
        output_within(self.command(arguments).stdin(Stdio::piped()), b"", LIMIT)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut helm = isolated("helm", self.folder.path());
        helm.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        helm
    }
}
