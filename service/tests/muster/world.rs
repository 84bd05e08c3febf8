//! A service of one test, with the built-in Kubernetes API.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use muster_tests::kube::Kubectl;
use muster_tests::process::{Program, command};
use muster_tests::service::SERVE_ON_FREE_PORTS;
use tempfile::TempDir;

/// Time limit of a service's start, and of steps that take milliseconds on an idle machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A running service.
pub struct World {
    pub service: Program,
    url: String,
    folder: TempDir,
}

impl World {
    /// A service with running controllers.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with more arguments of `muster serve`.
    pub fn start_with(more: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("there is a temporary folder"), more)
    }

    /// Another service with the data of this one.
    pub fn start_again(self) -> Self {
        self.start_again_with(&[])
    }

    /// The same with more arguments of `muster serve`.
    pub fn start_again_with(self, more: &[&str]) -> Self {
        let Self { service, folder, .. } = self;
        drop(service);
        Self::start_in(folder, more)
    }

    fn start_in(folder: TempDir, more: &[&str]) -> Self {
        let mut serve = serve(&folder.path().join("data"));
        serve.args(more);
        let mut service = Program::start("muster serve", &mut serve, &folder.path().join("log"));
        let url = service.await_output(r"listening on (https?://\S+)", LIMIT);
        let world = Self { service, url, folder };
        await_condition("the controllers to work", LIMIT, || {
            let ready = world.rest().request("GET", "/ready", None).json();
            match ready["kubernetes"].as_str() {
                Some("ok, leading") => Ok(()),
                _ => Err(ready.to_string()),
            }
        });
        world
    }

    /// A client of REST.
    pub fn rest(&self) -> HttpClient {
        HttpClient::new(&self.url)
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The output of a command of `muster` against this service.
    pub fn muster(&self, arguments: &[&str]) -> Output {
        let mut muster = Command::new(env!("CARGO_BIN_EXE_muster"));
        muster
            .env_clear()
            .env("MUSTER_URL", &self.url)
            .env("HOME", self.folder.path());
        muster.args(arguments).output().expect("muster runs")
    }

    /// The command of `kubectl` at the end of a refusal of such a command.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let answered = self.muster(arguments);
        let told = String::from_utf8_lossy(&answered.stderr).into_owned();
        assert_eq!(answered.status.code(), Some(4), "muster {arguments:?}: {told}");
        let at = told.rfind("kubectl ").unwrap_or_else(|| panic!("{told}"));
        told[at..].trim_end().to_owned()
    }

    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.data_dir().join("kubeconfig"))
    }
}

/// `muster serve` with that data dir and no live image.
pub fn serve(data_dir: &Path) -> Command {
    let mut serve = command(env!("CARGO_BIN_EXE_muster"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MUSTER_")) {
        serve.env_remove(name);
    }
    serve.args(SERVE_ON_FREE_PORTS).arg("--data-dir").arg(data_dir);
    serve.args(["--kube-api", "builtin"]);
    serve.env("MUSTER_LIVE_IMAGE", "/nonexistent/live.iso");
    serve
}
