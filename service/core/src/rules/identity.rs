//! Two machines that claim one host id. The id is computed from the board's serial number, which some makers print on
//! every board.
//!
//! Machines are distinguished by network cards and disks: the texts on the board made the ids equal, so they prove
//! nothing. Two machines with our agent are both kept: [`compare`] gives the second an id of its own, which the
//! registration returns. Upstream agents report no fingerprint, and keep their id; [`flipped`] detects that two of them
//! take turns. The id is the name of the host's Agent, too, so [`elsewhere`] does the same for two InfraEnvs of one
//! namespace.

mod evidence;

use std::collections::BTreeSet;

use muster_api::fingerprint::Fingerprint;
use muster_api::host::HostFinding;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use uuid::Uuid;

pub(crate) use evidence::is_gadget;
pub use evidence::{is_same_machine, macs};

use super::hostname;
use crate::record::{Host, InfraEnv};
use crate::text::one_line;

/// `kind` of findings about this.
pub const DUPLICATE_HOST_ID: &str = "duplicate-host-id";

/// Most findings about duplicates that one host keeps; one finding stands for all further machines. The holder of an
/// image's token can claim any id with ever new fingerprints.
pub const MOST_DUPLICATES: usize = 16;

/// The result of comparing a machine that claims the id of a known host with that host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// The same machine, as far as is known. It registers under the claimed id.
    Same,
    /// It is another machine.
    Different(Box<Duplicate>),
}

/// A second machine of one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The second machine's id, the same at each of its registrations.
    pub id: HostId,
    /// The finding to apply to the host that had the id first, with `HostEvent::IdClaimed`.
    pub on_first: HostFinding,
    /// The finding to apply to the second host, likewise, after its registration.
    pub on_second: HostFinding,
}

/// Compares the machine with the fingerprint `new`, which claims the id of `existing`, with `existing`. Without two
/// comparable fingerprints it counts as the same machine.
pub fn compare(existing: &Host, new: &Fingerprint) -> Comparison {
    let Some(known) = &existing.data.fingerprint else {
        return Comparison::Same;
    };
    if is_same_machine(known, new) {
        return Comparison::Same;
    }
    let id = own_id(existing.id, new);
    let (first, second) = (describe(known), describe(new));
    let what_to_do = "Nothing is lost: both are kept. If this is one machine whose parts were replaced, delete the host that is not needed; if they are two, settle it";
    let name = hostname::display(existing);
    let on_first = format!(
        "Another machine ({second}) computes the same host id as {name} ({first}); it is kept as host {id}. {what_to_do}"
    );
    let on_second = format!(
        "This machine ({second}) computes the host id {} of another one ({name}, {first}), so it is kept under an id of its own. {what_to_do}",
        existing.id
    );
    Comparison::Different(Box::new(Duplicate::of(existing.id, id, on_first, on_second)))
}

/// A machine that registers in the InfraEnv `to` with the id of `existing`, a host of `from` that keeps the id: the
/// machine gets an id of its own there, whether it is the same machine or not.
pub fn elsewhere(existing: &Host, from: &InfraEnv, new: &Fingerprint, to: &InfraEnv) -> Duplicate {
    let id = own_id_in(existing.id, to.id, new);
    let what_to_do = "Nothing is lost: both are kept. If this is one machine that was moved, delete the host that is not needed; if they are two, settle it";
    let name = hostname::display(existing);
    let on_first = format!(
        "A machine ({}) of the InfraEnv {} computes the same host id as {name}; it is kept there as host {id}. {what_to_do}",
        describe(new),
        to.name
    );
    let on_second = format!(
        "This machine ({}) computes the host id {} of {name} in the InfraEnv {}, so it is kept under an id of its own. {what_to_do}",
        describe(new),
        existing.id,
        from.name
    );
    Duplicate::of(existing.id, id, on_first, on_second)
}

impl Duplicate {
    fn of(claimed: HostId, id: HostId, on_first: String, on_second: String) -> Self {
        let finding = |other: HostId, message: String| HostFinding {
            kind: DUPLICATE_HOST_ID.into(),
            about: claimed.to_string(),
            others: vec![other],
            message,
        };
        Self {
            id,
            on_first: finding(id, on_first),
            on_second: finding(claimed, on_second),
        }
    }
}

/// Hosts that once claimed the id of `first`. A machine whose fingerprint has changed a little since ([`own_id`] would
/// differ) is found among them with [`is_same_machine`].
pub fn duplicates(first: &Host) -> Vec<HostId> {
    let found = first.data.findings.iter();
    let found =
        found.filter(|finding| finding.kind == DUPLICATE_HOST_ID && finding.about == first.id.to_string());
    let all: BTreeSet<HostId> = found
        .flat_map(|finding| &finding.others)
        .chain(&first.data.settled_with)
        .copied()
        .collect();
    all.into_iter().collect()
}

/// The id of a second machine that claims `claimed`: a UUID of version 5 in the namespace of that id. Computed from the
/// board's ids and the first card (or else disk) only, so that an added card or a removed disk does not lead to a third
/// host.
pub fn own_id(claimed: HostId, fingerprint: &Fingerprint) -> HostId {
    let part = evidence::first_mac(&fingerprint.macs).or(fingerprint.disk_wwns.first());
    let name = [
        fingerprint.board_serial.as_str(),
        &fingerprint.system_serial,
        &fingerprint.system_uuid,
        part.map_or("", String::as_str),
    ]
    .join("\n");
    HostId(Uuid::new_v5(&claimed.0, name.as_bytes()))
}

/// The same for a machine that registers in the InfraEnv `to` while a host of another one has the id.
pub fn own_id_in(claimed: HostId, to: InfraEnvId, fingerprint: &Fingerprint) -> HostId {
    own_id(HostId(Uuid::new_v5(&claimed.0, to.0.as_bytes())), fingerprint)
}

/// The finding for two successive inventories of one session that are of two machines. The same for both directions.
pub(crate) fn flipped(old: &Inventory, new: &Inventory) -> Option<HostFinding> {
    if !evidence::are_of_two_machines(old, new) {
        return None;
    }
    let (old_macs, new_macs) = (evidence::macs(old), evidence::macs(new));
    let mut machines = [
        (machine(old, &old_macs), old_macs),
        (machine(new, &new_macs), new_macs),
    ];
    machines.sort();
    let first_macs: Vec<&str> = machines
        .iter()
        .zip([&machines[1].1, &machines[0].1])
        .filter_map(|((_, own), other)| own.difference(other).next())
        .map(String::as_str)
        .collect();
    Some(HostFinding {
        kind: DUPLICATE_HOST_ID.into(),
        about: first_macs.join(" "),
        others: Vec::new(),
        message: format!(
            "Two machines take turns under this host id: {}, and {}. Give their boards serial numbers of their own, or boot them from the Muster image, which keeps such machines apart",
            machines[0].0, machines[1].0
        ),
    })
}

/// Adds a finding, unless it exists or is settled. One finding above [`MOST_DUPLICATES`] stands for all that follow.
pub(crate) fn note(host: &mut Host, finding: HostFinding) {
    let settled = |id: &HostId| host.data.settled_with.contains(id);
    let noted = |finding: &HostFinding| {
        host.data.findings.iter().any(|known| {
            known.kind == finding.kind && known.about == finding.about && known.others == finding.others
        })
    };
    if noted(&finding) || !finding.others.is_empty() && finding.others.iter().all(settled) {
        return;
    }
    let finding = if lasting(host).len() < MOST_DUPLICATES {
        finding
    } else {
        more(host)
    };
    if !noted(&finding) {
        host.data.findings.push(finding);
        host.data.findings.sort();
    }
}

/// The finding that stands for those that are not kept.
fn more(host: &Host) -> HostFinding {
    HostFinding {
        kind: DUPLICATE_HOST_ID.into(),
        about: host.id.to_string(),
        others: Vec::new(),
        message: format!(
            "More than {MOST_DUPLICATES} other machines claim this host id; only these are named. Either the maker gave all boards one serial number, or somebody plays with the token of this InfraEnv"
        ),
    }
}

/// Records an operator's confirmation: the findings are removed, and the hosts that they name lead to no new ones.
pub(crate) fn settle(host: &mut Host, other: Option<HostId>) {
    let meant = |finding: &HostFinding| {
        finding.kind == DUPLICATE_HOST_ID && other.is_none_or(|other| finding.others.contains(&other))
    };
    for finding in host.data.findings.iter().filter(|finding| meant(finding)) {
        host.data.settled_with.extend(&finding.others);
    }
    host.data.findings.retain(|finding| !meant(finding));
    host.data.settled_with.sort();
    host.data.settled_with.dedup();
}

/// The findings that are kept as they are when others are evaluated: no later report can disprove them.
pub fn lasting(host: &Host) -> Vec<HostFinding> {
    let findings = host.data.findings.iter();
    findings
        .filter(|finding| finding.kind == DUPLICATE_HOST_ID)
        .cloned()
        .collect()
}

fn machine(inventory: &Inventory, macs: &BTreeSet<String>) -> String {
    let vendor = inventory.system_vendor.as_ref();
    let serial = vendor.map_or("", |vendor| &vendor.serial_number);
    let macs: Vec<&str> = macs.iter().take(4).map(String::as_str).collect();
    one_line(
        &format!(
            "{} (serial {serial:?}, MAC {})",
            inventory.hostname,
            macs.join(" ")
        ),
        400,
    )
}

fn describe(fingerprint: &Fingerprint) -> String {
    let list = |what: &str, list: &[String]| {
        let shown = list
            .iter()
            .take(4)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        (!shown.is_empty()).then(|| format!("{what} {shown}"))
    };
    let text = |what: &str, text: &str| (!text.is_empty()).then(|| format!("{what} {text}"));
    let parts: Vec<String> = [
        text("board", &fingerprint.board_serial),
        text("system", &fingerprint.system_serial),
        list("MAC", &fingerprint.macs),
        list("disk", &fingerprint.disk_wwns),
    ]
    .into_iter()
    .flatten()
    .collect();
    one_line(&parts.join(", "), 600)
}
