//! Checks the requirements of disk encryption.

use muster_api::cluster::Hyperthreading as Roles;
use muster_api::steps::TangConnectivityResponse;

use crate::rules::checks::context::{Bound, CheckContext};
use crate::rules::checks::verdict::{Verdict, no_inventory};

/// The response of agents that do not support the step; the facts cannot be collected, so the check passes.
const UNKNOWN_STEP: &str = "failed to find action for step";

/// `disk-encryption-requirements-satisfied`: as the cluster's ignition requires.
pub(in crate::rules::checks) fn satisfied(context: &CheckContext<'_>) -> Verdict {
    let Some(bound) = context.bound() else {
        return Verdict::Hidden;
    };
    let Some(ignition) = context.worker_ignition() else {
        return if is_configured(&bound) {
            Verdict::Pending("Waits for the cluster's ignition, which shows how disks are encrypted".into())
        } else {
            Verdict::Hidden
        };
    };
    let Some(clevis) = &ignition.clevis else {
        return Verdict::Hidden;
    };
    if clevis.tpm2 {
        tpm(context)
    } else if clevis.tang {
        tang(context)
    } else {
        Verdict::Failure(
            "The cluster's ignition encrypts disks with neither a TPM nor tang servers; correct its machine config".into(),
        )
    }
}

fn is_configured(bound: &Bound<'_>) -> bool {
    match bound.traits().disk_encryption.enable_on {
        None | Some(Roles::None) => false,
        Some(
            Roles::Masters
            | Roles::Arbiters
            | Roles::Workers
            | Roles::MastersArbiters
            | Roles::MastersWorkers
            | Roles::ArbitersWorkers
            | Roles::MastersArbitersWorkers
            | Roles::All,
        ) => true,
    }
}

fn tpm(context: &CheckContext<'_>) -> Verdict {
    let Some(inventory) = context.inventory() else {
        return no_inventory();
    };
    match inventory.tpm_version.as_str() {
        "2.0" => Verdict::success("The host has the TPM 2.0 that the encryption of its disk needs"),
        "" | "none" => Verdict::Failure(
            "The encryption of the disk needs a TPM 2.0 and the host has none; switch it on in the firmware"
                .into(),
        ),
        other => Verdict::Failure(format!(
            "The encryption of the disk needs a TPM 2.0 and the host has {other}; switch it over in the firmware"
        )),
    }
}

fn tang(context: &CheckContext<'_>) -> Verdict {
    if context.inventory().is_none() {
        return no_inventory();
    }
    let answer = context.host.data.tang_connectivity.as_str();
    if answer.is_empty() {
        return Verdict::Pending("Waits until the host has queried the tang servers".into());
    }
    if answer.contains(UNKNOWN_STEP) {
        return Verdict::Hidden;
    }
    match serde_json::from_str::<TangConnectivityResponse>(answer) {
        Ok(answer) if answer.is_success => Verdict::success("All tang servers answer the host"),
        Ok(_) => Verdict::Failure(
            "A tang server does not answer the host; check its URL and thumbprint, and firewalls on the way"
                .into(),
        ),
        Err(_) => Verdict::Failure(format!(
            "A tang server does not answer the host ({answer}); check its URL and thumbprint, and firewalls on the way"
        )),
    }
}
