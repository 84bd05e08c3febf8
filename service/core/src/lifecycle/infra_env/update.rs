//! Updates an InfraEnv. Source: docs/protocol/rest-behaviour.md#4.

use muster_api::ids::ClusterId;
use muster_api::infra_env::{Cleaning, CleaningDepth, ImageType, InfraEnvUpdateParams, Proxy};
use muster_api::time::Timestamp;

use super::events;
use super::unapplied::Unapplied;
use crate::record::{InfraEnv, NewEvent, Secret, Settings};
use crate::rules::ignition;
use crate::rules::input::{self, Invalid};
use crate::rules::live_network;
use crate::rules::sleep;

/// The outcome of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The InfraEnv from now on.
    pub infra_env: InfraEnv,
    /// False: nothing changed, so nothing has to be written.
    pub changed: bool,
    /// Events to store with it, including those about `unapplied`.
    pub events: Vec<NewEvent>,
    /// The changed settings that the Muster live image cannot apply.
    pub unapplied: Vec<Unapplied>,
}

/// `infra_env` with `params` applied. Absent settings stay; so do `pull_secret`, `ssh_authorized_key` and
/// `ignition_config_override` when they are sent empty.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn update(infra_env: &InfraEnv, params: InfraEnvUpdateParams, now: Timestamp) -> Result<Update, Invalid> {
    let mut next = infra_env.clone();
    let is_offered = params.offered_to.as_deref().is_some_and(|to| !to.is_empty());
    if let Some(kube) = infra_env.kube.as_ref().filter(|_| is_offered)
        && infra_env.belongs_to_resource()
    {
        let why = format!("cannot be set: the InfraEnv belongs to the custom resource {kube} already");
        return Err(Invalid::new("offered_to", why));
    }
    apply(&mut next.settings, params)?;
    changed_to(infra_env, next, now)
}

/// Returns `infra_env` with exactly these settings and this cluster: for callers that give all settings at once, as a
/// custom resource does. `settings` are those of an InfraEnv that [`create`](super::create()) accepted.
///
/// # Errors
/// If the discovery ignition becomes too large.
pub fn replace(
    infra_env: &InfraEnv,
    settings: Settings,
    cluster_id: Option<ClusterId>,
    now: Timestamp,
) -> Result<Update, Invalid> {
    let next = InfraEnv {
        settings: Settings {
            // Not the resource's: replaced tokens stay refused, and REST alone offers.
            token_generation: infra_env.settings.token_generation,
            offered_to: infra_env.settings.offered_to.clone(),
            ..settings
        },
        cluster_id,
        ..infra_env.clone()
    };
    changed_to(infra_env, next, now)
}

fn changed_to(infra_env: &InfraEnv, mut next: InfraEnv, now: Timestamp) -> Result<Update, Invalid> {
    if infra_env.is_only_linked(&next) {
        return Ok(Update {
            changed: next != *infra_env,
            infra_env: next,
            events: Vec::new(),
            unapplied: Vec::new(),
        });
    }
    ignition::check_size(&next)?;
    live_network::check_size(&next.settings)?;
    next.updated_at = now;
    let unapplied: Vec<Unapplied> = Unapplied::ALL
        .iter()
        .copied()
        .filter(|setting| {
            setting.is_set(&next.settings) && setting.differs(&infra_env.settings, &next.settings)
        })
        .collect();
    let mut events = vec![events::image_info_updated(&next, now)];
    events.extend(
        unapplied
            .iter()
            .map(|setting| events::not_applied(&next, *setting, now)),
    );
    Ok(Update {
        infra_env: next,
        changed: true,
        events,
        unapplied,
    })
}

/// All of `params`, or none when one cannot be accepted.
pub(super) fn apply(settings: &mut Settings, params: InfraEnvUpdateParams) -> Result<(), Invalid> {
    input::no_control_characters(&params)?;
    let mut next = settings.clone();
    if let Some(image_type) = params.image_type {
        next.image_type = image_type;
    }
    if let Some(version) = params.openshift_version {
        input::image_version(&version)?;
        next.openshift_version = version;
    }
    if let Some(secret) = params.pull_secret.filter(|secret| !secret.is_empty()) {
        input::pull_secret(&secret)?;
        next.pull_secret = Secret::new(secret);
    }
    if let Some(keys) = params.ssh_authorized_key {
        let keys = keys.trim();
        if !keys.is_empty() {
            input::ssh_keys(keys)?;
            next.ssh_authorized_key = keys.to_owned();
        }
    }
    if let Some(proxy) = params.proxy {
        input::proxy(&proxy)?;
        next.proxy = merged_proxy(&next.proxy, proxy);
    }
    time_sources(&mut next, params.additional_ntp_sources, params.ntp_sources)?;
    if let Some(list) = params.kernel_arguments {
        input::kernel_arguments(&list)?;
        next.kernel_arguments = Some(list);
    }
    if let Some(text) = params.ignition_config_override.filter(|text| !text.is_empty()) {
        next.ignition_config_override = text;
    }
    if !next.ignition_config_override.is_empty() {
        ignition::check_override(&next.ignition_config_override)
            .and_then(|config| ignition::check_known(&config, &next.openshift_version))
            .map_err(|why| Invalid::new("ignition_config_override", why))?;
    }
    if let Some(list) = params.static_network_config {
        next.static_network_config = input::static_network(&list)?;
    }
    if let Some(bundle) = params.additional_trust_bundle {
        let bundle = bundle.trim();
        input::trust_bundle(bundle)?;
        next.additional_trust_bundle = bundle.to_owned();
    }
    rendezvous(&mut next, params.rendezvous_ip)?;
    if let Some(to) = params.offered_to {
        next.offered_to = input::resource("offered_to", &to)?;
    }
    if let Some(wanted) = params.require_host_keys {
        next.require_host_keys = wanted;
    }
    if let Some(wanted) = params.cleaning {
        next.cleaning = cleaning(wanted)?;
    }
    sleep_rules(
        &mut next,
        params.idle_after,
        params.warm_spares,
        params.quiet_hours,
    )?;
    if let Some(seconds) = params.network_discovery_delay_seconds {
        if seconds < 0 {
            return Err(Invalid::new(
                "network_discovery_delay_seconds",
                "must be 0 or more",
            ));
        }
        next.network_discovery_delay_seconds = Some(seconds);
    }
    *settings = next;
    Ok(())
}

fn sleep_rules(
    next: &mut Settings,
    idle_after: Option<String>,
    warm_spares: Option<i64>,
    quiet_hours: Option<String>,
) -> Result<(), Invalid> {
    if let Some(time) = idle_after {
        next.idle_after = time.trim().to_owned();
    }
    if warm_spares.is_some() {
        next.warm_spares = warm_spares;
    }
    if let Some(hours) = quiet_hours {
        next.quiet_hours = hours.trim().to_owned();
    }
    sleep::check(next)
}

fn time_sources(
    next: &mut Settings,
    additional: Option<String>,
    instead: Option<String>,
) -> Result<(), Invalid> {
    if let Some(text) = additional {
        input::ntp_sources("additional_ntp_sources", &text)?;
        next.additional_ntp_sources = text;
    }
    if let Some(text) = instead {
        input::ntp_sources("ntp_sources", &text)?;
        next.ntp_sources = text;
    }
    if !next.additional_ntp_sources.is_empty() && !next.ntp_sources.is_empty() {
        return Err(Invalid::new(
            "ntp_sources",
            "cannot be used together with additional_ntp_sources: set one of them to \"\"",
        ));
    }
    Ok(())
}

fn cleaning(wanted: Cleaning) -> Result<Cleaning, Invalid> {
    if wanted.overwrite && wanted.depth != CleaningDepth::Full {
        let why = "is only for the depth full: the other depths do not write over all sectors";
        return Err(Invalid::new("cleaning.overwrite", why));
    }
    if wanted.all_disks && wanted.depth == CleaningDepth::None {
        let why = "has no effect with the depth none: choose metadata or full";
        return Err(Invalid::new("cleaning.all_disks", why));
    }
    Ok(wanted)
}

fn rendezvous(next: &mut Settings, wanted: Option<String>) -> Result<(), Invalid> {
    let disconnected = match next.image_type {
        ImageType::DisconnectedIso => true,
        ImageType::FullIso | ImageType::MinimalIso => false,
    };
    if let Some(ip) = wanted {
        input::rendezvous_ip(&ip)?;
        if !ip.is_empty() && !disconnected {
            return Err(Invalid::new(
                "rendezvous_ip",
                "is only for the image type disconnected-iso",
            ));
        }
        next.rendezvous_ip = ip;
    }
    if !disconnected {
        next.rendezvous_ip.clear();
    }
    Ok(())
}

/// Absent parts stay, empty ones clear.
fn merged_proxy(old: &Proxy, new: Proxy) -> Proxy {
    let part = |new: Option<String>, old: &Option<String>| match new {
        Some(text) => Some(text).filter(|text| !text.is_empty()),
        None => old.clone(),
    };
    Proxy {
        http_proxy: part(new.http_proxy, &old.http_proxy),
        https_proxy: part(new.https_proxy, &old.https_proxy),
        no_proxy: part(new.no_proxy, &old.no_proxy),
    }
}
