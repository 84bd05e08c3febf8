//! Options of bonds, as the kernel has them in sysfs: the options of a configuration, setting them, and reading them back. Names and
//! values are the bonding driver's. Source: the kernel's Documentation/networking/bonding.rst.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use muster_api::live::network::{Bond, BondMode};

/// Default interval between two looks at the carrier of a bond's port: without one, a port that lost its carrier stays in
/// use.
const MIIMON: u32 = 100;
const INTERFACES: &str = "/sys/class/net";

/// The option that chooses the port in use.
pub const ACTIVE: &str = "active_slave";
/// An option with values that sysfs has as numbers only.
const ALL_ACTIVE: &str = "all_slaves_active";
/// Options that are lists, to which sysfs adds one value at a time.
const LISTS: &str = "_target";

/// The options of a configuration, in an order in which the kernel accepts them. The primary and the active port are not
/// among them, since they can be chosen once they are ports.
pub fn wanted(bond: &Bond) -> Vec<(&str, String)> {
    let mode: &'static str = bond.mode.into();
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let rate = if bond.lacp_fast { "fast" } else { "slow" };
    let policy = bond.xmit_hash_policy.map(<&'static str>::from);
    // A bond that monitors its ports by ARP does not monitor carriers.
    let by_arp = bond.options.contains_key("arp_interval");
    let miimon = bond.miimon.or((!by_arp).then_some(MIIMON));
    let options = [
        ("mode", Some(mode.to_owned())),
        ("miimon", number(miimon)),
        ("updelay", number(bond.updelay)),
        ("downdelay", number(bond.downdelay)),
        // No other mode has it.
        (
            "lacp_rate",
            (bond.mode == BondMode::Lacp).then(|| rate.to_owned()),
        ),
        ("xmit_hash_policy", policy.map(str::to_owned)),
    ];
    let named = options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let others = bond.options.iter().filter(|(name, _)| *name != ACTIVE);
    let others = others.map(|(name, value)| match name.as_str() {
        ALL_ACTIVE => (ALL_ACTIVE, u8::from(value == "delivered").to_string()),
        name => (name, value.clone()),
    });
    named.chain(others).collect()
}

/// The options of one bond.
pub struct Options(PathBuf);

impl Options {
    /// The options of the bond of that name on this machine.
    pub fn of(bond: &str) -> Self {
        Self::in_folder(Path::new(INTERFACES), bond)
    }

    fn in_folder(interfaces: &Path, bond: &str) -> Self {
        Self(interfaces.join(bond).join("bonding"))
    }

    /// The value: of several forms (`802.3ad 4`) the first, of a list all with commas; empty if the option has no value.
    ///
    /// # Errors
    /// Fails if the kernel has no such option, or no such bond.
    pub fn read(&self, name: &str) -> std::io::Result<String> {
        let text = std::fs::read_to_string(self.0.join(name))?;
        let mut words = text.split_whitespace();
        if name.ends_with(LISTS) {
            return Ok(words.collect::<Vec<_>>().join(","));
        }
        Ok(words.next().unwrap_or_default().to_owned())
    }

    /// The value; `None`: this kernel has no such option. `lacp_active` came with Linux 5.15, `arp_missed_max` with 5.17,
    /// `ns_ip6_target` with 5.18.
    pub fn value(&self, name: &str) -> Option<String> {
        match self.read(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            read => Some(read.unwrap_or_default()),
        }
    }

    /// Sets an option unless it has that value.
    ///
    /// # Errors
    /// `NotFound`: this kernel has no such option. Else it does not take the value, or not as the bond is: some options want one
    /// without ports, or one that is down.
    pub fn set(&self, name: &str, value: &str) -> std::io::Result<()> {
        let present = self.read(name)?;
        if present == value {
            return Ok(());
        }
        let file = self.0.join(name);
        if !name.ends_with(LISTS) {
            return std::fs::write(file, value);
        }
        let has = |list: &str, one: &str| list.split(',').any(|other| other == one);
        let gone = present
            .split(',')
            .filter(|one| !one.is_empty() && !has(value, one));
        let new = value.split(',').filter(|one| !has(&present, one));
        let mut changes = gone
            .map(|one| format!("-{one}"))
            .chain(new.map(|one| format!("+{one}")));
        changes.try_for_each(|change| std::fs::write(&file, change))
    }
}

#[cfg(test)]
mod tests {
    use muster_api::live::network::HashPolicy;

    use super::*;

    #[test]
    fn a_bond_has_the_options_that_are_said_and_always_looks_at_its_carriers() {
        let bond = Bond {
            mode: BondMode::Lacp,
            lacp_fast: true,
            xmit_hash_policy: Some(HashPolicy::Layer34),
            updelay: Some(200),
            ..Bond::default()
        };
        let text = |(name, value): (&str, String)| format!("{name}={value}");
        let options: Vec<String> = wanted(&bond).into_iter().map(text).collect();
        assert_eq!(
            options.join(","),
            "mode=802.3ad,miimon=100,updelay=200,lacp_rate=fast,xmit_hash_policy=layer3+4"
        );
        let plain: Vec<String> = wanted(&Bond::default()).into_iter().map(text).collect();
        assert_eq!(plain.join(","), "mode=balance-rr,miimon=100");
        let mut by_arp = Bond {
            mode: BondMode::ActiveBackup,
            ..Bond::default()
        };
        for (option, value) in [
            ("arp_interval", "50"),
            ("arp_ip_target", "10.0.0.1,10.0.0.2"),
            ("all_slaves_active", "delivered"),
            ("active_slave", "eth3"),
        ] {
            by_arp.set(option, value).unwrap();
        }
        let by_arp: Vec<String> = wanted(&by_arp).into_iter().map(text).collect();
        assert_eq!(
            by_arp.join(" "),
            "mode=active-backup all_slaves_active=1 arp_interval=50 arp_ip_target=10.0.0.1,10.0.0.2"
        );
    }

    #[test]
    fn options_are_read_as_the_kernel_writes_them_and_written_where_they_differ() {
        let folder = tempfile::tempdir().unwrap();
        let bonding = folder.path().join("bond0/bonding");
        std::fs::create_dir_all(&bonding).unwrap();
        for (name, text) in [("mode", "802.3ad 4\n"), ("miimon", "0\n"), ("primary", "\n")] {
            std::fs::write(bonding.join(name), text).unwrap();
        }
        let options = Options::in_folder(folder.path(), "bond0");
        assert_eq!(options.read("mode").unwrap(), "802.3ad");
        assert_eq!(options.read("primary").unwrap(), "");
        options.set("mode", "802.3ad").unwrap();
        options.set("miimon", "140").unwrap();
        let raw = |name: &str| std::fs::read_to_string(bonding.join(name)).unwrap();
        assert_eq!(
            (raw("mode").as_str(), raw("miimon").as_str()),
            ("802.3ad 4\n", "140")
        );
        assert_eq!(options.value("miimon").as_deref(), Some("140"));
        assert_eq!(options.value("lacp_active"), None);
        let error = options.set("lacp_active", "off").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(!bonding.join("lacp_active").exists());
        std::fs::write(bonding.join("arp_ip_target"), "10.0.0.1 10.0.0.2\n").unwrap();
        assert_eq!(options.read("arp_ip_target").unwrap(), "10.0.0.1,10.0.0.2");
        options.set("arp_ip_target", "10.0.0.1,10.0.0.2").unwrap();
        options
            .set("arp_ip_target", "10.0.0.1,10.0.0.2,10.0.0.3")
            .unwrap();
        assert_eq!(raw("arp_ip_target"), "+10.0.0.3");
    }
}
