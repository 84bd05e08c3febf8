//! Reads errors of memory as its controllers count them. Source: Documentation/admin-guide/ras.rst of Linux.

use crate::root::Root;

const CONTROLLERS: &str = "/sys/devices/system/edac/mc";

/// Errors since the boot, of all controllers; zero also without a driver that counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Errors {
    pub corrected: u64,
    pub uncorrected: u64,
}

pub(super) fn errors(root: &Root) -> Errors {
    let names = root.list(CONTROLLERS).unwrap_or_default();
    let is_controller = |name: &&String| {
        name.strip_prefix("mc")
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
    };
    let mut errors = Errors::default();
    for name in names.iter().filter(is_controller) {
        let count = |file: &str| -> u64 {
            let text = root.text(&format!("{CONTROLLERS}/{name}/{file}"));
            text.ok().and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        errors.corrected = errors.corrected.saturating_add(count("ce_count"));
        errors.uncorrected = errors.uncorrected.saturating_add(count("ue_count"));
    }
    errors
}
