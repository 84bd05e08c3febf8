//! Finds modules that are carried in vain, because nothing loads them.

use std::collections::{BTreeMap, BTreeSet};

use super::modinfo::ModuleInfo;
use super::modules::module_name;

/// Modules that the kernel, another module or the agent loads by their own names, with the one that does.
const ASKED_BY_NAME: &[(&str, &str)] = &[
    ("dm_crypt", "the device mapper, for the name of a target"),
    ("dm_mirror", "the device mapper"),
    ("dm_thin_pool", "the device mapper"),
    ("iscsi_ibft", "the agent"),
    ("mlx4_en", "mlx4_core of kernels before 6.6"),
    ("nls_ascii", "file systems, for a character set of a mount"),
    ("nls_cp437", "file systems"),
    ("nls_iso8859_1", "file systems"),
    ("nls_utf8", "file systems"),
    ("nvme_tcp", "nvme_fabrics, for a transport"),
    ("scsi_dh_alua", "scsi_mod, for a path to an array"),
    ("scsi_dh_emc", "scsi_mod"),
    ("scsi_dh_hp_sw", "scsi_mod"),
    ("scsi_dh_rdac", "scsi_mod"),
];

/// The modules that no alias, dependant, soft dependency nor entry of [`ASKED_BY_NAME`] would load.
#[must_use]
pub fn unreachable(modules: &BTreeMap<String, ModuleInfo>) -> Vec<String> {
    let wanted: BTreeSet<String> = modules
        .values()
        .flat_map(|info| info.depends.iter().chain(&info.soft_depends))
        .map(|name| name.replace('-', "_"))
        .collect();
    modules
        .iter()
        .map(|(path, info)| (module_name(path), info))
        .filter(|(name, info)| {
            info.aliases.is_empty()
                && !wanted.contains(name)
                && !ASKED_BY_NAME.iter().any(|(asked, _)| asked == name)
        })
        .map(|(name, _)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_nothing_would_load_is_told() {
        let module = |aliases: &[&str], depends: &[&str]| ModuleInfo {
            aliases: aliases.iter().map(|text| (*text).to_owned()).collect(),
            depends: depends.iter().map(|text| (*text).to_owned()).collect(),
            ..ModuleInfo::default()
        };
        let modules = BTreeMap::from([
            (
                "kernel/a/nic.ko".to_owned(),
                module(&["pci:v00008086d*"], &["nic-core"]),
            ),
            ("kernel/a/nic-core.ko".to_owned(), module(&[], &[])),
            ("kernel/a/scsi_dh_alua.ko".to_owned(), module(&[], &[])),
            ("kernel/a/mlx9_en.ko".to_owned(), module(&[], &["nic-core"])),
        ]);
        assert_eq!(unreachable(&modules), ["mlx9_en"]);
    }
}
