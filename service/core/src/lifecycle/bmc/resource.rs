//! Makes a BMC what its custom resource says, and starts or stops the discovery of its machine when the resource asks for it.

use muster_api::bmc::{
    BmcBoot, BmcCertificate, BmcCertificateMode, BmcCreateParams, BmcFailure, BmcUpdateParams,
};
use muster_api::ids::{BmcId, InfraEnvId};
use muster_api::time::Timestamp;

use super::advance::{BmcRefused, Step, advance};
use super::event::BmcEvent;
use super::input::{address, create, update};
use crate::record::{Bmc, BmcAsked, BmcLimits, BmcResource, BmcStage, KubeRef, NewEvent, Secret};
use crate::rules::input::Invalid;

/// What a custom resource says about its BMC, with the values that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    pub address: String,
    pub user_name: String,
    pub password: Secret,
    /// `pin` without a fingerprint: the one that is pinned already stays.
    pub certificate: BmcCertificate,
    pub system_id: Option<String>,
    pub boot: BmcBoot,
    pub asked: BmcAsked,
}

/// What came of following a custom resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// `None`: the BMC is as the resource says.
    pub step: Option<Step>,
    /// It is not followed yet, and will be when the BMC changes: what is waited for.
    pub waits: Option<String>,
    /// It asked for a discovery that cannot begin: why, and what to do.
    pub refused: Option<String>,
}

/// A new BMC that belongs to the custom resource `kube`.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn create_for(
    wanted: &Wanted,
    kube: &KubeRef,
    infra_env_id: InfraEnvId,
    id: BmcId,
    now: Timestamp,
) -> Result<Bmc, Invalid> {
    let params = BmcCreateParams {
        name: Some(wanted.name.clone()),
        address: wanted.address.clone(),
        user_name: wanted.user_name.clone(),
        password: wanted.password.reveal().to_owned(),
        certificate: Some(wanted.certificate.clone()),
        system_id: wanted.system_id.clone(),
        boot: Some(wanted.boot),
        discover: Some(wanted.asked.discover),
    };
    let made = create(params, infra_env_id, id, now)?;
    Ok(Bmc {
        resource: Some(BmcResource {
            kube: kube.clone(),
            asked: wanted.asked.clone(),
        }),
        ..made
    })
}

/// `bmc`, which REST made, as one that belongs to the custom resource `kube`; `None`: it is another machine, or belongs to a resource
/// already. What became of its machine stays.
///
/// # Errors
/// The address cannot be accepted.
pub fn taken_over(bmc: &Bmc, wanted: &Wanted, kube: &KubeRef) -> Result<Option<Bmc>, Invalid> {
    let mut place = bmc.clone();
    place.settings.address = address(&wanted.address)?;
    place.settings.system_id = wanted.system_id.clone().filter(|id| !id.is_empty());
    let is_it = bmc.resource.is_none() && bmc.name == wanted.name && bmc.place() == place.place();
    Ok(is_it.then(|| Bmc {
        resource: Some(BmcResource {
            kube: kube.clone(),
            asked: wanted.asked.clone(),
        }),
        ..bmc.clone()
    }))
}

/// `bmc` as its resource says. Credentials that were refused are tried again when they differ, or when the resource asks for another
/// discovery, and not before.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn follow(
    bmc: &Bmc,
    wanted: &Wanted,
    limits: &BmcLimits,
    now: Timestamp,
) -> Result<Followed, BmcRefused> {
    let mut plan = Plan {
        bmc: bmc.clone(),
        events: Vec::new(),
        limits,
        now,
    };
    let before = bmc.resource.as_ref().map(|resource| resource.asked.clone());
    let before = before.unwrap_or_default();
    if !wanted.asked.discover {
        plan.send(BmcEvent::Stop)?;
    }
    let mut asked = wanted.asked.clone();
    let waits = match plan.update(&settings(bmc, wanted)?) {
        Ok(()) => None,
        Err(BmcRefused::NotNow(_)) => {
            // Its address changes: what was begun at the old one ends there, and is begun again at the new one.
            asked.discover &= before.discover && !plan.bmc.stage.is_active();
            asked.again = before.again.clone();
            plan.send(BmcEvent::Stop)?;
            Some("it changes its address or system as soon as its medium is taken out where it is".to_owned())
        }
        Err(wrong) => return Err(wrong),
    };
    let again = wanted.asked.again.is_some() && wanted.asked.again != before.again;
    let begins = wanted.asked.discover && (again || !before.discover);
    let mut refused = None;
    if !wanted.asked.discover {
        // New settings begin a discovery anew that had failed.
        plan.send(BmcEvent::Stop)?;
    } else if begins && waits.is_none() && !plan.has_begun(bmc) {
        refused = plan.begin(wanted)?;
    }
    plan.bmc.resource = bmc
        .resource
        .clone()
        .map(|resource| BmcResource { asked, ..resource });
    let step = (plan.bmc != *bmc).then_some(Step {
        bmc: plan.bmc,
        events: plan.events,
    });
    Ok(Followed { step, waits, refused })
}

/// The settings that the resource says, with the password where it is another one: given again, it would be tried again.
fn settings(bmc: &Bmc, wanted: &Wanted) -> Result<BmcUpdateParams, Invalid> {
    let is_other_password = wanted.password != bmc.password;
    let mut certificate = wanted.certificate.clone();
    let pinned = &bmc.settings.certificate;
    let pins = |certificate: &BmcCertificate| certificate.mode == BmcCertificateMode::Pin;
    let is_named = certificate
        .fingerprint
        .as_ref()
        .is_some_and(|text| !text.is_empty());
    if pins(&certificate) && pins(pinned) && !is_named && address(&wanted.address)? == bmc.settings.address {
        certificate.fingerprint.clone_from(&pinned.fingerprint);
    }
    Ok(BmcUpdateParams {
        name: Some(wanted.name.clone()),
        address: Some(wanted.address.clone()),
        user_name: Some(wanted.user_name.clone()),
        password: is_other_password.then(|| wanted.password.reveal().to_owned()),
        certificate: Some(certificate),
        system_id: Some(wanted.system_id.clone().unwrap_or_default()),
        boot: Some(wanted.boot),
    })
}

/// A BMC with what happened to it so far, for one write.
struct Plan<'a> {
    bmc: Bmc,
    events: Vec<NewEvent>,
    limits: &'a BmcLimits,
    now: Timestamp,
}

impl Plan<'_> {
    fn take(&mut self, step: Option<Step>) {
        if let Some(step) = step {
            self.bmc = step.bmc;
            self.events.extend(step.events);
        }
    }

    fn send(&mut self, event: BmcEvent) -> Result<(), BmcRefused> {
        let step = advance(&self.bmc, event, self.limits, self.now)?;
        self.take(step);
        Ok(())
    }

    fn update(&mut self, params: &BmcUpdateParams) -> Result<(), BmcRefused> {
        let step = update(&self.bmc, params, self.now)?;
        self.take(step);
        Ok(())
    }

    fn has_begun(&self, before: &Bmc) -> bool {
        self.bmc.run != before.run && self.bmc.stage.is_active()
    }

    /// Begins a discovery in the place of the one that is under way; answers why that cannot be.
    fn begin(&mut self, wanted: &Wanted) -> Result<Option<String>, BmcRefused> {
        let refused_credentials = BmcStage::Failed {
            failure: BmcFailure::Credentials,
        };
        if self.bmc.stage == refused_credentials || self.bmc.power.refused.is_some() {
            // Somebody has looked at them.
            self.update(&BmcUpdateParams {
                password: Some(wanted.password.reveal().to_owned()),
                ..BmcUpdateParams::default()
            })?;
            if self.bmc.stage.is_active() {
                return Ok(None);
            }
        }
        self.send(BmcEvent::Stop)?;
        match self.send(BmcEvent::Discover) {
            Ok(()) => Ok(None),
            Err(BmcRefused::NotNow(why)) => Ok(Some(why)),
            Err(wrong) => Err(wrong),
        }
    }
}
