//! Reads facts about a cluster from the ignition of its workers. Source: docs/protocol/host-lifecycle.md#13.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// Facts about a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WorkerIgnition {
    /// The cluster provides names and load balancers for its nodes itself.
    pub(super) managed_networking: bool,
    /// Encryption of disks; `None`: not by clevis.
    pub(super) clevis: Option<Clevis>,
}

/// Source of the key of an encrypted disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Clevis {
    /// The machine's TPM.
    pub(super) tpm2: bool,
    /// Key servers.
    pub(super) tang: bool,
}

/// Static pods that only clusters with managed networking have.
const MANAGED_FILES: [&str; 2] = [
    "/etc/kubernetes/manifests/coredns.yaml",
    "/etc/kubernetes/manifests/keepalived.yaml",
];
/// Names an address instead of a name only where the cluster manages its networking.
const KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";

impl WorkerIgnition {
    /// Reads the part of the ignition that the agent kept. Unreadable parts are ignored.
    pub(super) fn read(json: &str) -> Self {
        let Ok(config) = serde_json::from_str::<Value>(json) else {
            return Self::default();
        };
        let files = config["storage"]["files"].as_array().into_iter().flatten();
        let managed_networking = files.into_iter().any(|file| match file["path"].as_str() {
            Some(path) if MANAGED_FILES.contains(&path) => true,
            Some(KUBECONFIG) => file["contents"]["source"]
                .as_str()
                .and_then(decode)
                .is_some_and(|kubeconfig| names_an_address(&kubeconfig)),
            Some(_) | None => false,
        });
        let clevis = config["storage"]["luks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|luks| &luks["clevis"])
            .find(|clevis| clevis.is_object())
            .map(|clevis| Clevis {
                tpm2: clevis["tpm2"].as_bool().unwrap_or(false),
                tang: clevis["tang"].as_array().is_some_and(|list| !list.is_empty()),
            });
        Self {
            managed_networking,
            clevis,
        }
    }
}

/// The text in a `data:` URL.
fn decode(source: &str) -> Option<String> {
    let (kind, data) = source.strip_prefix("data:")?.split_once(',')?;
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(data).collect();
    let bytes = if kind.ends_with(";base64") {
        STANDARD.decode(bytes).ok()?
    } else {
        bytes
    };
    String::from_utf8(bytes).ok()
}

#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<NamedCluster>,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: ClusterEntry,
}

#[derive(Deserialize)]
struct ClusterEntry {
    server: String,
}

fn names_an_address(kubeconfig: &str) -> bool {
    let Ok(config) = serde_saphyr::from_str::<Kubeconfig>(kubeconfig) else {
        return false;
    };
    config.clusters.first().is_some_and(|first| {
        url::Url::parse(&first.cluster.server).is_ok_and(|server| match server.host() {
            Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => true,
            Some(url::Host::Domain(name)) => name.parse::<IpAddr>().is_ok(),
            None => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(path: &str, source: &str) -> String {
        serde_json::json!({
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{"path": path, "contents": {"source": source}}]},
        })
        .to_string()
    }

    #[test]
    fn static_pods_and_an_address_in_the_kubeconfig_mean_managed_networking() {
        let managed = |json: &str| WorkerIgnition::read(json).managed_networking;
        assert!(managed(&with_file(MANAGED_FILES[0], "data:,")));
        assert!(!managed(&with_file("/etc/other", "data:,")));
        assert!(!managed(r#"{"ignition":{"version":"3.2.0"}}"#));
        assert!(!managed("junk"));
        let kubeconfig =
            |server: &str| format!("clusters:\n- cluster:\n    server: {server}\n  name: local\n");
        let by_address = kubeconfig("https://198.51.100.5:6443");
        let by_name = kubeconfig("https://api-int.day2.example.test:6443");
        let base64 = |text: &str| format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(text));
        assert!(managed(&with_file(KUBECONFIG, &base64(&by_address))));
        assert!(!managed(&with_file(KUBECONFIG, &base64(&by_name))));
        let percent = by_address.replace('\n', "%0A").replace(' ', "%20");
        assert!(managed(&with_file(KUBECONFIG, &format!("data:,{percent}"))));
    }

    #[test]
    fn keys_of_encrypted_disks_come_from_a_tpm_or_servers() {
        let clevis = |json: &str| WorkerIgnition::read(json).clevis;
        assert_eq!(clevis("{}"), None);
        assert_eq!(clevis(r#"{"storage":{"luks":[{"name":"root"}]}}"#), None);
        assert_eq!(
            clevis(r#"{"storage":{"luks":[{"clevis":{"tpm2":true}}]}}"#),
            Some(Clevis {
                tpm2: true,
                tang: false
            })
        );
        assert_eq!(
            clevis(r#"{"storage":{"luks":[{"clevis":{"tang":[{"url":"http://x"}]}}]}}"#),
            Some(Clevis {
                tpm2: false,
                tang: true
            })
        );
    }
}
