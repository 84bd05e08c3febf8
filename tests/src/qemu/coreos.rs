//! ISOs in the layout of CoreOS that boot: the parts are built by `.ci/coreos` (tests/coreos/README.md).

use std::path::{Path, PathBuf};
use std::process::Command;

use muster_image::testing::coreos::{CoreOsTree, Generation};
use serde_json::{Value, json};

use crate::artifacts::project_root;
use crate::process::run;

/// The kernel line of the lab's images, except the argument that names the medium. Emulated processors are slow with
/// the mitigations of real ones.
const ARGUMENTS: &str =
    "ignition.firstboot ignition.platform.id=metal console=ttyS0,115200n8 mitigations=off";

/// The parts of this source tree's recipe.
#[derive(Debug, Clone)]
pub struct CoreOsLab {
    folder: PathBuf,
}

impl CoreOsLab {
    /// The lab that `.ci/coreos` built.
    ///
    /// # Panics
    /// If it did not; the message has the command that builds it.
    pub fn built() -> Self {
        let printed = run(Command::new(project_root().join(".ci/coreos")).arg("--folder"));
        let folder = PathBuf::from(printed.trim());
        assert!(
            folder.join("rootfs.img").is_file(),
            "there is no CoreOS lab image in {}: run `.ci/needs boot` (`make test-boot` does; three minutes, once)",
            folder.display()
        );
        Self { folder }
    }

    /// Writes an ISO of that generation.
    ///
    /// # Panics
    /// If a part is missing, or xorriso is.
    pub fn write_iso(&self, generation: Generation, target: &Path) {
        let mut tree = CoreOsTree::new(generation, ARGUMENTS);
        let part = |name: &str| {
            let path = self.folder.join(name);
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        for (file, name) in [
            ("images/pxeboot/vmlinuz", "vmlinuz"),
            ("images/pxeboot/initrd.img", "initrd.img"),
            ("images/pxeboot/rootfs.img", "rootfs.img"),
            ("images/efiboot.img", "efiboot.img"),
            ("isolinux/isolinux.bin", "isolinux.bin"),
            ("isolinux/ldlinux.c32", "ldlinux.c32"),
        ] {
            tree.file(file, &part(name));
        }
        // GRUB finds the medium by this file.
        tree.file("coreos-lab", b"");
        tree.boot_options =
            "-b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table \
            -eltorito-alt-boot -e images/efiboot.img -no-emul-boot"
                .split_whitespace()
                .map(str::to_owned)
                .collect();
        tree.write_iso(target);
    }
}

/// An entry of an operator's list (`--os-images`) for discovery with the ISO at `url`, a URL or a path.
pub fn entry(version: &str, url: &str) -> Value {
    json!({
        "openshift_version": version, "cpu_architecture": "x86_64", "version": format!("lab.{version}"), "url": url,
    })
}
