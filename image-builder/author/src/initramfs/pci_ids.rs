//! Reduces `pci.ids` to the vendors of display devices, because the inventory reports their names.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::packages::deb;

/// PCI vendors of the display devices of servers and virtual machines.
const DISPLAY_VENDORS: [&str; 13] = [
    "1002", // AMD
    "1013", // Cirrus Logic
    "102b", // Matrox
    "10de", // NVIDIA
    "1234", // QEMU's standard VGA
    "126f", // Silicon Motion
    "15ad", // VMware
    "18ca", // XGI
    "19e5", // Huawei
    "1a03", // ASPEED
    "1af4", // virtio
    "1b36", // Red Hat (QXL)
    "8086", // Intel
];

/// The package's list, cut down to [`DISPLAY_VENDORS`], without subsystems.
///
/// # Errors
/// When the package is not as expected.
pub fn display_vendors(package: &Path) -> Result<Vec<u8>> {
    let all = deb::read_file(package, "usr/share/misc/pci.ids")?;
    let text = cut(&String::from_utf8_lossy(&all));
    ensure!(
        !text.is_empty(),
        "{} names no vendor of display devices",
        package.display()
    );
    Ok(text.into_bytes())
}

/// A vendor's line begins with its number, its devices' lines with one tab, their subsystems' with two.
fn cut(list: &str) -> String {
    let mut text = String::new();
    let mut wanted = false;
    for line in list.lines() {
        if line.starts_with('#') || line.is_empty() || line.starts_with("\t\t") {
            continue;
        }
        if !line.starts_with('\t') {
            wanted = line
                .split_whitespace()
                .next()
                .is_some_and(|number| DISPLAY_VENDORS.contains(&number));
        }
        if wanted {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn vendors_of_displays_stay_with_their_devices() {
        let list = "# comment\n1013  Cirrus Logic\n\t00b8  GD 5446\n\t\t1af4 1100  QEMU\n14e4  Broadcom\n\t1657  NetXtreme\n\
                    C 03  Display controller\n\t00  VGA\n";
        assert_eq!(cut(list), "1013  Cirrus Logic\n\t00b8  GD 5446\n");
    }
}
