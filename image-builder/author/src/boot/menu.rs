//! Writes `boot/grub/grub.cfg`, with the kernel-argument area that the service overlays
//! (`docs/live-image.md`).

use muster_image::kargs::{Area, KargsFile, KargsLayout, Reader, area_bytes};

use crate::architecture::Architecture;

/// Path of the menu in the ISO.
pub const MENU: &str = "boot/grub/grub.cfg";

/// Bytes of the kernel-argument area.
const AREA_SIZE: usize = 1536;

/// The menu's text and the layout of its kernel-argument area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The whole file.
    pub text: String,
    pub kargs: KargsLayout,
}

/// The text before the area. `$rescue` is empty but for the second entry: GRUB then passes no word for it.
///
/// A machine without that serial port fails at `serial` and keeps its display.
const BEFORE: &str = "\
# Muster live image. The service writes kernel arguments over the area below.
if serial --unit=0 --speed=115200; then
  terminal_input console serial
  terminal_output console serial
fi
set default=0
# Long enough for a hand at a console that a BMC shows late.
set timeout=5
function muster {
  echo \"Muster: loading the kernel\"
  linux /images/pxeboot/vmlinuz $rescue ";

/// The text after the area and its newline.
const AFTER: &str = "  echo \"Muster: loading drivers and agent\"
  initrd /images/pxeboot/initrd.img /images/config.img
}
menuentry \"Muster: discover this machine\" --id discover {
  muster
}
menuentry \"Muster: rescue shell (press r)\" --hotkey=r --id rescue {
  set rescue=muster.rescue
  muster
}
";

/// Writes the menu with the default arguments.
#[must_use]
pub fn menu(architecture: Architecture) -> Menu {
    let default = architecture.kernel_arguments();
    let kargs = KargsLayout {
        default: default.to_owned(),
        size: AREA_SIZE,
        end: "\n".to_owned(),
        // The lines that it makes are comments to GRUB.
        pad: "#".to_owned(),
        files: vec![KargsFile {
            path: MENU.to_owned(),
            offset: BEFORE.len() as u64,
            end: None,
            pad: None,
        }],
    };
    let place = Area {
        offset: BEFORE.len() as u64,
        end: b'\n',
        pad: b'#',
        reader: Reader::Grub,
    };
    let area =
        area_bytes(default, &[], AREA_SIZE, place).expect("the area has room for the default arguments");
    let area = String::from_utf8(area).expect("the area is made of texts");
    Menu {
        text: format!("{BEFORE}{area}\n{AFTER}"),
        kargs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_found_at_its_offset_and_a_newline_follows_it() {
        let menu = menu(Architecture::X86_64);
        let area = &menu.text[BEFORE.len()..BEFORE.len() + AREA_SIZE];
        let rest = area.strip_prefix(menu.kargs.default.as_str()).unwrap();
        let pad = rest.strip_prefix(&menu.kargs.end).unwrap();
        assert!(pad.chars().all(|pad| pad == '#'));
        assert_eq!(menu.text.as_bytes()[BEFORE.len() + AREA_SIZE], b'\n');
    }

    #[test]
    fn the_kernel_line_ends_in_the_area() {
        let menu = menu(Architecture::X86_64);
        let offset = usize::try_from(menu.kargs.files[0].offset).unwrap();
        let line_start = menu.text[..offset].rfind('\n').unwrap() + 1;
        assert!(menu.text[line_start..].starts_with("  linux /images/pxeboot/vmlinuz "));
    }
}
