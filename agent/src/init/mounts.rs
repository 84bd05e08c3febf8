//! Mounts the file systems that every program expects.

use std::path::Path;

use nix::mount::{MsFlags, mount};

struct Mount {
    source: &'static str,
    target: &'static str,
    kind: &'static str,
    flags: MsFlags,
    data: &'static str,
}

/// Mounts those that are not mounted yet. Code that needs a file system handles its absence.
pub fn all() {
    let plain = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);
    let quiet = plain.union(MsFlags::MS_NOEXEC);
    let mounts = [
        Mount {
            source: "proc",
            target: "/proc",
            kind: "proc",
            flags: quiet,
            data: "",
        },
        Mount {
            source: "sysfs",
            target: "/sys",
            kind: "sysfs",
            flags: quiet,
            data: "",
        },
        // Usually mounted before main: see `early`.
        Mount {
            source: "devtmpfs",
            target: "/dev",
            kind: "devtmpfs",
            flags: MsFlags::MS_NOSUID,
            data: "mode=0755",
        },
        Mount {
            source: "devpts",
            target: "/dev/pts",
            kind: "devpts",
            flags: MsFlags::MS_NOSUID.union(MsFlags::MS_NOEXEC),
            data: "mode=0620,ptmxmode=0666",
        },
        Mount {
            source: "tmpfs",
            target: "/run",
            kind: "tmpfs",
            flags: plain,
            data: "mode=0755",
        },
        Mount {
            source: "tmpfs",
            target: "/tmp",
            kind: "tmpfs",
            flags: plain,
            data: "mode=1777",
        },
    ];
    for one in &mounts {
        // A second mount would hide the content of the first.
        if mounted(one.target) {
            continue;
        }
        do_mount(one);
    }
}

/// Mounts UEFI's variables, if there are any. Their driver must be loaded.
pub fn efi_variables() {
    let target = "/sys/firmware/efi/efivars";
    if Path::new(target).is_dir() && !mounted(target) {
        let flags = MsFlags::MS_NOSUID
            .union(MsFlags::MS_NODEV)
            .union(MsFlags::MS_NOEXEC);
        do_mount(&Mount {
            source: "efivarfs",
            target,
            kind: "efivarfs",
            flags,
            data: "",
        });
    }
}

/// The folder with the kernel's last messages of earlier boots.
pub const PANICS: &str = "/sys/fs/pstore";

/// Mounts the store of the kernel's last messages. Its driver must be loaded.
pub fn panic_store() {
    if Path::new(PANICS).is_dir() && !mounted(PANICS) {
        let flags = MsFlags::MS_NOSUID
            .union(MsFlags::MS_NODEV)
            .union(MsFlags::MS_NOEXEC);
        do_mount(&Mount {
            source: "pstore",
            target: PANICS,
            kind: "pstore",
            flags,
            data: "",
        });
    }
}

fn do_mount(one: &Mount) {
    let made = std::fs::create_dir_all(one.target);
    if let Err(error) = mount(
        Some(one.source),
        one.target,
        Some(one.kind),
        one.flags,
        Some(one.data),
    ) {
        // Not logged by name of a variable: nothing of it is secret.
        tracing::warn!(target = one.target, ?made, %error, "not mounted");
    }
}

fn mounted(target: &str) -> bool {
    std::fs::read_to_string("/proc/self/mounts")
        .is_ok_and(|text| text.lines().any(|line| line.split(' ').nth(1) == Some(target)))
}
