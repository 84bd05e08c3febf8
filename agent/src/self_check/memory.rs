//! `dmidecode`: memory modules, and the maker's names and numbers.

use muster_api::inventory::Inventory;

use super::Report;
use super::tools::output;

const TOOL: &str = "dmidecode";

pub(super) fn smbios(inventory: &Inventory, report: &mut Report) {
    let modules = match output(TOOL, &["--type", "17"]) {
        Ok(text) if text.contains("Memory Device") => text,
        Ok(_) => return report.note("dmidecode finds no tables: memory and maker are not compared"),
        Err(reason) => return report.note(format!("dmidecode is not compared: {reason}")),
    };
    if let Some(memory) = inventory
        .memory
        .as_ref()
        .filter(|memory| memory.physical_bytes_method == TOOL)
    {
        let theirs = module_bytes(&modules).to_string();
        report.compare(
            "memory: modules".into(),
            &memory.physical_bytes.to_string(),
            TOOL,
            &theirs,
            || None,
        );
    }
    let Some(vendor) = &inventory.system_vendor else {
        return;
    };
    for (keyword, ours) in [
        ("system-manufacturer", &vendor.manufacturer),
        ("system-product-name", &vendor.product_name),
        ("system-serial-number", &vendor.serial_number),
    ] {
        let Ok(text) = output(TOOL, &["--string", keyword]) else {
            continue;
        };
        report.compare(
            keyword.to_owned(),
            ours.trim(),
            TOOL,
            text.trim(),
            || match ours.as_str() {
                "unknown" => Some("the protocol's word for a text that the firmware leaves out"),
                "oVirt" | "OracleCloud.com" => Some("the protocol's name for machines of this maker"),
                _ => None,
            },
        );
    }
}

/// The sum of all modules; of persistent ones that part which is used as memory.
fn module_bytes(text: &str) -> u64 {
    let modules = text.split("Memory Device").skip(1);
    modules
        .map(|module| {
            let field = |name: &str| {
                let mut lines = module.lines().map(str::trim);
                lines
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                    .map(str::trim)
            };
            let kinds = ["NVDIMM", "Optane", "non-volatile"];
            let is_persistent = ["Memory Technology", "Type"]
                .iter()
                .filter_map(|name| field(name))
                .any(|kind| kinds.iter().any(|word| kind.contains(word)));
            let size = if is_persistent {
                field("Volatile Size")
            } else {
                field("Size")
            };
            bytes(size.unwrap_or_default())
        })
        .sum()
}

/// `16 GB`, `512 MB`, `No Module Installed`
fn bytes(text: &str) -> u64 {
    let mut words = text.split_whitespace();
    let number = words
        .next()
        .and_then(|word| word.parse::<u64>().ok())
        .unwrap_or(0);
    let shift = match words.next() {
        Some("kB" | "KB") => 10,
        Some("MB") => 20,
        Some("GB") => 30,
        Some("TB") => 40,
        _ => 0,
    };
    number << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_summed_and_persistent_ones_by_their_volatile_part() {
        let text = "Handle 0x1, DMI type 17\nMemory Device\n\tSize: 16 GB\n\tType: DDR4\n\tMemory Technology: DRAM\n\n\
            Memory Device\n\tSize: No Module Installed\n\n\
            Memory Device\n\tSize: 128 GB\n\tMemory Technology: Intel Optane persistent memory\n\tVolatile Size: 32 GB\n";
        assert_eq!(module_bytes(text), 48 << 30);
        assert_eq!(bytes("512 MB"), 512 << 20);
        assert_eq!(bytes("Unknown"), 0);
    }
}
