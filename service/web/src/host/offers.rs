//! The actions that a host's page offers, as forms: those of its present state, the next step first.

use muster_api::bmc::Bmc;
use muster_api::cluster::Cluster;
use muster_api::host::{Host, HostRole, HostStatus};
use muster_api::inventory::{Disk, Inventory};

use super::actions::{Action, FORCE};
use super::labels;
use crate::words;

/// The roles that a user gives.
const ROLES: [HostRole; 4] = [
    HostRole::AutoAssign,
    HostRole::Master,
    HostRole::Arbiter,
    HostRole::Worker,
];

/// Longest id of a disk, bytes: it is a path, and no kernel has longer ones.
const LONGEST_ID: usize = 4096;

/// A form with one action.
pub struct Offer {
    pub action: Action,
    pub button: &'static str,
    /// Class of the button; empty: none.
    pub style: &'static str,
    /// Label of the field; empty: there is none.
    pub label: &'static str,
    /// A field of one line.
    pub text: Option<String>,
    /// A field of several lines.
    pub lines: Option<String>,
    /// A field with a choice; exactly one is chosen, unless it is empty.
    pub choices: Vec<Choice>,
    /// Shown before the form.
    pub warning: Option<Warning>,
    /// True for a form with a tick without which nothing is done.
    pub needs_tick: bool,
    /// The reason of a refusal just now.
    pub refusal: Option<String>,
}

pub struct Choice {
    pub value: String,
    pub text: String,
    pub is_chosen: bool,
}

#[derive(Clone, Copy)]
pub struct Warning {
    /// The line that opens it.
    pub title: &'static str,
    pub text: &'static str,
}

/// The step that leads on.
pub struct Next {
    /// Advice, a sentence; empty: nothing, or the reason of the state has it.
    pub advice: &'static str,
    pub action: Option<Action>,
}

impl Offer {
    fn new(action: Action, button: &'static str) -> Self {
        Self {
            action,
            button,
            style: "",
            label: "",
            text: None,
            lines: None,
            choices: Vec::new(),
            warning: None,
            needs_tick: false,
            refusal: None,
        }
    }

    fn choice(action: Action, button: &'static str, label: &'static str, mut choices: Vec<Choice>) -> Self {
        if !choices.iter().any(|choice| choice.is_chosen)
            && let Some(first) = choices.first_mut()
        {
            first.is_chosen = true;
        }
        Self {
            label,
            choices,
            ..Self::new(action, button)
        }
    }

    fn behind(self, title: &'static str, text: &'static str) -> Self {
        Self {
            warning: Some(Warning { title, text }),
            ..self
        }
    }

    /// The same after a refusal, with what was typed or chosen.
    pub fn refused(&mut self, reason: String, value: String) {
        self.refusal = Some(reason);
        if let Some(text) = &mut self.text {
            *text = value;
        } else if let Some(lines) = &mut self.lines {
            *lines = value;
        } else if self.choices.iter().any(|choice| choice.value == value) {
            for choice in &mut self.choices {
                choice.is_chosen = choice.value == value;
            }
        }
    }
}

/// A host and the surroundings on which its actions depend.
pub struct Surroundings<'a> {
    pub host: &'a Host,
    pub inventory: &'a Inventory,
    /// `None`: it has no Agent.
    pub approved: Option<bool>,
    pub clusters: &'a [Cluster],
    /// True for a visitor who sees one InfraEnv alone, and no clusters.
    pub is_confined: bool,
    pub bmc: Option<&'a Bmc>,
}

impl Surroundings<'_> {
    /// The forms, that of the next step first.
    pub fn offers(&self, next: Option<Action>) -> Vec<Offer> {
        let mut offers = self.decisions();
        offers.extend(self.settings());
        offers.extend(self.membership());
        offers.push(Offer::new(Action::Logs, "Collect logs"));
        if self.bmc.is_some() {
            offers.extend(power());
        }
        offers.push(
            Offer {
                style: "danger",
                needs_tick: true,
                ..Offer::new(Action::Delete, "Delete the host")
            }
            .behind(
                "Delete …",
                "The record goes, with its events; the machine registers again when it boots the discovery image.",
            ),
        );
        offers.sort_by_key(|offer| Some(offer.action) != next);
        if let Some(first) = offers.first_mut().filter(|offer| Some(offer.action) == next) {
            first.style = "first";
        }
        offers
    }

    fn decisions(&self) -> Vec<Offer> {
        match self.approved {
            Some(true) => vec![Offer::new(Action::RevokeApproval, "Revoke the approval")],
            Some(false) => vec![Offer::new(Action::Approve, "Approve")],
            None => Vec::new(),
        }
    }

    fn settings(&self) -> Vec<Offer> {
        let name = Offer {
            label: "Name",
            text: Some(self.host.requested_hostname.clone()),
            ..Offer::new(Action::Name, "Set")
        };
        let roles = ROLES.map(|role| Choice {
            value: role.name().to_owned(),
            text: role.name().to_owned(),
            is_chosen: role == self.host.role,
        });
        let role = Offer::choice(Action::Role, "Set", "Role", roles.into());
        let labels = Offer {
            label: "Node labels, KEY=VALUE on each line",
            lines: Some(labels::lines(&self.host.node_labels)),
            ..Offer::new(Action::Labels, "Set")
        };
        [name, role]
            .into_iter()
            .chain(self.disk())
            .chain([labels])
            .collect()
    }

    fn disk(&self) -> Option<Offer> {
        let chosen = &self.host.installation_disk_id;
        let choice = |disk: &Disk| Choice {
            value: disk.id.clone(),
            text: format!(
                "{} · {} · {} · {}",
                disk.name,
                words::disk(u64::try_from(disk.size_bytes).unwrap_or_default()),
                disk.drive_type,
                disk.serial
            ),
            is_chosen: disk.id == *chosen,
        };
        let possible = self.inventory.disks.iter();
        let possible = possible.filter(|disk| {
            disk.installation_eligibility.eligible && (1..=LONGEST_ID).contains(&disk.id.len())
        });
        let mut choices: Vec<Choice> = possible.map(choice).collect();
        if choices.is_empty() {
            return None;
        }
        if !choices.iter().any(|choice| choice.is_chosen) {
            let none = Choice {
                value: String::new(),
                text: "none is chosen".to_owned(),
                is_chosen: true,
            };
            choices.insert(0, none);
        }
        Some(Offer::choice(Action::Disk, "Set", "Installation disk", choices))
    }

    fn membership(&self) -> Vec<Offer> {
        if self.host.cluster_id.is_some() {
            return vec![
                Offer::new(Action::Install, "Install"),
                Offer::new(Action::Unbind, "Unbind"),
            ];
        }
        if self.clusters.is_empty() {
            // A button that is disabled, with the reason.
            let forbidden = self.is_confined.then(|| Offer::new(Action::Bind, "Bind"));
            return forbidden.into_iter().collect();
        }
        let clusters = self.clusters.iter().map(|cluster| Choice {
            value: cluster.id.to_string(),
            text: cluster.name.clone(),
            is_chosen: false,
        });
        vec![Offer::choice(Action::Bind, "Bind", "Cluster", clusters.collect())]
    }

    /// The step that leads on from the present state. Of a wait the service has the advice.
    pub fn next_step(&self) -> Next {
        if self.approved == Some(false) {
            return step(
                "Approve it: nothing is installed on a host that is not approved.",
                Action::Approve,
            );
        }
        let Some(status) = self.host.status else {
            return nothing("");
        };
        match status {
            HostStatus::KnownUnbound if self.is_confined => {
                nothing("It is fit. A visitor whose token is for all pools can bind it to a cluster.")
            }
            HostStatus::KnownUnbound if self.clusters.is_empty() => {
                nothing("It is fit. A cluster to bind it to is imported by muster cluster import.")
            }
            HostStatus::KnownUnbound => step("It is fit: bind it to a cluster.", Action::Bind),
            HostStatus::Known => step("It is fit and in a cluster: install it.", Action::Install),
            HostStatus::Insufficient | HostStatus::InsufficientUnbound | HostStatus::PendingForInput => {
                nothing("Mend what the failed checks below name.")
            }
            HostStatus::Disconnected | HostStatus::DisconnectedUnbound if self.bmc.is_some() => step(
                "Its agent is silent: switch it on, and see its console and whether it reaches the service.",
                Action::PowerOn,
            ),
            HostStatus::Disconnected | HostStatus::DisconnectedUnbound => nothing(
                "Its agent is silent: see whether it is on, what its console shows, and whether it reaches the service.",
            ),
            HostStatus::Error | HostStatus::Cancelled => step("Its logs may have the cause.", Action::Logs),
            HostStatus::Discovering | HostStatus::DiscoveringUnbound => {
                nothing("Its hardware is being read: nothing is to be done.")
            }
            _ => nothing(""),
        }
    }
}

fn step(advice: &'static str, action: Action) -> Next {
    Next {
        advice,
        action: Some(action),
    }
}

fn nothing(advice: &'static str) -> Next {
    Next { advice, action: None }
}

/// The forms for a machine with a BMC.
fn power() -> Vec<Offer> {
    let danger = |action, button| Offer {
        style: "danger",
        ..Offer::choice(action, button, "How", ways())
    };
    vec![
        Offer::new(Action::PowerOn, "Power on"),
        Offer::new(Action::PowerStatus, "Read the power"),
        danger(Action::PowerOff, "Power off").behind(
            "Power off …",
            "Its BMC requests that the system shut down. What runs on the machine ends.",
        ),
        danger(Action::PowerReset, "Power off and on").behind(
            "Power off and on …",
            "Its BMC requests that the system shut down, and switches the machine on again. What runs on the machine ends.",
        ),
    ]
}

/// The ways to switch the power off.
fn ways() -> Vec<Choice> {
    let ways = [
        ("", "only if its system shuts down"),
        (
            FORCE,
            "cut the power if its system does not, also during a discovery or an installation",
        ),
    ];
    let ways = ways.map(|(value, text)| Choice {
        value: value.to_owned(),
        text: text.to_owned(),
        is_chosen: value.is_empty(),
    });
    ways.into()
}
