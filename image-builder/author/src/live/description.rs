//! Describes the images of this program; [`muster_image::live::Description`] is the form,
//! `docs/live-image.md` the contract.

use muster_image::kargs::KargsLayout;
use muster_image::live::{AgentArea, ConfigArea, Description, FORMAT, VERSION};

use crate::architecture::Architecture;

/// Paths in the ISO.
pub const KERNEL: &str = "images/pxeboot/vmlinuz";
pub const INITRD: &str = "images/pxeboot/initrd.img";
pub const CONFIG: &str = "images/config.img";
/// Debian's signed GRUB searches for this file to find its medium.
pub const DISK_INFO: &str = ".disk/info";

/// Bytes of the configuration area.
pub const CONFIG_LENGTH: usize = 262_144;

/// The description of an image with this agent and kernel-argument area.
#[must_use]
pub fn describe(
    architecture: Architecture,
    agent_version: &str,
    agent: AgentArea,
    kargs: KargsLayout,
) -> Description {
    Description {
        format: FORMAT.to_owned(),
        version: VERSION,
        architecture: architecture.name().to_owned(),
        agent_version: agent_version.to_owned(),
        kernel: KERNEL.to_owned(),
        initrd: INITRD.to_owned(),
        config: ConfigArea {
            file: CONFIG.to_owned(),
            length: CONFIG_LENGTH as u64,
        },
        kargs,
        agent: Some(agent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::menu::menu;

    #[test]
    fn the_description_has_the_shape_of_the_contract() {
        let kargs = menu(Architecture::X86_64).kargs;
        let offset = kargs.files[0].offset;
        let agent = AgentArea {
            offset: 4096,
            length: 3,
            size: 9,
            sha256: "00".into(),
        };
        let json: serde_json::Value =
            serde_json::from_str(&describe(Architecture::X86_64, "0.1.0", agent, kargs).to_json()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "format": "muster-live",
                "version": 1,
                "architecture": "x86_64",
                "agent_version": "0.1.0",
                "kernel": "images/pxeboot/vmlinuz",
                "initrd": "images/pxeboot/initrd.img",
                "config": { "file": "images/config.img", "length": 262_144 },
                "kargs": {
                    "default": "quiet console=tty0 console=ttyS0,115200n8 console=ttyS1,115200n8 panic=60",
                    "size": 1536, "end": "\n", "pad": "#",
                    "files": [ { "path": "boot/grub/grub.cfg", "offset": offset } ]
                },
                "agent": { "offset": 4096, "length": 3, "size": 9, "sha256": "00" }
            })
        );
    }
}
