//! Resolves names. Source: docs/protocol/agent-protocol.md#6.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use muster_api::steps::{DomainResolution, DomainResolutionRequestDomain};

use super::CheckError;
use crate::net::names::{Names, Resolution};

/// The only name that may end in a dot: the service detects wildcard records with it.
const WILDCARD_PROBE: &str = "validateNoWildcardDNS.";
/// Longest wait for name servers that do not respond.
const PATIENCE: Duration = Duration::from_secs(20);
const AT_ONCE: usize = 16;
/// A service sends half a dozen.
const MOST: usize = 256;

/// Resolves all names, in their order. A name that cannot be resolved, for whatever reason, has no addresses.
///
/// # Errors
/// [`CheckError::Request`]: an invalid name.
pub async fn resolve(
    names: &Names,
    domains: &[DomainResolutionRequestDomain],
) -> Result<Vec<DomainResolution>, CheckError> {
    if domains.len() > MOST {
        let count = domains.len();
        return Err(CheckError::Request(format!(
            "{count} names are too many: at most {MOST}"
        )));
    }
    for domain in domains {
        check(&domain.domain_name)?;
    }
    let resolutions = domains.iter().map(|domain| async {
        let name = domain.domain_name.as_str();
        match tokio::time::timeout(PATIENCE, names.resolve(name)).await {
            Ok(Ok(resolved)) => resolution(name, resolved),
            Ok(Err(error)) => {
                tracing::debug!("{error}");
                resolution(name, Resolution::default())
            }
            Err(_) => {
                tracing::info!(name, "the name servers do not answer");
                resolution(name, Resolution::default())
            }
        }
    });
    // A list first: the compiler does not see through a lazy one that this future can change threads.
    let resolutions: Vec<_> = resolutions.collect();
    Ok(stream::iter(resolutions).buffered(AT_ONCE).collect().await)
}

/// Sorted, since name servers return the same addresses in varying order.
fn resolution(name: &str, resolved: Resolution) -> DomainResolution {
    let mut addresses = resolved.addresses;
    addresses.sort();
    addresses.dedup();
    let texts = |wanted: fn(&IpAddr) -> bool| {
        addresses
            .iter()
            .filter(|ip| wanted(ip))
            .map(IpAddr::to_string)
            .collect()
    };
    DomainResolution {
        domain_name: name.to_owned(),
        ipv4_addresses: texts(IpAddr::is_ipv4),
        ipv6_addresses: texts(IpAddr::is_ipv6),
        cnames: resolved.canonical_name.into_iter().collect(),
    }
}

/// Host names: letters, digits and hyphens in labels of up to 63, 253 in all.
fn check(name: &str) -> Result<(), CheckError> {
    let refuse = |why: &str| Err(CheckError::Request(format!("`{name}` is no domain name: {why}")));
    let relative = name.strip_suffix('.').unwrap_or(name);
    if relative != name && !name.starts_with(WILDCARD_PROBE) {
        return refuse("it ends in a dot");
    }
    if relative.is_empty() || relative.len() > 253 {
        return refuse("1 to 253 characters are wanted");
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !relative.split('.').all(is_label) {
        return refuse("its labels must be letters, digits and hyphens between them, 63 at most");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_pass_and_others_are_refused_with_the_reason() {
        for name in [
            "api.lab.example.com",
            "console-openshift-console.apps.lab.example.com",
            "validateNoWildcardDNS.lab.example.com",
            "validateNoWildcardDNS.lab.example.com.",
            "registry",
            "xn--bcher-kva.example",
        ] {
            assert!(check(name).is_ok(), "{name}");
        }
        let long = format!("{}.example", "a".repeat(64));
        for name in [
            "",
            ".",
            "api.lab.example.com.",
            "a..b",
            "-a.b",
            "a-.b",
            "a b",
            "a_b.example",
            "*.apps.example",
            "validateNoWildcardDNS..",
            "ü.example",
            long.as_str(),
            &"a.".repeat(127),
            "a;reboot",
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_name_without_meaning_has_empty_lists_and_no_canonical_name() {
        let names = Names::configured_by("/nonexistent/resolv.conf");
        let asked = DomainResolutionRequestDomain {
            domain_name: "api.lab.example.com".into(),
        };
        let found = resolve(&names, std::slice::from_ref(&asked)).await.unwrap();
        assert_eq!(
            serde_json::to_string(&found).unwrap(),
            r#"[{"domain_name":"api.lab.example.com","ipv4_addresses":[],"ipv6_addresses":[],"cnames":null}]"#
        );
        let bad = DomainResolutionRequestDomain {
            domain_name: "a b".into(),
        };
        assert!(resolve(&names, &[asked, bad]).await.is_err());
    }
}
