//! How far the machines of a pool came that fetched boot files in the last day, and where the others stopped.

use askama::Template;
use askama::filters::HtmlSafe;
use muster_api::boot::{BootFile, BootingMachine};
use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::FoundHost;

use super::scale::length;
use crate::hosts;
use crate::rest::{Refusal, Visitor};

/// Hosts of which the state is read: a query has at most 256 values, and one is the pool.
const HOSTS: usize = 255;

/// Machines that are named of those that stopped at a step.
const NAMED: usize = 20;

/// Width of the widest bar, in the units of the picture.
const WIDTH: u32 = 560;

/// Height of a step.
const ROW: u32 = 30;

/// The steps in the order of a boot.
const STEPS: [&str; 6] = [
    "Boot files",
    "Kernel",
    "Initrd or ISO",
    "Agent",
    "Registered",
    "Fit",
];

/// The step that a machine has with its registration.
const REGISTERED: usize = 4;

/// The last step.
const FIT: usize = 5;

#[derive(Template)]
#[template(path = "pictures/funnel.html")]
pub struct Funnel {
    steps: Vec<Step>,
    height: u32,
    /// Registered machines of which the state was not read.
    left_out: usize,
}

impl HtmlSafe for Funnel {}

/// A step, and the machines that stopped there.
struct Step {
    name: &'static str,
    /// Its row in the table.
    id: String,
    came: usize,
    stopped: Vec<Machine>,
    stopped_count: usize,
    y: u32,
    text_y: u32,
    width: u32,
    /// Where the number stands.
    note_x: u32,
}

struct Machine {
    name: String,
    /// The address of its host, if that registered.
    address: Option<String>,
}

impl Funnel {
    /// `None`: no machine fetched a file.
    ///
    /// # Errors
    /// As REST refuses.
    pub async fn of(
        visitor: &Visitor,
        pool: InfraEnvId,
        machines: &[BootingMachine],
    ) -> Result<Option<Self>, Refusal> {
        if machines.is_empty() {
            return Ok(None);
        }
        let registered = machines.iter().filter(|machine| machine.registered);
        let mut ids: Vec<HostId> = registered.filter_map(|machine| machine.host_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let left_out = ids.len().saturating_sub(HOSTS);
        let ids: Vec<String> = ids.iter().take(HOSTS).map(ToString::to_string).collect();
        let found = match ids.is_empty() {
            true => Vec::new(),
            false => {
                let query = format!("pool:{pool} id:{}", ids.join(","));
                visitor.hosts(&query, HOSTS, "").await?.hosts
            }
        };
        Ok(Some(Self {
            steps: steps(machines, &found, pool),
            height: ROW * 6 + 4,
            left_out,
        }))
    }
}

/// The last step that a machine reached. An image that was made by us has the agent in it, so the agent is known by its registration.
fn reached(machine: &BootingMachine, hosts: &[FoundHost]) -> usize {
    if machine.registered {
        let host = machine
            .host_id
            .and_then(|id| hosts.iter().find(|host| host.id == id));
        return match host.is_some_and(|host| is_fit(host.status)) {
            true => FIT,
            false => REGISTERED,
        };
    }
    let files = machine.files.iter().filter(|file| file.refusal.is_empty());
    let steps = files.map(|file| match file.file {
        BootFile::Script => 0,
        BootFile::Kernel => 1,
        BootFile::Iso | BootFile::Initrd | BootFile::Rootfs => 2,
        BootFile::Agent => 3,
    });
    steps.max().unwrap_or_default()
}

/// True for hosts whose checks have passed.
fn is_fit(status: HostStatus) -> bool {
    let is_undecided = matches!(
        status,
        HostStatus::Discovering | HostStatus::DiscoveringUnbound | HostStatus::Binding
    );
    !is_undecided && hosts::mood(status) != "bad"
}

fn steps(machines: &[BootingMachine], hosts: &[FoundHost], pool: InfraEnvId) -> Vec<Step> {
    let mut stopped: [Vec<&BootingMachine>; STEPS.len()] = Default::default();
    for machine in machines {
        if let Some(at_step) = stopped.get_mut(reached(machine, hosts)) {
            at_step.push(machine);
        }
    }
    let all = machines.len();
    let mut left = all;
    let steps = STEPS.iter().zip(stopped).zip(0_u32..);
    let steps = steps.map(|((&name, at_step), place)| {
        let came = left;
        left -= at_step.len();
        let is_last = name == STEPS[FIT];
        let width = length(came as u64, all as u64, WIDTH);
        Step {
            name,
            id: format!("boot-step-{place}"),
            came,
            stopped_count: if is_last { 0 } else { at_step.len() },
            stopped: match is_last {
                true => Vec::new(),
                false => at_step
                    .iter()
                    .take(NAMED)
                    .map(|one| Machine::of(one, hosts, pool))
                    .collect(),
            },
            y: place * ROW + 4,
            text_y: place * ROW + 21,
            width,
            note_x: 140 + width + 8,
        }
    });
    steps.collect()
}

impl Machine {
    fn of(machine: &BootingMachine, found: &[FoundHost], pool: InfraEnvId) -> Self {
        let host = machine.host_id.filter(|_| machine.registered);
        let known = host.and_then(|id| found.iter().find(|host| host.id == id));
        let name = match (known, machine.mac_address.is_empty()) {
            (Some(host), _) => &host.name,
            (None, true) => &machine.ip_address,
            (None, false) => &machine.mac_address,
        };
        Self {
            name: name.clone(),
            address: host.map(|id| hosts::address(pool, id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::boot::BootFileRequests;

    use super::*;

    fn machine(number: u8, files: &[(BootFile, &str)], registered: bool) -> BootingMachine {
        BootingMachine {
            mac_address: format!("52:54:00:00:00:{number:02x}"),
            ip_address: "192.0.2.7".into(),
            user_agent: String::new(),
            host_id: registered.then(HostId::random),
            registered,
            files: files
                .iter()
                .map(|(file, refusal)| BootFileRequests {
                    file: *file,
                    first_at: String::new(),
                    last_at: String::new(),
                    requests: 1,
                    bytes: 1,
                    refusal: (*refusal).into(),
                })
                .collect(),
        }
    }

    #[test]
    fn each_step_has_those_that_came_and_those_that_stopped() {
        let all = [
            machine(1, &[(BootFile::Script, "")], false),
            machine(2, &[(BootFile::Script, ""), (BootFile::Kernel, "refused")], false),
            machine(3, &[(BootFile::Iso, "")], false),
            machine(4, &[(BootFile::Script, ""), (BootFile::Initrd, "")], true),
        ];
        let steps = steps(&all, &[], InfraEnvId::random());
        let came: Vec<usize> = steps.iter().map(|step| step.came).collect();
        assert_eq!(came, [4, 2, 2, 1, 1, 0]);
        let stopped: Vec<usize> = steps.iter().map(|step| step.stopped_count).collect();
        assert_eq!(stopped, [2, 0, 1, 0, 1, 0]);
        let widths: Vec<u32> = steps.iter().map(|step| step.width).collect();
        assert_eq!(widths, [WIDTH, WIDTH / 2, WIDTH / 2, WIDTH / 4, WIDTH / 4, 0]);
        assert_eq!(steps[0].stopped[0].name, "52:54:00:00:00:01");
        assert!(steps[0].stopped[0].address.is_none() && steps[4].stopped[0].address.is_some());
    }

    #[test]
    fn a_host_without_passed_checks_is_not_fit() {
        assert!(is_fit(HostStatus::KnownUnbound) && is_fit(HostStatus::Installing));
        assert!(!is_fit(HostStatus::DiscoveringUnbound) && !is_fit(HostStatus::InsufficientUnbound));
    }
}
