//! The kernel argument that names the BMC by which a machine was booted.

use muster_api::ids::BmcId;

/// Kernels ignore arguments of unknown modules (`MODULE.NAME`).
const NAME: &str = "muster.bmc=";

/// `muster.bmc=` and 32 digits.
pub fn boot_argument(id: BmcId) -> String {
    format!("{NAME}{}", id.0.simple())
}

/// The BMC that a kernel's command line names; the last one if several do.
pub fn booted_by(command_line: &str) -> Option<BmcId> {
    let values = command_line.split_ascii_whitespace().rev();
    let value = values.filter_map(|argument| argument.strip_prefix(NAME)).next()?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_tells_the_bmc_that_it_was_booted_by() {
        let id = BmcId::random();
        let line = format!("quiet {} rd.x=1\n", boot_argument(id));
        assert_eq!(booted_by(&line), Some(id));
        for other in [
            "",
            "quiet",
            "muster.bmc=",
            "muster.bmc=zz",
            "xmuster.bmc=00000000000000000000000000000000",
        ] {
            assert_eq!(booted_by(other), None, "{other}");
        }
    }
}
