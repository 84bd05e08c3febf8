use super::Profile;
use super::table::{ROWS, STANDARD};

/// A BMC's description of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// ServiceRoot `Vendor`, or the one key of its `Oem`, or the system's `Manufacturer`.
    pub vendor: String,
    /// ServiceRoot `Product`.
    pub product: String,
    pub manager_model: String,
    /// The manager's firmware version.
    pub firmware: String,
    pub system_model: String,
    pub system_id: String,
    /// Model of the processors.
    pub processor: String,
}

/// Conditions of a row; all must hold. Texts are compared in any case of letters.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    /// One of these is in the vendor's name.
    pub vendor: &'static [&'static str],
    /// One of these is in the product, the manager's model, the system's model or id; empty: any.
    pub model: &'static [&'static str],
    pub processor: &'static str,
    /// Least firmware version; 0.0.0 includes unknown versions.
    pub from: [u32; 3],
    /// Firmware version before this.
    pub before: Option<[u32; 3]>,
}

pub(super) fn choose(identity: &Identity) -> Profile {
    let row = ROWS.iter().find(|(when, _)| when.fits(identity));
    row.map_or(STANDARD, |(_, profile)| *profile)
}

impl When {
    fn fits(&self, identity: &Identity) -> bool {
        let within = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        let models = [
            &identity.product,
            &identity.manager_model,
            &identity.system_model,
            &identity.system_id,
        ];
        let model = |part: &&str| models.iter().any(|text| within(text, part));
        let version = version(&identity.firmware);
        let firmware = match (version, self.before) {
            (Some(version), before) => version >= self.from && before.is_none_or(|before| version < before),
            (None, before) => self.from == [0, 0, 0] && before.is_none(),
        };
        self.vendor.iter().any(|vendor| within(&identity.vendor, vendor))
            && (self.model.is_empty() || self.model.iter().any(model))
            && within(&identity.processor, self.processor)
            && firmware
    }
}

/// The first word with a dot among digits: `iLO 5 v2.72` is 2.72.0, `TEI392M 2.51` 2.51.0, `6.00.02.00` 6.0.2.
fn version(text: &str) -> Option<[u32; 3]> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .find_map(|word| {
            let word = word.trim_matches('.');
            let mut parts = word.contains('.').then(|| word.split('.'))?;
            let mut next = || parts.next().map_or(Some(0), |part| part.parse().ok());
            Some([next()?, next()?, next()?])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(
        vendor: &str,
        manager_model: &str,
        firmware: &str,
        system_model: &str,
        processor: &str,
    ) -> &'static str {
        let [vendor, manager_model, firmware, system_model, processor] =
            [vendor, manager_model, firmware, system_model, processor].map(str::to_owned);
        choose(&Identity {
            vendor,
            manager_model,
            firmware,
            system_model,
            processor,
            ..Identity::default()
        })
        .name
    }

    #[test]
    fn versions_are_read_from_vendors_texts() {
        for (text, found) in [
            ("6.00.02.00", Some([6, 0, 2])),
            ("iLO 5 v2.72", Some([2, 72, 0])),
            ("TEI392M 2.51 2020-01-01", Some([2, 51, 0])),
            ("1.10.05.00", Some([1, 10, 5])),
            ("", None),
            ("bmc", None),
            ("99999999999.1", None),
        ] {
            assert_eq!(version(text), found, "{text}");
        }
    }

    #[test]
    fn each_kind_of_bmc_finds_its_row() {
        for (found, expected) in [
            (
                name("Dell", "17G Monolithic", "1.20.50.50", "R770", "Intel"),
                "Dell iDRAC10",
            ),
            (
                name("Dell", "14G Monolithic", "7.00.00.00", "R740", "AMD"),
                "Dell iDRAC9",
            ),
            (
                name("Dell", "14G Monolithic", "5.10.00.00", "R740", "Intel(R)"),
                "Dell iDRAC9 before 6.00",
            ),
            (
                name("Dell", "14G Monolithic", "5.10.00.00", "R7515", "AMD EPYC"),
                "Dell iDRAC before virtual CDs",
            ),
            (
                name("Dell", "13G Monolithic", "2.83.83.83", "R730", "Intel"),
                "Dell iDRAC before virtual CDs",
            ),
            (name("Dell", "", "", "", ""), "Dell iDRAC9"),
            (name("HPE", "iLO 4", "iLO 4 v2.82", "", ""), "HPE iLO 4"),
            (name("Hpe", "iLO 5", "iLO 5 v2.72", "", ""), "HPE iLO"),
            (name("HPE", "", "", "HPE CRAY EX425 (MILAN)", ""), "HPE Cray EX"),
            (
                name(
                    "Lenovo",
                    "Lenovo XClarity Controller",
                    "TEI392M 2.51",
                    "SR650",
                    "",
                ),
                "Lenovo XCC",
            ),
            // Later machines restart the numbering of their versions.
            (
                name(
                    "Lenovo",
                    "Lenovo XClarity Controller",
                    "TGBT20E 1.40",
                    "SR670 V2",
                    "",
                ),
                "Lenovo XCC",
            ),
            (
                name("Lenovo", "Lenovo XClarity Controller 2", "3.10", "SR650 V3", ""),
                "Lenovo XCC2",
            ),
            (
                name("Lenovo", "Lenovo XClarity Controller 2", "3.10", "SR675 V3", ""),
                "Lenovo SR675",
            ),
            (name("Lenovo", "TSM", "1.0", "SR635", ""), "Lenovo TSM"),
            (
                name("Supermicro", "ASPEED", "01.00.35", "SYS-120U", ""),
                "Supermicro",
            ),
            (
                name("Supermicro", "ASPEED", "1.73.14", "X11DPT-B", ""),
                "Supermicro X11",
            ),
            (
                name("Supermicro", "", "", "ARS-111GL-NHR", ""),
                "Supermicro ARS-111GL-NHR",
            ),
            (name("FUJITSU", "iRMC S6", "2.00", "", ""), "Fujitsu iRMC"),
            (name("AMI", "", "", "", ""), "AMI"),
            (name("ASRockRack", "", "", "", ""), "AMI"),
            (name("NVIDIA", "", "", "DGXH100", ""), "NVIDIA DGX"),
            (name("NVIDIA", "", "", "GB200 NVL", ""), "NVIDIA Grace"),
            (name("xFusion", "iBMC", "3.1", "", ""), "Huawei iBMC"),
            (name("OpenBMC", "OpenBmc", "2.16", "", ""), "OpenBMC"),
            (name("Sushy Emulator", "", "", "", ""), "standard"),
            (name("", "", "", "", ""), "standard"),
        ] {
            assert_eq!(found, expected);
        }
    }
}
