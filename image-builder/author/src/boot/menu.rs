//! `boot/grub/grub.cfg`, with the kernel-argument area that the service overlays (`docs/live-image.md`).

/// Kernel arguments of an area never written.
pub const DEFAULT_ARGUMENTS: &str = "quiet console=tty0 console=ttyS0,115200n8 console=ttyS1,115200n8";

/// Bytes of the kernel-argument area.
pub const AREA_SIZE: usize = 1536;

/// Ends the arguments in the area.
pub const AREA_END: &str = "\n";

/// Fills the rest of the area: the lines it makes are comments to GRUB.
pub const AREA_PAD: char = '#';

/// The menu's text, and where the kernel-argument area begins in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The whole file.
    pub text: String,
    /// Bytes before the area.
    pub area_offset: usize,
}

/// Before the area. `$rescue` is empty but for the second entry: GRUB then passes no word for it.
///
/// A machine without that serial port fails at `serial` and keeps its display.
const BEFORE: &str = "\
# Muster live image. The service writes kernel arguments over the area below.
if serial --unit=0 --speed=115200; then
  terminal_input console serial
  terminal_output console serial
fi
set default=0
set timeout=1
function muster {
  echo \"Muster: loading the kernel\"
  linux /images/pxeboot/vmlinuz $rescue ";

/// After the area and its newline.
const AFTER: &str = "  echo \"Muster: loading drivers and agent\"
  initrd /images/pxeboot/initrd.img /images/config.img
}
menuentry \"Muster: discover this machine\" --id discover {
  muster
}
menuentry \"Muster: rescue shell\" --id rescue {
  set rescue=muster.rescue
  muster
}
";

/// Writes the menu with the default arguments.
#[must_use]
pub fn menu() -> Menu {
    let mut area = format!("{DEFAULT_ARGUMENTS}{AREA_END}");
    let pad = AREA_SIZE - area.len();
    area.extend(std::iter::repeat_n(AREA_PAD, pad));
    Menu {
        text: format!("{BEFORE}{area}\n{AFTER}"),
        area_offset: BEFORE.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_found_at_its_offset_and_a_newline_follows_it() {
        let menu = menu();
        let area = &menu.text[menu.area_offset..menu.area_offset + AREA_SIZE];
        let rest = area.strip_prefix(DEFAULT_ARGUMENTS).unwrap();
        let pad = rest.strip_prefix(AREA_END).unwrap();
        assert!(pad.chars().all(|pad| pad == AREA_PAD));
        assert_eq!(menu.text.as_bytes()[menu.area_offset + AREA_SIZE], b'\n');
    }

    #[test]
    fn the_kernel_line_ends_in_the_area() {
        let menu = menu();
        let line_start = menu.text[..menu.area_offset].rfind('\n').unwrap() + 1;
        assert!(menu.text[line_start..].starts_with("  linux /images/pxeboot/vmlinuz "));
    }
}
