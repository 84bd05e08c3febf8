//! A minimal guest: a kernel and an initramfs whose `init` is a busybox script.

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

/// Extracts the kernel of the live image into `folder`.
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

/// Makes an initramfs in `folder`: that of the live image with its drivers, `tree` over it, and `/test-init`, which runs
/// `script` (after `proc`, `sys` and `/dev` are mounted) and switches off. For the kernel argument `rdinit=/test-init`.
///
/// # Panics
/// If there is no live image, or xorriso or cpio are missing.
pub fn over_live_image(folder: &Path, tree: &Path, script: &str) -> PathBuf {
    let (live, archive) = (folder.join("live-initrd"), folder.join("with-overlay.cpio"));
    let mut xorriso = Command::new("xorriso");
    xorriso.args(["-osirrox", "on", "-indev"]).arg(live_image());
    run(xorriso
        .args(["-extract", "/images/pxeboot/initrd.img"])
        .arg(&live));
    let mounts = "mkdir -p /proc /sys /dev /run; mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev";
    let install = "/bin/busybox mkdir -p /usr/bin /sbin /usr/sbin; /bin/busybox --install -s /bin";
    let text = format!("#!/bin/busybox sh\n{install}\nexport PATH=/bin\n{mounts}\n{script}\npoweroff -f\n");
    let init = tree.join("test-init");
    let written = std::fs::write(&init, text)
        .and_then(|()| std::fs::set_permissions(&init, std::fs::Permissions::from_mode(0o755)));
    written.unwrap_or_else(|error| panic!("{}: {error}", init.display()));
    // The kernel reads archives one after the other, each at a multiple of four bytes.
    let pack = r#"cp "$1" "$2"; truncate --size=%4 "$2"; cd "$0" && find . | cpio --quiet -o -H newc -R 0:0 >> "$2""#;
    run(Command::new("sh")
        .args(["-ec", pack])
        .arg(tree)
        .arg(&live)
        .arg(&archive));
    archive
}
