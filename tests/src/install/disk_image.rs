//! Images of whole disks, which scripts of `.ci` build once for each state of their recipes.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::artifacts::project_root;
use crate::process::run;
use crate::qemu::Architecture;

/// The OpenShift version that the lab's OS images are listed under.
pub const OPENSHIFT_VERSION: &str = "4.20.0";

/// An image of this source tree's recipe.
#[derive(Debug, Clone)]
pub struct DiskImage {
    name: &'static str,
    folder: PathBuf,
}

impl DiskImage {
    /// The image that the script `.ci/NAME` built with these arguments. `remedy`: the command that makes it do so.
    ///
    /// # Panics
    /// If it did not; the message has the remedy.
    #[track_caller]
    pub fn built(name: &'static str, arguments: &[&str], remedy: &str) -> Self {
        let mut script = Command::new(project_root().join(".ci").join(name));
        let printed = run(script.args(arguments).arg("--folder"));
        let image = Self {
            name,
            folder: PathBuf::from(printed.trim()),
        };
        assert!(
            image.file("raw.zst.sha256").is_file(),
            "there is no {name} image in {}: run {remedy}",
            image.folder.display()
        );
        image
    }

    /// Its bytes.
    pub fn raw(&self) -> PathBuf {
        self.file("raw")
    }

    /// Its entry of an operator's list of OS images (`--os-images`): compressed, and the default.
    ///
    /// # Panics
    /// If its files are gone.
    #[track_caller]
    pub fn entry(&self, architecture: Architecture, version: &str) -> Value {
        json!({
            "openshift_version": OPENSHIFT_VERSION,
            "cpu_architecture": architecture.name(),
            "version": version,
            "metal_url": self.file("raw.zst"),
            "metal_sha256": self.sum("raw.zst.sha256"),
            "metal_uncompressed_sha256": self.sum("raw.sha256"),
            "default": true,
        })
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", self.name))
    }

    /// A SHA-256, hexadecimal.
    #[track_caller]
    fn sum(&self, end: &str) -> String {
        let path = self.file(end);
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.trim().to_owned()
    }
}
