//! Determines what a job over many hosts does with one of them.

use muster_api::bmc::BmcPowerAction;
use muster_api::host::{DiskConfigParams, DiskRole, HostRole, HostUpdateParams, KeyValue};
use muster_api::jobs::{JobAction, JobPower};

use super::event::HostEvent;
use crate::record::{Host, HostState};

/// The step of a job for one host.
#[derive(Debug, Clone, PartialEq)]
pub enum JobStep {
    /// Nothing: it is so already.
    Already,
    /// A user's event.
    Event(Box<HostEvent>),
    /// Its Agent is approved, or no longer.
    Approval(bool),
    /// By its BMC.
    Power(BmcPowerAction),
    /// By its BMC.
    Discovery,
    Deletion,
}

impl JobStep {
    /// The step of a host as it is now. `value`: its new name, or the id of its disk; of no meaning to other actions.
    pub fn of(action: &JobAction, value: &str, host: &Host) -> Self {
        let data = &host.data;
        match action {
            JobAction::Approve => Self::approval(host, true),
            JobAction::RevokeApproval => Self::approval(host, false),
            JobAction::Bind { cluster } if host.cluster_id == Some(*cluster) => Self::Already,
            JobAction::Bind { cluster } => Self::event(HostEvent::Bound { cluster_id: *cluster }),
            JobAction::Unbind if host.cluster_id.is_none() => Self::Already,
            JobAction::Unbind => Self::event(HostEvent::Unbound),
            JobAction::Install if is_installed(&host.state) => Self::Already,
            JobAction::Install => Self::event(HostEvent::InstallRequested),
            JobAction::Role { role } if data.role == HostRole::from(*role) => Self::Already,
            JobAction::Role { role } => Self::edit(HostUpdateParams {
                host_role: Some(*role),
                ..HostUpdateParams::default()
            }),
            JobAction::Labels { set, remove } => {
                let mut labels = data.node_labels.clone();
                labels.retain(|(key, _)| !remove.contains(key));
                for (key, value) in set {
                    match labels.iter_mut().find(|(known, _)| known == key) {
                        Some((_, known)) => known.clone_from(value),
                        None => labels.push((key.clone(), value.clone())),
                    }
                }
                match labels == data.node_labels {
                    true => Self::Already,
                    false => Self::labels(labels),
                }
            }
            JobAction::Hostname { .. } if data.requested_hostname.as_deref() == Some(value) => Self::Already,
            JobAction::Hostname { .. } => Self::edit(HostUpdateParams {
                host_name: Some(value.to_owned()),
                ..HostUpdateParams::default()
            }),
            JobAction::Disk { .. } if data.requested_disk_id == value => Self::Already,
            JobAction::Disk { .. } => Self::edit(HostUpdateParams {
                disks_selected_config: Some(vec![DiskConfigParams {
                    id: value.to_owned(),
                    role: Some(DiskRole::Install),
                }]),
                ..HostUpdateParams::default()
            }),
            JobAction::Power { power } => Self::Power(match power {
                JobPower::On => BmcPowerAction::On,
                JobPower::Off => BmcPowerAction::Off,
                JobPower::Reset => BmcPowerAction::Reset,
            }),
            JobAction::Discover => Self::Discovery,
            JobAction::Logs if data.awaits_logs() => Self::Already,
            JobAction::Logs => Self::event(HostEvent::LogsAsked),
            JobAction::Delete => Self::Deletion,
        }
    }

    fn approval(host: &Host, approved: bool) -> Self {
        match host.data.approved == approved {
            true => Self::Already,
            false => Self::Approval(approved),
        }
    }

    fn labels(labels: Vec<(String, String)>) -> Self {
        let labels = labels.into_iter().map(|(key, value)| KeyValue { key, value });
        Self::edit(HostUpdateParams {
            node_labels: Some(labels.collect()),
            ..HostUpdateParams::default()
        })
    }

    fn edit(params: HostUpdateParams) -> Self {
        Self::event(HostEvent::Edited(params))
    }

    fn event(event: HostEvent) -> Self {
        Self::Event(Box::new(event))
    }
}

/// True while it is being installed, and afterwards.
fn is_installed(state: &HostState) -> bool {
    matches!(
        state,
        HostState::Installing
            | HostState::InstallingInProgress
            | HostState::InstallingPendingUserAction { .. }
            | HostState::AddedToExistingCluster
    )
}
