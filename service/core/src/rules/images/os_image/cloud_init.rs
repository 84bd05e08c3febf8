//! Decides about images that cloud-init configures: what keeps a host from being installed with one, and its seed.
//! Source: docs/protocol/capi-day1.md#2.3.

use muster_api::live::network::StaticNetwork;
use muster_api::steps::{HostSeed, ImageConfiguration};

use super::of_host::configuration;
use crate::json::to_json;
use crate::record::{Host, Settings};
use crate::rules::bootstrap_data::seed::{network_config, seed};
use crate::rules::bootstrap_data::{BootstrapData, Subject, read};
use crate::rules::facts::HostFacts;
use crate::rules::live_network::live_network;

/// Arguments of coreos-installer that change the system of the image.
const OF_COREOS: [&str; 5] = [
    "--append-karg",
    "--delete-karg",
    "-n",
    "--copy-network",
    "--network-dir",
];

/// The reason why the host cannot be installed with its image if cloud-init configures that, and the remedy; `None`: it
/// can, or Ignition configures the image.
pub fn obstacle(host: &Host, facts: &HostFacts<'_>) -> Option<String> {
    if configuration(host, facts) != ImageConfiguration::CloudInit {
        return None;
    }
    let why = unfit(host)
        .err()
        .or_else(|| unapplied(host, &facts.infra_env.settings).err());
    why.map(titled)
}

/// The seed of a host with its bootstrap data as JSON text ([`HostSeed`]); `None`: Ignition configures its image.
///
/// # Errors
/// The reason why there is none, and the remedy; no part of the bootstrap data is in it.
pub fn seed_of(host: &Host, facts: &HostFacts<'_>) -> Option<Result<String, String>> {
    if configuration(host, facts) != ImageConfiguration::CloudInit {
        return None;
    }
    Some(made(host, &facts.infra_env.settings).map_err(titled))
}

fn titled(why: String) -> String {
    format!("the OS image is configured by cloud-init: {why}")
}

fn made(host: &Host, settings: &Settings) -> Result<String, String> {
    unfit(host)?;
    let network = network(host, settings)?;
    let user_data = host.bootstrap_ignition.reveal();
    if user_data.is_empty() {
        return Err("the bootstrap data of the host is not there any more; set it again".into());
    }
    let made = seed(user_data, &Subject::of(host, user_data), network.as_ref());
    let made = made.map_err(|error| error.to_string())?;
    Ok(to_json(&HostSeed {
        cloud_init: Some(made),
    }))
}

/// # Errors
/// A part of the host's settings that is for CoreOS alone.
fn unfit(host: &Host) -> Result<(), String> {
    let bootstrap = host.bootstrap_ignition.reveal();
    if !host.data.has_bootstrap_ignition {
        return Err("the host has no bootstrap data, and an Ignition of the cluster means nothing to it; give the host a \
                    cloud-config, or install an image that Ignition configures"
            .into());
    }
    // Empty where it was not read.
    if !bootstrap.is_empty() {
        check_form(bootstrap)?;
    }
    if !host.data.ignition_config_overrides.is_empty() {
        return Err("the host has an Ignition override (ignition_config_overrides); take it away".into());
    }
    let is_of_coreos = |argument: &&String| OF_COREOS.contains(&argument.as_str());
    if let Some(argument) = host.data.installer_args.iter().find(is_of_coreos) {
        return Err(format!(
            "the installer arguments of the host have {argument}, which is for CoreOS; take it away"
        ));
    }
    Ok(())
}

/// # Errors
/// Bootstrap data that is no cloud-config.
fn check_form(bootstrap: &str) -> Result<(), String> {
    match read(bootstrap) {
        Ok(BootstrapData::CloudConfig(_)) => Ok(()),
        Ok(BootstrapData::Ignition(_)) => Err(
            "the bootstrap data of the host is Ignition; take format: cloud-config at the bootstrap provider, or an image that \
             Ignition configures"
                .into(),
        ),
        Err(refused) => Err(format!("the bootstrap data of the host: {refused}")),
    }
}

/// # Errors
/// The part of the host's static network that cannot be passed on.
fn unapplied(host: &Host, settings: &Settings) -> Result<(), String> {
    match network(host, settings)? {
        Some(network) => network_config(&network)
            .map(drop)
            .map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

/// The static network of the InfraEnv that one of the host's cards has.
fn network(host: &Host, settings: &Settings) -> Result<Option<StaticNetwork>, String> {
    let interfaces = host.inventory.iter().flat_map(|inventory| &inventory.interfaces);
    let macs: Vec<&str> = interfaces
        .map(|interface| interface.mac_address.as_str())
        .filter(|mac| !mac.is_empty())
        .collect();
    let is_here = |mac: &String| macs.iter().any(|own| own.eq_ignore_ascii_case(mac));
    let mut networks = settings.static_network_config.iter();
    let own = networks.find(|network| {
        let mut cards = network.mac_interface_map.iter();
        cards.any(|card| card.mac_address.as_ref().is_some_and(is_here))
    });
    let read = own.map(live_network).transpose();
    read.map_err(|why| format!("the static network of the host cannot be passed on: {why}"))
}
