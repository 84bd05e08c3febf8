//! Updates a cluster. Source: docs/protocol/rest-behaviour.md#6.

use muster_api::cluster::{ClusterNetwork, ClusterUpdateParams, IgnitionEndpoint};
use muster_api::infra_env::Proxy;
use muster_api::time::Timestamp;

use super::events;
use crate::record::{Cluster, ClusterData, ClusterTraits, NewEvent, Secret};
use crate::rules::input::{self, Invalid};
use crate::text::has_control_characters;

/// The outcome of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The cluster from now on.
    pub cluster: Cluster,
    /// False: nothing changed, so nothing has to be written.
    pub changed: bool,
    /// To be stored with it.
    pub events: Vec<NewEvent>,
}

/// `cluster` with `params` applied. Absent settings stay; so do `pull_secret` and `ssh_public_key` when they are sent
/// empty. Settings that only the installation of a new cluster would use are stored and returned.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn update(cluster: &Cluster, params: ClusterUpdateParams, now: Timestamp) -> Result<Update, Invalid> {
    let mut next = cluster.clone();
    identity(&mut next.data, &params)?;
    secrets(&mut next.data, &params)?;
    proxy_and_time(&mut next.data, &params)?;
    addresses(&mut next.data, &params)?;
    traits(&mut next.data.traits, params)?;
    if next == *cluster {
        return Ok(Update {
            cluster: next,
            changed: false,
            events: Vec::new(),
        });
    }
    next.updated_at = now;
    let events = if next.data.proxy == cluster.data.proxy {
        Vec::new()
    } else {
        vec![events::proxy_settings_changed(&next, now)]
    };
    Ok(Update {
        cluster: next,
        changed: true,
        events,
    })
}

fn identity(data: &mut ClusterData, params: &ClusterUpdateParams) -> Result<(), Invalid> {
    if let Some(name) = &params.name {
        input::cluster::name(name)?;
        data.name.clone_from(name);
    }
    if let Some(domain) = &params.base_dns_domain {
        input::cluster::domain("base_dns_domain", domain)?;
        data.base_dns_domain.clone_from(domain);
    }
    if let Some(api) = &params.api_vip_dns_name {
        input::cluster::endpoint("api_vip_dns_name", api)?;
        data.api_vip_dnsname.clone_from(api);
    }
    Ok(())
}

fn secrets(data: &mut ClusterData, params: &ClusterUpdateParams) -> Result<(), Invalid> {
    let texts = [
        ("pull_secret", &params.pull_secret),
        ("ssh_public_key", &params.ssh_public_key),
    ];
    for (field, text) in texts {
        if text.as_deref().is_some_and(has_control_characters) {
            return Err(Invalid::new(
                field,
                "must not hold control characters other than line breaks and tabs",
            ));
        }
    }
    if let Some(secret) = params.pull_secret.as_ref().filter(|secret| !secret.is_empty()) {
        input::pull_secret(secret)?;
        data.pull_secret = Secret::new(secret);
    }
    let keys = params.ssh_public_key.as_deref().unwrap_or_default().trim();
    if !keys.is_empty() {
        input::ssh_keys(keys).map_err(|invalid| Invalid::new("ssh_public_key", invalid.reason))?;
        data.ssh_public_key = keys.to_owned();
    }
    Ok(())
}

fn proxy_and_time(data: &mut ClusterData, params: &ClusterUpdateParams) -> Result<(), Invalid> {
    let asked = Proxy {
        http_proxy: params.http_proxy.clone(),
        https_proxy: params.https_proxy.clone(),
        no_proxy: params.no_proxy.clone(),
    };
    input::proxy(&asked).map_err(|invalid| {
        let field = invalid.field.trim_start_matches("proxy.").to_owned();
        Invalid::new(field, invalid.reason)
    })?;
    let part = |new: Option<String>, old: &Option<String>| match new {
        Some(text) => Some(text).filter(|text| !text.is_empty()),
        None => old.clone(),
    };
    data.proxy = Proxy {
        http_proxy: part(asked.http_proxy, &data.proxy.http_proxy),
        https_proxy: part(asked.https_proxy, &data.proxy.https_proxy),
        no_proxy: part(asked.no_proxy, &data.proxy.no_proxy),
    };
    if let Some(text) = &params.additional_ntp_source {
        input::ntp_sources("additional_ntp_source", text)?;
        data.additional_ntp_source.clone_from(text);
    }
    if let Some(text) = &params.ntp_sources {
        input::ntp_sources("ntp_sources", text)?;
        data.ntp_sources.clone_from(text);
    }
    if !data.additional_ntp_source.is_empty() && !data.ntp_sources.is_empty() {
        return Err(Invalid::new(
            "ntp_sources",
            "cannot be used together with additional_ntp_source: set one of them to \"\"",
        ));
    }
    Ok(())
}

fn addresses(data: &mut ClusterData, params: &ClusterUpdateParams) -> Result<(), Invalid> {
    if let Some(IgnitionEndpoint { url, ca_certificate }) = &params.ignition_endpoint {
        if let Some(url) = url {
            input::cluster::ignition_url(url)?;
            data.ignition_endpoint_url.clone_from(url);
        }
        if let Some(certificate) = ca_certificate {
            data.ignition_endpoint_ca = input::cluster::ca_certificate(certificate)?;
        }
    }
    if let Some(cidr) = &params.machine_network_cidr {
        data.machine_networks = one_network("machine_network_cidr", cidr)?;
    }
    if let Some(list) = &params.machine_networks {
        data.machine_networks =
            input::cluster::networks("machine_networks", list.iter().map(|one| one.cidr.as_deref()))?;
    }
    if let Some(list) = &params.api_vips {
        data.api_vips = input::cluster::vips("api_vips", list)?;
    }
    if let Some(list) = &params.ingress_vips {
        data.ingress_vips = input::cluster::vips("ingress_vips", list)?;
    }
    Ok(())
}

/// The older form, of one network; empty clears.
fn one_network(field: &'static str, cidr: &str) -> Result<Vec<String>, Invalid> {
    input::cluster::networks(
        field,
        Some(cidr).filter(|cidr| !cidr.is_empty()).map(Some).into_iter(),
    )
}

fn traits(traits: &mut ClusterTraits, params: ClusterUpdateParams) -> Result<(), Invalid> {
    if let Some(cidr) = &params.cluster_network_cidr {
        let host_prefix = params.cluster_network_host_prefix;
        traits.cluster_networks = input::cluster::cluster_networks(&[ClusterNetwork {
            cluster_id: None,
            cidr: Some(cidr.clone()),
            host_prefix,
        }])?;
    }
    if let Some(list) = params.cluster_networks {
        traits.cluster_networks = input::cluster::cluster_networks(&list)?;
    }
    if let Some(cidr) = &params.service_network_cidr {
        traits.service_networks = one_network("service_network_cidr", cidr)?;
    }
    if let Some(list) = params.service_networks {
        traits.service_networks = input::cluster::service_networks(&list)?;
    }
    if let Some(count) = params.control_plane_count {
        if !(0..=5).contains(&count) {
            return Err(Invalid::new("control_plane_count", "must be between 1 and 5"));
        }
        traits.control_plane_count = count;
    }
    if let Some(tags) = params.tags {
        input::cluster::text("tags", &tags)?;
        traits.tags = tags;
    }
    if let Some(list) = params.olm_operators {
        let texts = |part: fn(&muster_api::cluster::OperatorCreateParams) -> Option<&str>| {
            list.iter()
                .map(part)
                .map(Option::unwrap_or_default)
                .collect::<Vec<_>>()
        };
        input::cluster::list_of_texts("olm_operators", texts(|one| one.name.as_deref()).into_iter())?;
        input::cluster::list_of_texts(
            "olm_operators",
            texts(|one| one.properties.as_deref()).into_iter(),
        )?;
        traits.olm_operators = list;
    }
    if let Some(list) = params.operator_bundles {
        input::cluster::list_of_texts("operator_bundles", list.iter().map(|one| one.id.as_str()))?;
        for one in &list {
            let names = one.optional_operators.as_deref().unwrap_or_default();
            input::cluster::list_of_texts("operator_bundles", names.iter().map(String::as_str))?;
        }
        traits.operator_bundles = list;
    }
    if let Some(platform) = params.platform {
        let external = platform.external.as_ref();
        let texts = external.map_or([None, None], |external| {
            [
                external.platform_name.as_deref(),
                external.cloud_controller_manager.as_deref(),
            ]
        });
        input::cluster::list_of_texts(
            "platform.external",
            texts.map(Option::unwrap_or_default).into_iter(),
        )?;
        traits.platform = Some(platform);
    }
    if let Some(encryption) = params.disk_encryption {
        if let Some(servers) = &encryption.tang_servers {
            input::cluster::text("disk_encryption.tang_servers", servers)?;
        }
        traits.disk_encryption = encryption;
    }
    if let Some(balancer) = params.load_balancer {
        traits.load_balancer = balancer.balancer_type;
    }
    traits.hyperthreading = params.hyperthreading.or(traits.hyperthreading);
    traits.network_type = params.network_type.or(traits.network_type);
    traits.schedulable_masters = params.schedulable_masters.unwrap_or(traits.schedulable_masters);
    traits.user_managed_networking = params.user_managed_networking.or(traits.user_managed_networking);
    traits.vip_dhcp_allocation = params.vip_dhcp_allocation.or(traits.vip_dhcp_allocation);
    Ok(())
}
