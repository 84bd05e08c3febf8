//! Machines that fetched files to boot from, and what to check where one never registers.

use muster_api::boot::{BootFile, BootingMachine};
use muster_api::ids::InfraEnvId;
use muster_api::time::Timestamp;

use crate::hosts;
use crate::words;

/// A machine that fetched files to boot from.
pub struct Booting {
    pub who: String,
    pub file: String,
    pub when: String,
    pub at: String,
    pub refusal: String,
    /// The address of its host, if that registered.
    pub host: Option<String>,
    /// The check to make when it should have registered.
    pub advice: Option<&'static str>,
}

impl Booting {
    pub fn of(machine: &BootingMachine, pool: InfraEnvId, now: &str) -> Option<Self> {
        let last = machine.last()?;
        let who = match machine.mac_address.is_empty() {
            true => machine.ip_address.clone(),
            false => format!("{} ({})", machine.mac_address, machine.ip_address),
        };
        let host = machine.host_id.filter(|_| machine.registered);
        Some(Self {
            who,
            file: last.file.to_string(),
            when: words::relative(&last.last_at, now),
            at: last.last_at.clone(),
            refusal: last.refusal.clone(),
            host: host.map(|id| hosts::address(pool, id)),
            advice: is_late(machine, now).then(|| advice(last.file, !last.refusal.is_empty())),
        })
    }
}

/// True if a machine will not register without help. `now`: RFC 3339.
fn is_late(machine: &BootingMachine, now: &str) -> bool {
    now.parse::<Timestamp>().is_ok_and(|now| machine.is_late(now))
}

/// Source: docs/troubleshooting.md.
fn advice(last: BootFile, is_refused: bool) -> &'static str {
    match last {
        _ if is_refused => "the service refused the file: it boots when the reason is gone",
        BootFile::Script | BootFile::Kernel => {
            "its firmware broke off: look at its screen, and give it more memory (1 GiB at least)"
        }
        BootFile::Iso | BootFile::Initrd | BootFile::Rootfs | BootFile::Agent => {
            "it has the image, and does not reach the service: the reason is on its screen"
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::boot::BootFileRequests;

    use super::*;

    fn machine(file: BootFile, at: &str, registered: bool) -> BootingMachine {
        BootingMachine {
            mac_address: "52:54:00:00:00:01".into(),
            ip_address: "192.0.2.7".into(),
            user_agent: String::new(),
            host_id: None,
            registered,
            files: vec![BootFileRequests {
                file,
                first_at: at.into(),
                last_at: at.into(),
                requests: 1,
                bytes: 1,
                refusal: String::new(),
            }],
        }
    }

    #[test]
    fn advice_comes_after_ten_minutes_without_a_registration() {
        let now = "2026-11-30T12:00:00.000Z";
        let (before, long_before) = ("2026-11-30T11:55:00.000Z", "2026-11-30T11:40:00.000Z");
        let advice = |file, at, registered| {
            let shown = Booting::of(&machine(file, at, registered), InfraEnvId::random(), now);
            shown.unwrap().advice
        };
        assert_eq!(advice(BootFile::Kernel, before, false), None);
        assert_eq!(advice(BootFile::Kernel, long_before, true), None);
        assert!(
            advice(BootFile::Kernel, long_before, false)
                .unwrap()
                .contains("firmware")
        );
        assert!(
            advice(BootFile::Initrd, long_before, false)
                .unwrap()
                .contains("does not reach")
        );
    }
}
