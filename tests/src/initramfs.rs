//! The least guest there is: a kernel and an initramfs whose `init` is a busybox script.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::artifacts::live_image;
use crate::process::run;

/// Makes an initramfs in `folder` that runs `script` (after `proc`, `sys` and `/dev` are mounted) and switches off.
///
/// # Panics
/// If busybox or cpio are missing.
pub fn build(folder: &Path, script: &str) -> PathBuf {
    let (tree, archive) = (folder.join("initramfs"), folder.join("initramfs.cpio"));
    let made = (|| {
        std::fs::create_dir_all(tree.join("bin"))?;
        for mount_point in ["dev", "proc", "sys"] {
            std::fs::create_dir_all(tree.join(mount_point))?;
        }
        std::fs::copy("/bin/busybox", tree.join("bin/busybox"))?;
        let init = tree.join("init");
        let mounts = "mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev";
        let text = format!(
            "#!/bin/busybox sh\n/bin/busybox --install -s /bin\nexport PATH=/bin\n{mounts}\n{script}\npoweroff -f\n"
        );
        std::fs::write(&init, text)?;
        std::fs::set_permissions(&init, std::fs::Permissions::from_mode(0o755))
    })();
    made.unwrap_or_else(|error: std::io::Error| {
        panic!("{}: {error}; `make deps` installs busybox-static", tree.display())
    });
    let pack = r#"cd "$0" && find . | cpio --quiet -o -H newc -R 0:0 > "$1""#;
    run(Command::new("sh").args(["-ec", pack]).arg(&tree).arg(&archive));
    archive
}

/// Takes the kernel out of the live image into `folder`.
///
/// # Panics
/// If there is no live image, or no xorriso.
pub fn kernel_of_live_image(folder: &Path) -> PathBuf {
    let kernel = folder.join("vmlinuz");
    let mut xorriso = Command::new("xorriso");
    xorriso.args(["-osirrox", "on", "-indev"]).arg(live_image());
    run(xorriso.args(["-extract", "/images/pxeboot/vmlinuz"]).arg(&kernel));
    kernel
}
