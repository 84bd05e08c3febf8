//! The address from which a host takes the ignition of its cluster. Source: docs/protocol/host-lifecycle.md#13.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_api::host::KeyValue;
use muster_api::steps::ApiVipConnectivityRequest;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::record::{ClusterData, Host};
use crate::rules::facts::ClusterFacts;
use crate::rules::role;

/// All but the unreserved characters of URLs. Source: RFC 3986.
pub(super) const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The request with which the host downloads its ignition. Source: docs/protocol/host-lifecycle.md#13.
pub(crate) fn api_vip(host: &Host, cluster: ClusterFacts<'_>) -> Option<ApiVipConnectivityRequest> {
    let data = &cluster.cluster.data;
    let ca = ca_bundle(host, data);
    // A pool may have any name, and Ignition refuses a URL with one that makes no sense in it.
    let pool = utf8_percent_encode(role::pool(&host.data), ESCAPED);
    let url = if !data.ignition_endpoint_url.is_empty() {
        format!("{}/{pool}", data.ignition_endpoint_url.trim_end_matches('/'))
    } else if data.api_vip_dnsname.is_empty() {
        return None;
    } else if ca.is_empty() {
        format!("http://{}:22624/config/{pool}", in_url(&data.api_vip_dnsname))
    } else {
        let name = match data.api_vip_dnsname.strip_prefix("api.") {
            Some(rest) => format!("api-int.{rest}"),
            None => in_url(&data.api_vip_dnsname),
        };
        format!("https://{name}:22623/config/{pool}")
    };
    let token = &host.data.ignition_endpoint_token;
    let bearer = (!token.is_empty()).then(|| KeyValue {
        key: "Authorization".into(),
        value: format!("Bearer {}", token.reveal()),
    });
    let own = host.data.ignition_endpoint_http_headers.iter();
    let mut names = HashSet::new();
    // Ignition refuses duplicate and empty headers. The token has precedence over a header of that name.
    let headers: Vec<KeyValue> = bearer
        .into_iter()
        .chain(own.map(|(key, value)| KeyValue {
            key: key.clone(),
            value: value.clone(),
        }))
        .filter(|header| !header.value.is_empty() && names.insert(header.key.to_ascii_lowercase()))
        .collect();
    Some(ApiVipConnectivityRequest {
        url,
        ca_certificate: (!ca.is_empty()).then(|| STANDARD.encode(&ca)),
        ignition_endpoint_token: (!token.is_empty()).then(|| token.reveal().to_owned()),
        request_headers: (!headers.is_empty()).then_some(headers),
        verify_cidr: None,
    })
}

fn in_url(name: &str) -> String {
    if name.parse::<Ipv6Addr>().is_ok() {
        format!("[{name}]")
    } else {
        name.to_owned()
    }
}

/// The certificates of the cluster and of the host's own ignition, each once.
fn ca_bundle(host: &Host, cluster: &ClusterData) -> String {
    let mut bundle = String::new();
    let own = serde_json::from_str::<Value>(host.data.ignition_config_overrides.reveal()).ok();
    let own = own
        .as_ref()
        .and_then(|ignition| ignition.pointer("/ignition/security/tls/certificateAuthorities"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|authority| decoded(authority["source"].as_str()?));
    for pem in std::iter::once(cluster.ignition_endpoint_ca.clone()).chain(own) {
        let pem = pem.trim();
        if !pem.is_empty() && !bundle.contains(pem) {
            bundle.push_str(pem);
            bundle.push('\n');
        }
    }
    bundle
}

/// Returns the text in a base64 `data:` URL.
fn decoded(url: &str) -> Option<String> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    if !kind.ends_with(";base64") {
        return None;
    }
    String::from_utf8(STANDARD.decode(data).ok()?).ok()
}
