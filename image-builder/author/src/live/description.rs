//! `/muster/live.json`: where in the ISO everything is, for the service (`docs/live-image.md`).

use serde::{Deserialize, Serialize};

use super::{CONFIG, CONFIG_AREA, INITRD, KERNEL, MENU};
use crate::boot::menu::{AREA_END, AREA_PAD, AREA_SIZE, DEFAULT_ARGUMENTS, Menu};

/// Says what kind of file this is.
pub const FORMAT: &str = "muster-live";

/// Raise when a reader of the older version would write to the wrong place.
pub const VERSION: u32 = 1;

/// The file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// `x86_64`.
    pub architecture: String,
    /// Version of the agent inside.
    pub agent_version: String,
    /// Path of the kernel in the ISO.
    pub kernel: String,
    /// Path of the initrd in the ISO.
    pub initrd: String,
    /// The configuration area.
    pub config: ConfigArea,
    /// The kernel-argument area.
    pub kargs: KernelArguments,
}

/// The file that the service writes the configuration archive over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigArea {
    /// Path in the ISO.
    pub file: String,
    /// Bytes.
    pub length: usize,
}

/// The area that ends the kernel's command line; of the shape of CoreOS's `coreos/kargs.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArguments {
    /// Arguments of an area never written.
    pub default: String,
    /// Bytes of the area.
    pub size: usize,
    /// Ends the arguments.
    pub end: String,
    /// Fills the rest.
    pub pad: char,
    /// Where the area stands.
    pub files: Vec<KernelArgumentsFile>,
}

/// One place of the area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArgumentsFile {
    /// Path in the ISO.
    pub path: String,
    /// Bytes from the start of that file.
    pub offset: usize,
}

impl Description {
    /// Describes an image of ours.
    #[must_use]
    pub fn new(agent_version: &str, menu: &Menu) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            architecture: "x86_64".to_owned(),
            agent_version: agent_version.to_owned(),
            kernel: KERNEL.to_owned(),
            initrd: INITRD.to_owned(),
            config: ConfigArea {
                file: CONFIG.to_owned(),
                length: CONFIG_AREA,
            },
            kargs: KernelArguments {
                default: DEFAULT_ARGUMENTS.to_owned(),
                size: AREA_SIZE,
                end: AREA_END.to_owned(),
                pad: AREA_PAD,
                files: vec![KernelArgumentsFile {
                    path: MENU.to_owned(),
                    offset: menu.area_offset,
                }],
            },
        }
    }

    /// The file's text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings and numbers are valid JSON");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::menu::menu;

    #[test]
    fn the_description_has_the_shape_of_the_contract() {
        let menu = menu();
        let json: serde_json::Value =
            serde_json::from_str(&Description::new("0.1.0", &menu).to_json()).unwrap();
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
                    "default": "quiet console=tty0 console=ttyS0,115200n8 console=ttyS1,115200n8",
                    "size": 1536, "end": "\n", "pad": "#",
                    "files": [ { "path": "boot/grub/grub.cfg", "offset": menu.area_offset } ]
                }
            })
        );
    }
}
