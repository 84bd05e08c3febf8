//! The image that installers write to disks, and that machines then boot: built by `.ci/target`. Source:
//! docs/protocol/target-lab.md.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::artifacts::project_root;
use crate::process::run;
use crate::qemu::Architecture;

/// The OpenShift version that the lab's OS image is listed under.
pub const OPENSHIFT_VERSION: &str = "4.20.0";

/// The target image of this source tree's recipe.
#[derive(Debug, Clone)]
pub struct TargetImage {
    architecture: Architecture,
    folder: PathBuf,
}

impl TargetImage {
    /// The image that `.ci/target` built for machines with that processor.
    ///
    /// # Panics
    /// If it did not; the message has the command that builds it.
    pub fn built(architecture: Architecture) -> Self {
        let mut script = Command::new(project_root().join(".ci/target"));
        let printed = run(script.args([architecture.debian(), "--folder"]));
        let folder = PathBuf::from(printed.trim());
        let remedy = match architecture {
            Architecture::X86_64 => "`.ci/needs install` (`make test-install` does; two minutes, once)",
            Architecture::Aarch64 => "`.ci/needs install long` (`make test-long` does, once)",
        };
        assert!(
            folder.join("target.raw.zst.sha256").is_file(),
            "there is no target image in {}: run {remedy}",
            folder.display()
        );
        Self { architecture, folder }
    }

    /// Its bytes.
    pub fn raw(&self) -> PathBuf {
        self.folder.join("target.raw")
    }

    /// The same, compressed by zstd.
    pub fn compressed(&self) -> PathBuf {
        self.folder.join("target.raw.zst")
    }

    /// SHA-256 of its bytes, hexadecimal.
    pub fn digest(&self) -> String {
        self.sum("target.raw.sha256")
    }

    /// SHA-256 of the compressed file.
    pub fn compressed_digest(&self) -> String {
        self.sum("target.raw.zst.sha256")
    }

    fn sum(&self, name: &str) -> String {
        let path = self.folder.join(name);
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.trim().to_owned()
    }

    /// An operator's list of OS images (`--os-images`) with it alone, compressed.
    pub fn os_images(&self) -> Value {
        json!([{
            "openshift_version": OPENSHIFT_VERSION,
            "cpu_architecture": self.architecture.name(),
            "version": "muster-target-lab",
            "metal_url": self.compressed(),
            "metal_sha256": self.compressed_digest(),
            "metal_uncompressed_sha256": self.digest(),
            "default": true,
        }])
    }

    /// A copy in `folder` that contains that Ignition config, as an installer leaves it.
    ///
    /// # Panics
    /// If the tools of ext4 are missing.
    pub fn with_config(&self, config: &Value, folder: &Path) -> PathBuf {
        let image = folder.join("target-with-config.raw");
        run(Command::new("cp")
            .args(["--sparse=always"])
            .arg(self.raw())
            .arg(&image));
        let scratch = TempDir::new_in(folder).expect("a folder can be made");
        let (file, script) = (scratch.path().join("config.ign"), scratch.path().join("script"));
        std::fs::write(&file, config.to_string()).expect("a file can be written");
        let commands = format!(
            "mkdir /ignition\ncd /ignition\nwrite {} config.ign\n",
            file.display()
        );
        std::fs::write(&script, commands).expect("a file can be written");
        let place = format!("{}?offset={}", image.display(), partition_start(&image, 3));
        run(Command::new("debugfs")
            .arg("-w")
            .arg("-f")
            .arg(&script)
            .arg(place));
        image
    }
}

/// The byte at which a partition begins.
fn partition_start(image: &Path, number: u32) -> u64 {
    let printed = run(Command::new("sgdisk").arg(format!("--info={number}")).arg(image));
    let sector = printed.lines().find_map(|line| {
        let rest = line.strip_prefix("First sector: ")?;
        rest.split(' ').next()?.parse::<u64>().ok()
    });
    sector.unwrap_or_else(|| panic!("no partition {number} in {}:\n{printed}", image.display())) * 512
}
