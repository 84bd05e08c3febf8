//! The image that installers write to disks, and that machines then boot: built by `.ci/target`. Source:
//! docs/protocol/target-lab.md.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::disk_image::DiskImage;
use super::partitions;
use crate::process::run;
use crate::qemu::Architecture;

/// The target image of this source tree's recipe.
#[derive(Debug, Clone)]
pub struct TargetImage {
    architecture: Architecture,
    image: DiskImage,
}

impl TargetImage {
    /// The image that `.ci/target` built for machines with that processor.
    ///
    /// # Panics
    /// If it did not; the message has the command that builds it.
    #[track_caller]
    pub fn built(architecture: Architecture) -> Self {
        let remedy = match architecture {
            Architecture::X86_64 => "`.ci/needs install` (`make test-install` does; two minutes, once)",
            Architecture::Aarch64 => "`.ci/needs install long` (`make test-long` does, once)",
        };
        let image = DiskImage::built("target", &[architecture.debian()], remedy);
        Self { architecture, image }
    }

    /// An operator's list of OS images (`--os-images`) with it alone, compressed.
    pub fn os_images(&self) -> Value {
        json!([self.image.entry(self.architecture, "muster-target-lab")])
    }

    /// A copy in `folder` that contains that Ignition config, as an installer leaves it.
    ///
    /// # Panics
    /// If the tools of ext4 are missing.
    pub fn with_config(&self, config: &Value, folder: &Path) -> PathBuf {
        let image = folder.join("target-with-config.raw");
        run(Command::new("cp")
            .args(["--sparse=always"])
            .arg(self.image.raw())
            .arg(&image));
        let scratch = TempDir::new_in(folder).expect("a folder can be made");
        let (file, script) = (scratch.path().join("config.ign"), scratch.path().join("script"));
        std::fs::write(&file, config.to_string()).expect("a file can be written");
        let commands = format!(
            "mkdir /ignition\ncd /ignition\nwrite {} config.ign\n",
            file.display()
        );
        std::fs::write(&script, commands).expect("a file can be written");
        let place = format!(
            "{}?offset={}",
            image.display(),
            partitions::named(&image, "boot").start
        );
        run(Command::new("debugfs")
            .arg("-w")
            .arg("-f")
            .arg(&script)
            .arg(place));
        image
    }
}
