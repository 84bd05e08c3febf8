//! The firmware of a machine.

use std::path::{Path, PathBuf};

/// Firmware of a machine. Names in test output follow [`Firmware::name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// BIOS.
    SeaBios,
    /// UEFI without Secure Boot.
    Ovmf,
    /// UEFI with Microsoft's keys enrolled and Secure Boot on.
    OvmfSecureBoot,
    /// UEFI of an ARM server.
    Aavmf,
}

impl Firmware {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SeaBios => "SeaBIOS",
            Self::Ovmf => "OVMF",
            Self::OvmfSecureBoot => "OVMF with Secure Boot",
            Self::Aavmf => "AAVMF",
        }
    }

    /// The inventory's `boot.current_boot_mode`.
    pub fn boot_mode(self) -> &'static str {
        match self {
            Self::SeaBios => "bios",
            Self::Ovmf | Self::OvmfSecureBoot | Self::Aavmf => "uefi",
        }
    }

    /// The program of QEMU for its processor.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::SeaBios | Self::Ovmf | Self::OvmfSecureBoot => "qemu-system-x86_64",
            Self::Aavmf => "qemu-system-aarch64",
        }
    }

    /// The `-cpu` value, where QEMU's own choice is not that of a server.
    pub(super) fn cpu(self) -> Option<&'static str> {
        (self == Self::Aavmf).then_some("neoverse-n1")
    }

    /// The `-machine` value.
    pub(super) fn machine(self) -> &'static str {
        match self {
            // SeaBIOS shows its own and iPXE's text on the serial port if there is no display.
            Self::SeaBios => "q35,graphics=off",
            Self::Ovmf => "q35",
            Self::OvmfSecureBoot => "q35,smm=on",
            Self::Aavmf => "virt",
        }
    }

    /// Arguments that load it. Variables are those in `folder`, at first a fresh copy: boot entries must not
    /// leak between tests.
    pub(super) fn arguments(self, folder: &Path) -> Vec<String> {
        let (code, variables) = match self {
            Self::SeaBios => return Vec::new(),
            Self::Ovmf => ("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"),
            Self::OvmfSecureBoot => ("OVMF_CODE_4M.secboot.fd", "OVMF_VARS_4M.ms.fd"),
            Self::Aavmf => ("../AAVMF/AAVMF_CODE.fd", "../AAVMF/AAVMF_VARS.fd"),
        };
        let own = folder.join("variables.fd");
        let from = packaged(variables);
        if !own.exists() {
            std::fs::copy(&from, &own).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        let pflash = |unit: u8, path: &Path, readonly: &str| {
            format!(
                "if=pflash,unit={unit},format=raw,readonly={readonly},file={}",
                path.display()
            )
        };
        let mut arguments = vec![
            "-drive".to_owned(),
            pflash(0, &packaged(code), "on"),
            "-drive".to_owned(),
            pflash(1, &own, "off"),
        ];
        if self == Self::OvmfSecureBoot {
            arguments.extend([
                "-global".to_owned(),
                "driver=cfi.pflash01,property=secure,value=on".to_owned(),
            ]);
        }
        arguments
    }
}

fn packaged(file: &str) -> PathBuf {
    let path = Path::new("/usr/share/OVMF").join(file);
    assert!(
        path.is_file(),
        "{} is missing: install the package ovmf (`make deps` does)",
        path.display()
    );
    path
}
