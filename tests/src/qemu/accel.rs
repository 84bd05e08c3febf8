//! Chooses the accelerator that machines run under.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::process::{Program, command};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// Software; works everywhere.
    Tcg,
    /// The kernel's KVM.
    Kvm,
}

impl Accel {
    /// QEMU's `-accel`.
    pub fn option(self) -> &'static str {
        match self {
            // With a thread for each CPU, one may run an instruction that another has already restored: Linux 6.12
            // switches branches of its random numbers while all CPUs request some, and then hits an int3 that was
            // already removed ("Oops: int3").
            Self::Tcg => "tcg,thread=single",
            Self::Kvm => "kvm",
        }
    }

    /// KVM if it boots guests here, else TCG. `MUSTER_ACCEL=tcg|kvm` decides instead.
    pub fn best() -> Self {
        static BEST: OnceLock<Accel> = OnceLock::new();
        *BEST.get_or_init(|| match std::env::var("MUSTER_ACCEL").as_deref() {
            Ok("tcg") => Self::Tcg,
            Ok("kvm") => Self::Kvm,
            Ok(other) => panic!("MUSTER_ACCEL is {other:?}; it may be tcg or kvm"),
            Err(_) if kvm_boots() => Self::Kvm,
            Err(_) => Self::Tcg,
        })
    }
}

/// True if KVM runs a firmware to its end. An open `/dev/kvm` proves nothing: under `kvm_pvm` it opens and ordinary
/// guests hang, and QEMU does not fall back (docs/protocol/boot-lab.md#0).
fn kvm_boots() -> bool {
    let usable = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .is_ok();
    if !usable || Path::new("/sys/module/kvm_pvm").exists() {
        return false;
    }
    let Ok(folder) = tempfile::tempdir() else {
        return false;
    };
    let mut qemu = command("qemu-system-x86_64");
    qemu.args([
        "-accel",
        "kvm",
        "-machine",
        "q35,graphics=off",
        "-nodefaults",
        "-no-user-config",
    ]);
    qemu.args([
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "stdio",
        "-no-reboot",
        "-m",
        "128",
    ]);
    let probe = Program::start("KVM probe", &mut qemu, &folder.path().join("probe.log"));
    probe
        .transcript()
        .await_match("No bootable device", Duration::from_secs(10))
        .is_ok()
}
