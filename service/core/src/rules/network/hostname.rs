//! Validates names of hosts. Source: docs/protocol/host-lifecycle.md#10.

use std::sync::LazyLock;

use regex::Regex;

use crate::record::Host;

/// Names that many machines have by mistake.
pub const FORBIDDEN: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// The whole name, bytes.
pub const MAX_LENGTH: usize = 63;

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*\z").expect("the pattern is constant")
});

/// Validates a host's name.
///
/// # Errors
/// The first rule that is broken, as a sentence for users.
pub fn check(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("The host has no name; give it one".into());
    }
    if name.len() > MAX_LENGTH {
        return Err(format!(
            "The name {name} has {} characters; at most {MAX_LENGTH} are allowed",
            name.len()
        ));
    }
    if FORBIDDEN.contains(&name) {
        return Err(format!(
            "The name {name} is the same on every machine; give the host one of its own"
        ));
    }
    if !PATTERN.is_match(name) {
        return Err(format!(
            "The name {name:?} is not a host name: write lower-case letters, digits and hyphens, in parts separated by dots, beginning with a letter or digit"
        ));
    }
    Ok(())
}

/// True for names by which a cluster's API and services are reached: no node may have one of them. `domain`: name and base domain of the
/// cluster; empty when that is not known.
pub fn is_of_cluster(name: &str, domain: &str) -> bool {
    let (name, domain) = (name.to_ascii_lowercase(), domain.to_ascii_lowercase());
    let (first, rest) = name.split_once('.').unwrap_or((&name, ""));
    let is_short = rest.is_empty() || (!domain.is_empty() && rest == domain);
    let is_service = rest == "svc" || rest.ends_with(".svc") || rest.ends_with("cluster.local");
    let is_route = !domain.is_empty() && name.ends_with(&format!(".apps.{domain}"));
    first == "kubernetes"
        || is_service
        || is_route
        || (is_short && matches!(first, "api" | "api-int" | "openshift"))
}

/// The user's choice.
pub fn requested(host: &Host) -> Option<&str> {
    host.data
        .requested_hostname
        .as_deref()
        .filter(|name| !name.is_empty())
}

/// The name that it is installed with; before that the user's choice, else the reported name; `None` if there is none.
pub fn effective(host: &Host) -> Option<&str> {
    let installed = || host.data.installed_as.as_ref().map(|kept| kept.hostname.as_str());
    let reported = || {
        host.inventory
            .as_ref()
            .map(|inventory| inventory.hostname.as_str())
    };
    let named = |name: &&str| !name.is_empty();
    installed()
        .filter(named)
        .or_else(|| requested(host))
        .or_else(|| reported().filter(named))
}

/// The name of the host for messages: the effective one, else the last reported one, else the id.
pub fn display(host: &Host) -> String {
    let last = || Some(host.data.reported_hostname.as_str()).filter(|name| !name.is_empty());
    effective(host)
        .or_else(last)
        .map_or_else(|| host.id.to_string(), str::to_owned)
}

/// True if the host was named by a user or by its network. For a machine without a name the agent derives one from a
/// MAC address. Source: docs/protocol/agent-inventory.md#3.
pub fn is_given(host: &Host) -> bool {
    if requested(host).is_some() {
        return true;
    }
    host.inventory.as_ref().is_some_and(|told| {
        let mut macs = told.interfaces.iter().map(|card| &card.mac_address);
        let is_made = macs.any(|mac| mac.replace(':', "-") == told.hostname);
        !is_made && check(&told.hostname).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::{check, is_of_cluster};

    #[test]
    fn good_names_pass() {
        for name in [
            "a",
            "worker-1",
            "0x1",
            "node.rack-3.example.test",
            &"a".repeat(63),
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_of_the_cluster_are_no_hosts() {
        let domain = "east.lab.example";
        for name in [
            "kubernetes",
            "kubernetes.default.svc",
            "Kubernetes.default",
            "kubernetes.east.lab.example",
            "openshift.default.svc.cluster.local",
            "registry.image.svc",
            "api",
            "api-int",
            "api.east.lab.example",
            "API-int.East.lab.example",
            "console.apps.east.lab.example",
        ] {
            assert!(is_of_cluster(name, domain), "{name}");
        }
        for name in [
            "worker-1",
            "worker-1.east.lab.example",
            "api-7",
            "api.rack.example",
            "kubernetes-1",
            "apps",
            "worker.apps.example",
        ] {
            assert!(!is_of_cluster(name, domain), "{name}");
        }
        assert!(
            is_of_cluster("api", "") && !is_of_cluster("api.example", "") && !is_of_cluster("a.apps.", "")
        );
    }

    #[test]
    fn bad_names_are_refused_with_a_reason() {
        for name in [
            "",
            "-a",
            "Upper",
            "a_b",
            "a..b",
            "a.",
            "ü",
            "a b",
            "a\n",
            "localhost",
            "localhost6.localdomain6",
            &"a".repeat(64),
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
