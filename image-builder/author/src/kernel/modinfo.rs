//! Reads the ELF section `.modinfo` of kernel modules: dependencies, firmware, aliases.

use anyhow::{Context, Result};
use object::{Object as _, ObjectSection as _};

/// The fields that decide which other files the module needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Modules that must be loaded before (`depends`), by name.
    pub depends: Vec<String>,
    /// Modules that should be loaded before or after (`softdep`), by name or alias.
    pub soft_depends: Vec<String>,
    /// Firmware files that it may request, relative to the firmware folder.
    pub firmware: Vec<String>,
    /// Patterns of devices, and further names by which it is requested (`alias`).
    pub aliases: Vec<String>,
    /// Release of the kernel that it was built for (`vermagic`).
    pub kernel: Option<String>,
}

/// Reads the section of a `.ko` file.
///
/// # Errors
/// When the bytes are no ELF file or have no such section.
pub fn parse(module: &[u8]) -> Result<ModuleInfo> {
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(module)
        .context("it is not a 64-bit ELF file")?;
    let section = elf
        .section_by_name(".modinfo")
        .context("it has no section .modinfo")?;
    Ok(parse_section(section.data()?))
}

/// NUL-terminated strings `key=value`.
fn parse_section(section: &[u8]) -> ModuleInfo {
    let mut info = ModuleInfo::default();
    for field in section.split(|byte| *byte == 0) {
        let field = String::from_utf8_lossy(field);
        match field.split_once('=') {
            Some(("depends", names)) => {
                info.depends.extend(
                    names
                        .split(',')
                        .filter(|name| !name.is_empty())
                        .map(str::to_owned),
                );
            }
            Some(("softdep", text)) => info.soft_depends.extend(
                text.split_whitespace()
                    .filter(|word| !word.ends_with(':'))
                    .map(str::to_owned),
            ),
            Some(("firmware", name)) => info.firmware.push(name.to_owned()),
            Some(("alias", name)) => info.aliases.push(name.to_owned()),
            Some(("vermagic", text)) => info.kernel = text.split(' ').next().map(str::to_owned),
            _ => {}
        }
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order_and_empty_dependencies_are_none() {
        let info = parse_section(
            b"license=GPL\0depends=libphy,mdio\0softdep=pre: crc32c post: nd_pmem\0\
              firmware=tigon/tg3.bin\0firmware=tigon/tg3_tso.bin\0depends=\0\
              alias=pci:v000014E4d00001644sv*sd*bc*sc*i*\0vermagic=6.12.1-amd64 SMP preempt mod_unload modversions \0",
        );
        assert_eq!(info.aliases, ["pci:v000014E4d00001644sv*sd*bc*sc*i*"]);
        assert_eq!(info.kernel.as_deref(), Some("6.12.1-amd64"));
        assert_eq!(info.depends, ["libphy", "mdio"]);
        assert_eq!(info.soft_depends, ["crc32c", "nd_pmem"]);
        assert_eq!(info.firmware, ["tigon/tg3.bin", "tigon/tg3_tso.bin"]);
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(parse(b"#!/bin/sh\n").is_err());
    }
}
