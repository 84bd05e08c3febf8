//! Computes the status of a BMC from its record.

use kube::Resource;
use muster_api::bmc::{BmcCheck, BmcDifference, BmcInventory};
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, Synced, time};
use muster_controller::health;
use muster_controller::references::kube_ref;
use muster_core::record::{self, BmcStage};
use muster_resources::{
    AgentReference, Bmc, BmcCertificateStatus, BmcCheckStatus, BmcDifferenceStatus, BmcInventoryStatus,
    BmcStatus,
};

use super::conditions::{Found, SIGNS, Type, of};

/// The status from now on; the same as the present one when nothing differs.
pub fn status(bmc: &Bmc, found: &Found<'_>, now: Timestamp) -> BmcStatus {
    let before = bmc.status.as_ref();
    let mut next = match found.record {
        Some(record) => of_record(bmc, record),
        None => BmcStatus {
            message: match &found.synced {
                Synced::Input(why) | Synced::Backend(why) => Some(why.clone()),
                Synced::Ok(_) => None,
            },
            ..BmcStatus::default()
        },
    };
    next.observed_generation = bmc.meta().generation;
    next.conditions = before.map(|status| status.conditions.clone()).unwrap_or_default();
    let list = &mut next.conditions;
    if found.blocked.is_none() {
        conditions::remove(list, Type::DeletionBlocked);
    }
    for condition in of(found) {
        conditions::set(list, condition, now);
    }
    health::show(list, &SIGNS, now);
    for condition in list {
        condition.observed_generation = bmc.meta().generation;
    }
    next
}

fn of_record(bmc: &Bmc, record: &record::Bmc) -> BmcStatus {
    let progress = &record.progress;
    let certificate = BmcCertificateStatus {
        fingerprint: record.settings.certificate.fingerprint.clone(),
        shown: progress.certificate_shown.clone(),
    };
    let (failure, host_id, differences) = match &record.stage {
        BmcStage::Failed { failure } => (Some(failure.to_string()), None, Vec::new()),
        BmcStage::Discovered { host_id, differences } => {
            (None, Some(host_id.to_string()), differences.clone())
        }
        BmcStage::Waiting
        | BmcStage::Checking
        | BmcStage::Inserting
        | BmcStage::Booting
        | BmcStage::WaitingForAgent
        | BmcStage::Stopped => (None, None, Vec::new()),
    };
    BmcStatus {
        phase: Some(record.stage.phase().to_string()),
        reason: failure,
        message: Some(progress.reason.clone()),
        since: Some(time(progress.since)),
        deadline: progress.deadline.map(time),
        medium_inserted: record.medium_inserted(),
        // Agents have the ids of their hosts, and are in the namespace of their InfraEnv.
        agent_ref: host_id.clone().map(|name| AgentReference {
            name,
            namespace: kube_ref(bmc).namespace,
        }),
        host_id,
        checks: progress.checks.iter().map(check).collect(),
        certificate: Some(certificate).filter(|told| *told != BmcCertificateStatus::default()),
        inventory: record.inventory.as_ref().map(inventory),
        differences: differences.into_iter().map(difference).collect(),
        bmc_id: Some(record.id.to_string()),
        observed_discover: record
            .resource
            .as_ref()
            .and_then(|resource| resource.asked.again.clone()),
        observed_generation: None,
        conditions: Vec::new(),
    }
}

fn check(check: &BmcCheck) -> BmcCheckStatus {
    BmcCheckStatus {
        id: check.id.clone(),
        outcome: check.outcome.to_string(),
        seen: check.seen.clone(),
        advice: check.advice.clone(),
    }
}

fn difference(difference: BmcDifference) -> BmcDifferenceStatus {
    BmcDifferenceStatus {
        what: difference.what,
        bmc: difference.bmc,
        host: difference.host,
    }
}

fn inventory(told: &BmcInventory) -> BmcInventoryStatus {
    let number = |count: usize| (count > 0).then(|| i64::try_from(count).unwrap_or(i64::MAX));
    let cores: i64 = told
        .processors
        .iter()
        .map(|one| i64::from(one.cores.unwrap_or_default()))
        .sum();
    BmcInventoryStatus {
        vendor: told.vendor.clone(),
        model: told.model.clone(),
        serial_number: told.serial.clone(),
        uuid: told.uuid.clone(),
        processors: number(told.processors.len()),
        cores: (cores > 0).then_some(cores),
        memory_mib: told.memory.gib.map(mebibytes),
        mac_addresses: told.nics.iter().map(|nic| nic.mac.clone()).collect(),
        disks: number(told.drives.len()),
        bios_version: told.bios_version.clone(),
        bmc_version: told.bmc_version.clone(),
        health: told.health.clone(),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a claim of a BMC: `as` keeps it within the type"
)]
fn mebibytes(gib: f64) -> i64 {
    (gib * 1024.0).round() as i64
}
