//! Reads the boot mode, Secure Boot and the boot medium. Source of the rules:
//! docs/protocol/agent-inventory.md#4.

use std::io::ErrorKind;

use muster_api::inventory::Boot;

use super::Problems;
use super::mounts::Mount;
use crate::config::live::without_token;
use crate::root::{ProbeError, Root};

const EFI: &str = "/sys/firmware/efi";
const EFI_VARIABLES: &str = "/sys/firmware/efi/efivars";
const SECURE_BOOT: &str = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

pub(super) fn boot(root: &Root, mounts: &[Mount], problems: &mut Problems) -> Boot {
    let command_line = problems
        .take("boot.command_line", command_line(root))
        .unwrap_or_default();
    let uefi = root.is_dir(EFI);
    Boot {
        pxe_interface: pxe_interface(&command_line),
        command_line,
        current_boot_mode: if uefi { "uefi" } else { "bios" }.to_owned(),
        secure_boot_state: secure_boot(root, uefi, problems).to_owned(),
        device_type: device_type(mounts).to_owned(),
    }
}

/// The whole line with its line end, without the token.
fn command_line(root: &Root) -> Result<String, ProbeError> {
    let path = "/proc/cmdline";
    let bytes = root.read(path).map_err(ProbeError::reading(path))?;
    Ok(without_token(&String::from_utf8_lossy(&bytes)))
}

/// Raw: `01-aa-bb-cc-dd-ee-ff` from a PXE loader, `aa:bb:...` from others.
fn pxe_interface(command_line: &str) -> String {
    let arguments = command_line.trim_end().split(' ');
    arguments
        .filter_map(|argument| argument.strip_prefix("BOOTIF="))
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn secure_boot(root: &Root, uefi: bool, problems: &mut Problems) -> &'static str {
    match root.read(&format!("{EFI_VARIABLES}/{SECURE_BOOT}")) {
        // Four bytes of attributes, one of value.
        Ok(bytes) => match bytes.as_slice() {
            [_, _, _, _, 0] => "Disabled",
            [_, _, _, _, 1] => "Enabled",
            _ => "Unknown",
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let not_mounted = uefi && root.list(EFI_VARIABLES).map_or(true, |names| names.is_empty());
            if not_mounted {
                problems.note(
                    "boot.secure_boot_state",
                    format!("no efivarfs at {EFI_VARIABLES}"),
                );
                return "Unknown";
            }
            "NotSupported"
        }
        Err(error) => {
            problems.note("boot.secure_boot_state", format!("{SECURE_BOOT}: {error}"));
            "Unknown"
        }
    }
}

/// CoreOS has its root at `/sysroot`: on a loop device when live, on the disk when installed.
fn device_type(mounts: &[Mount]) -> &'static str {
    match mounts.iter().rfind(|mount| mount.target == "/sysroot") {
        None => "",
        Some(mount) if mount.source.starts_with("/dev/loop") => "ephemeral",
        Some(_) => "persistent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_interface_is_the_raw_text_of_the_first_match() {
        assert_eq!(
            pxe_interface("quiet BOOTIF=01-52-54-00-aa-00-01 BOOTIF=x\n"),
            "01-52-54-00-aa-00-01"
        );
        assert_eq!(
            pxe_interface("quiet BOOTIF=52:54:00:aa:00:01\n"),
            "52:54:00:aa:00:01"
        );
        assert_eq!(pxe_interface("quiet xBOOTIF=1\n"), "");
    }

    #[test]
    fn a_loop_device_at_sysroot_is_a_live_system() {
        let at = |source: &str| {
            vec![Mount {
                source: source.into(),
                target: "/sysroot".into(),
            }]
        };
        assert_eq!(device_type(&at("/dev/loop0")), "ephemeral");
        assert_eq!(device_type(&at("/dev/sda4")), "persistent");
        assert_eq!(device_type(&[]), "");
    }
}
