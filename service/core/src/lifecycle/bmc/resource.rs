//! Brings a BMC in line with its custom resource, and starts or stops discovery as the resource requires.

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

/// The desired state of a BMC in its custom resource, with the values of the Secrets that it references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    pub address: String,
    pub user_name: String,
    pub password: Secret,
    /// `pin` without a fingerprint keeps the pinned one.
    pub certificate: BmcCertificate,
    pub system_id: Option<String>,
    pub boot: BmcBoot,
    pub asked: BmcAsked,
}

/// The outcome of reconciling a custom resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// `None`: the BMC matches the resource.
    pub step: Option<Step>,
    /// The reason why the resource is not applied yet; it is applied when the BMC changes.
    pub waits: Option<String>,
    /// The reason why the requested discovery cannot begin, and the remedy.
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

/// Hands `bmc`, which was created by REST, over to the custom resource `kube`; `None`: it is another machine, or
/// belongs to a resource already. The state of its discovery stays.
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

/// Brings `bmc` in line with its resource. Refused credentials are retried if they differ, or if the resource requests
/// another discovery.
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
            // The address changes: the discovery ends at the old one and begins again at the new one.
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
        // New settings restart a discovery that had failed.
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

/// The settings of the resource, with the password only if it changed: an unchanged one would request a retry.
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

/// A BMC with the events so far, for one write.
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

    /// Replaces the discovery that is under way by a new one; returns the reason if that is not possible.
    fn begin(&mut self, wanted: &Wanted) -> Result<Option<String>, BmcRefused> {
        let refused_credentials = BmcStage::Failed {
            failure: BmcFailure::Credentials,
        };
        if self.bmc.stage == refused_credentials || self.bmc.power.refused.is_some() {
            // The request confirms the credentials.
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
