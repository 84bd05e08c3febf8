//! Shows a BMC to users, without its password.

use muster_api::bmc::{Bmc as Shown, BmcImageReads, BmcPower as ShownPower, BmcPowerRequest};
use muster_api::time::millis;

use crate::record::{Bmc, BmcPower, BmcStage};

/// The BMC as the API shows it.
pub fn view(bmc: &Bmc) -> Shown {
    let Bmc {
        settings, progress, ..
    } = bmc;
    let (failure, host_id, differences) = match &bmc.stage {
        BmcStage::Failed { failure } => (Some(*failure), None, Vec::new()),
        BmcStage::Discovered { host_id, differences } => (None, Some(*host_id), differences.clone()),
        BmcStage::Waiting
        | BmcStage::Checking
        | BmcStage::Inserting
        | BmcStage::Booting
        | BmcStage::WaitingForAgent
        | BmcStage::Stopped => (None, None, Vec::new()),
    };
    Shown {
        id: bmc.id,
        infra_env_id: bmc.infra_env_id,
        name: bmc.name.clone(),
        address: settings.address.clone(),
        user_name: settings.user_name.clone(),
        certificate: settings.certificate.clone(),
        system_id: settings.system_id.clone(),
        boot: settings.boot,
        phase: bmc.stage.phase(),
        failure,
        reason: progress.reason.clone(),
        since: millis(Some(progress.since)),
        deadline: progress.deadline.map(|at| millis(Some(at))),
        attempts: progress.attempts,
        medium_inserted: bmc.medium_inserted(),
        checks: progress.checks.clone(),
        certificate_shown: progress.certificate_shown.clone(),
        image: BmcImageReads {
            requests: bmc.image.requests,
            bytes: bmc.image.bytes,
            last_at: bmc.image.last_at.map(|at| millis(Some(at))),
        },
        inventory: bmc.inventory.clone(),
        host_id: host_id.or(bmc.host_id),
        differences,
        power: power(&bmc.power),
        custom_resource: bmc.resource.as_ref().map(|resource| resource.kube.to_string()),
        created_at: millis(Some(bmc.created_at)),
        updated_at: millis(Some(bmc.updated_at)),
    }
}

fn power(power: &BmcPower) -> Option<ShownPower> {
    if power.seen.is_none() && power.request.is_none() {
        return None;
    }
    let request = power.request.as_ref().map(|request| BmcPowerRequest {
        id: request.id,
        action: request.action,
        force: request.force,
        outcome: request.outcome,
        reason: request.reason.clone(),
        asked_at: millis(Some(request.asked_at)),
        deadline: millis(Some(request.deadline)),
        ended_at: request.ended_at.map(|at| millis(Some(at))),
    });
    Some(ShownPower {
        state: power.seen.as_ref().map(|seen| seen.state.clone()),
        state_at: power.seen.as_ref().map(|seen| millis(Some(seen.at))),
        request,
    })
}
