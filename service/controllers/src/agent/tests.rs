//! Agents against the recorded ones (`tests/recorded.json`): annotations, labels and status of a host as a
//! running implementation of the protocol wrote them. Taken from kube.answers.json of the reference (observed
//! 21 Nov 2026): conditions are keyed by type, checks by id, JSON in texts is expanded under `<json>`, wording
//! is `<words>`.

mod edits;
mod membership;
mod mirrored;
mod reclaim;
mod recorded;
mod restore;
mod states;
mod wait;

use chrono::TimeDelta;
use muster_api::host::{HostKind, HostRole};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::inventory::{Disk, Eligibility, Inventory};
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostState};
use uuid::Uuid;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000, 0).expect("a moment") + TimeDelta::seconds(seconds)
}

fn cluster_id() -> ClusterId {
    ClusterId(Uuid::from_u128(0xc))
}

fn disk(name: &str, eligible: bool) -> Disk {
    Disk {
        id: format!("/dev/disk/by-id/{name}"),
        by_path: format!("/dev/disk/by-path/{name}"),
        name: name.into(),
        installation_eligibility: Eligibility {
            eligible,
            not_eligible_reasons: if eligible {
                vec![]
            } else {
                vec!["too small".into()]
            },
        },
        ..Disk::default()
    }
}

fn inventory() -> Inventory {
    Inventory {
        hostname: "reported".into(),
        disks: vec![disk("sda", true), disk("sdb", true), disk("sdc", false)],
        ..Inventory::default()
    }
}

/// A host in this state, with the fields that the state implies.
fn host(state: HostState) -> Host {
    let bound = !state.status().name().contains("unbind") && !state.status().name().ends_with("-unbound");
    Host {
        id: HostId(Uuid::from_u128(0x5)),
        infra_env_id: InfraEnvId(Uuid::from_u128(0xe)),
        cluster_id: bound.then(cluster_id),
        state,
        version: 1,
        due_at: None,
        checked_in_at: at(0),
        inventory: Some(inventory().into()),
        reports: Default::default(),
        bootstrap_ignition: Default::default(),
        data: HostData {
            kind: if bound {
                HostKind::AddToExistingClusterHost
            } else {
                HostKind::Host
            },
            role: HostRole::AutoAssign,
            status_info: "the reason why".into(),
            installation_disk_id: "/dev/disk/by-id/sda".into(),
            ..HostData::new(at(0))
        },
    }
}
