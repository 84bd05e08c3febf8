//! Machines that fetched files to boot from, as far as their requests show. Additions to the protocol.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

use crate::ids::HostId;
use crate::time::Timestamp;

/// File name of the discovery ISO below `/boot/ID`.
pub const DISCOVERY_ISO: &str = "discovery.iso";

/// File name of the kernel, in the folder of [`DISCOVERY_ISO`].
pub const KERNEL: &str = "vmlinuz";

/// File name of the initramfs with the InfraEnv's configuration, in the folder of [`DISCOVERY_ISO`].
pub const INITRD: &str = "initrd.img";

/// File name of the root file system of a CoreOS image, in the folder of [`DISCOVERY_ISO`].
pub const ROOTFS: &str = "rootfs.img";

/// File name of the iPXE script, in the folder of [`DISCOVERY_ISO`].
pub const BOOT_SCRIPT: &str = "boot.ipxe";

/// File name of the iPXE script that sends a machine to [`BOOT_SCRIPT`] with its MAC.
pub const BOOT_ORDER_SCRIPT: &str = "boot-order-control.ipxe";

/// Time without a request after which a machine that boots will not register without help: an emulated one boots in under two minutes, and
/// a server that reads its ISO through a BMC sends requests until it has all of it.
pub const PATIENCE: TimeDelta = TimeDelta::minutes(10);

/// The URL of another file of an InfraEnv by that of its ISO. A URL of another form is returned unchanged.
pub fn beside(iso: &str, file: &str) -> String {
    match iso.strip_suffix(DISCOVERY_ISO) {
        Some(folder) => format!("{folder}{file}"),
        None => iso.to_owned(),
    }
}

/// A file that machines fetch before the agent registers. In the order of a boot; wire names are kebab-case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum BootFile {
    /// An iPXE script.
    Script,
    /// The discovery ISO, whole or in ranges.
    Iso,
    Kernel,
    Initrd,
    /// The root file system of a CoreOS image.
    Rootfs,
    /// The agent, which a CoreOS image fetches.
    Agent,
}

/// The requests of one machine for one file, in its last boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BootFileRequests {
    pub file: BootFile,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub first_at: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_at: String,
    /// Number of requests; an ISO is read in many.
    pub requests: i64,
    /// Bytes that were begun to be sent.
    pub bytes: i64,
    /// The refusal that was the last answer; empty: it was the file.
    pub refusal: String,
}

/// A machine on its way to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BootingMachine {
    /// The network card that its iPXE named; empty: firmware that reads an ISO names none.
    pub mac_address: String,
    /// The address of its last request: its own, that of its BMC, or that of a proxy.
    pub ip_address: String,
    /// The program by its `User-Agent`; empty: the request had none.
    pub user_agent: String,
    /// The host that has this card, this address or this BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    /// True when the host registered after this boot began.
    pub registered: bool,
    /// In the order of a boot; never empty.
    pub files: Vec<BootFileRequests>,
}

impl BootingMachine {
    /// The newest of its requests. With [`BootingMachine::files`] as they are promised there is one.
    pub fn last(&self) -> Option<&BootFileRequests> {
        self.files.iter().max_by_key(|one| (&one.last_at, one.file))
    }

    /// True if it has not registered, and will not without help: its last file was refused, or it [is late](Self::is_late).
    pub fn is_stuck(&self, now: Timestamp) -> bool {
        let is_refused = self.last().is_some_and(|last| !last.refusal.is_empty());
        !self.registered && (is_refused || self.is_late(now))
    }

    /// True if it has not registered, and has requested nothing for [`PATIENCE`].
    pub fn is_late(&self, now: Timestamp) -> bool {
        let last = self
            .last()
            .and_then(|last| last.last_at.parse::<Timestamp>().ok());
        !self.registered && last.is_some_and(|last| now - last >= PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_an_infra_env_are_in_one_folder() {
        assert_eq!(
            beside("http://192.0.2.1:8091/boot/x/discovery.iso", BOOT_SCRIPT),
            "http://192.0.2.1:8091/boot/x/boot.ipxe"
        );
        assert_eq!(beside("http://192.0.2.1/other", KERNEL), "http://192.0.2.1/other");
    }

    #[test]
    fn a_machine_is_late_ten_minutes_after_its_last_request() {
        let file = |file, at: &str| BootFileRequests {
            file,
            first_at: at.into(),
            last_at: at.into(),
            requests: 1,
            bytes: 1,
            refusal: String::new(),
        };
        let mut machine = BootingMachine {
            mac_address: String::new(),
            ip_address: "192.0.2.7".into(),
            user_agent: String::new(),
            host_id: None,
            registered: false,
            files: vec![
                file(BootFile::Script, "2026-11-30T11:00:00.000Z"),
                file(BootFile::Kernel, "2026-11-30T11:50:00.000Z"),
            ],
        };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert!(!machine.is_late(at("2026-11-30T11:59:59.999Z")));
        assert!(machine.is_late(at("2026-11-30T12:00:00.000Z")));
        assert!(machine.is_stuck(at("2026-11-30T12:00:00.000Z")));
        assert!(!machine.is_stuck(at("2026-11-30T11:50:01.000Z")));
        machine.files[1].refusal = "the URL was revoked".into();
        assert!(machine.is_stuck(at("2026-11-30T11:50:01.000Z")));
        machine.registered = true;
        assert!(!machine.is_late(at("2026-11-30T12:00:00.000Z")));
        assert!(!machine.is_stuck(at("2026-11-30T12:00:00.000Z")));
    }
}
