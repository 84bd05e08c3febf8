//! Validates settings of a cluster. Source: docs/protocol/rest-behaviour.md#6, docs/protocol/rest-schemas.json.

use std::net::IpAddr;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use muster_api::cluster::{ClusterNetwork, ServiceNetwork, Vip};
use regex::Regex;
use url::Url;

use super::{Invalid, is_host_name, trust_bundle};
use crate::rules::ignition_spec;
use crate::text::has_control_characters;

/// Longest name, characters (docs/protocol/rest-schemas.json).
const MAX_NAME: usize = 54;

/// Most entries of any list.
const MAX_LIST: usize = 100;

/// Longest free text, bytes.
const MAX_TEXT: usize = 4096;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\z")
        .expect("the pattern is constant")
});

pub(crate) fn name(name: &str) -> Result<(), Invalid> {
    if name.len() <= MAX_NAME && NAME.is_match(name) {
        return Ok(());
    }
    Err(Invalid::new(
        "name",
        "must be 1 to 54 lower-case letters, digits, hyphens and dots, beginning and ending with a letter or digit",
    ))
}

/// Empty is accepted if the caller clears the setting by it.
pub(crate) fn domain(field: &'static str, text: &str) -> Result<(), Invalid> {
    if text.is_empty() || is_host_name(text) {
        return Ok(());
    }
    Err(Invalid::new(
        field,
        format!("{text:?} is not a domain such as example.com"),
    ))
}

/// A host name or an address.
pub(crate) fn endpoint(field: &'static str, text: &str) -> Result<(), Invalid> {
    if text.parse::<IpAddr>().is_ok() || is_host_name(text) {
        return Ok(());
    }
    Err(Invalid::new(
        field,
        format!("{text:?} is neither a host name such as api.cluster.example.com nor an IP address"),
    ))
}

fn network(field: &'static str, text: Option<&str>) -> Result<String, Invalid> {
    let text = text.unwrap_or_default();
    if text.parse::<IpNet>().is_ok() {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(
        field,
        format!("{text:?} is not a network such as 192.0.2.0/24 or 2001:db8::/64"),
    ))
}

fn short(field: &'static str, length: usize) -> Result<(), Invalid> {
    if length <= MAX_LIST {
        return Ok(());
    }
    Err(Invalid::new(
        field,
        format!("has {length} entries; at most {MAX_LIST} are taken"),
    ))
}

pub(crate) fn networks<'a>(
    field: &'static str,
    list: impl ExactSizeIterator<Item = Option<&'a str>>,
) -> Result<Vec<String>, Invalid> {
    short(field, list.len())?;
    list.map(|cidr| network(field, cidr)).collect()
}

pub(crate) fn cluster_networks(list: &[ClusterNetwork]) -> Result<Vec<ClusterNetwork>, Invalid> {
    short("cluster_networks", list.len())?;
    list.iter()
        .map(|one| {
            let cidr = network("cluster_networks", one.cidr.as_deref())?;
            if one.host_prefix.is_some_and(|prefix| !(1..=128).contains(&prefix)) {
                return Err(Invalid::new(
                    "cluster_networks.host_prefix",
                    "must be between 1 and 128",
                ));
            }
            Ok(ClusterNetwork {
                cluster_id: None,
                cidr: Some(cidr),
                host_prefix: one.host_prefix,
            })
        })
        .collect()
}

pub(crate) fn service_networks(list: &[ServiceNetwork]) -> Result<Vec<String>, Invalid> {
    networks("service_networks", list.iter().map(|one| one.cidr.as_deref()))
}

pub(crate) fn vips(field: &'static str, list: &[Vip]) -> Result<Vec<String>, Invalid> {
    short(field, list.len())?;
    list.iter()
        .map(|vip| {
            let ip = vip.ip.as_deref().unwrap_or_default();
            let parsed = ip
                .parse::<IpAddr>()
                .map_err(|_| Invalid::new(field, format!("{ip:?} is not an IP address")))?;
            Ok(parsed.to_string())
        })
        .collect()
}

/// Empty clears the setting.
pub(crate) fn ignition_url(text: &str) -> Result<(), Invalid> {
    let good = text.is_empty()
        || ignition_spec::scheme(text).is_some()
            && Url::parse(text)
                .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    if good && !text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    Err(Invalid::new(
        "ignition_endpoint.url",
        "must be a URL of the form http://host[:port]/path or https://host[:port]/path",
    ))
}

/// Returns the PEM inside; empty clears the setting.
pub(crate) fn ca_certificate(base64: &str) -> Result<String, Invalid> {
    let field = "ignition_endpoint.ca_certificate";
    let decoded = STANDARD.decode(base64.trim()).ok();
    let pem = decoded
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| Invalid::new(field, "must be PEM certificates, encoded as base64 once more"))?;
    let pem = pem.trim();
    trust_bundle(pem).map_err(|invalid| Invalid::new(field, invalid.reason))?;
    Ok(pem.to_owned())
}

/// Validates free text.
pub(crate) fn text(field: &'static str, text: &str) -> Result<(), Invalid> {
    if text.len() > MAX_TEXT || has_control_characters(text) {
        return Err(Invalid::new(
            field,
            "must be at most 4096 bytes without control characters",
        ));
    }
    Ok(())
}

pub(crate) fn list_of_texts<'a>(
    field: &'static str,
    list: impl ExactSizeIterator<Item = &'a str>,
) -> Result<(), Invalid> {
    short(field, list.len())?;
    let mut list = list;
    list.try_for_each(|one| text(field, one))
}
