//! Reads facts about a cluster from the ignition of its workers. Source: docs/protocol/host-lifecycle.md#13.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

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

/// Reduces an ignition to the part that checks read, again as ignition 3.2.0: the static pods, the address in the
/// kubeconfig, and the key sources of encrypted disks. The rest of a machine config server's response opens the
/// cluster: the kubeconfig holds a credential, files and keys are secret. Reducing twice changes nothing; invalid
/// ignition becomes empty.
pub(crate) fn without_secrets(ignition: &str) -> String {
    let Ok(config) = serde_json::from_str::<Value>(ignition) else {
        return String::new();
    };
    let files = config["storage"]["files"].as_array().into_iter().flatten();
    let files: Vec<Value> = files.filter_map(told_by_file).collect();
    let volumes = config["storage"]["luks"].as_array().into_iter().flatten();
    let volumes: Vec<Value> = volumes.map(told_by_volume).collect();
    let mut storage = Map::new();
    for (name, list) in [("files", files), ("luks", volumes)] {
        if !list.is_empty() {
            storage.insert(name.into(), list.into());
        }
    }
    let mut reduced = json!({"ignition": {"version": "3.2.0"}});
    if !storage.is_empty() {
        reduced["storage"] = storage.into();
    }
    reduced.to_string()
}

fn told_by_file(file: &Value) -> Option<Value> {
    let path = file["path"].as_str()?;
    if MANAGED_FILES.contains(&path) {
        return Some(json!({"path": path}));
    }
    if path != KUBECONFIG {
        return None;
    }
    let kubeconfig = decode(file["contents"]["source"].as_str()?)?;
    let server = server(&kubeconfig)?;
    let origin = format!("{}://{}", server.scheme(), server.host()?);
    let address = json!({"clusters": [{"cluster": {"server": origin}}]}).to_string();
    let source = format!("data:;base64,{}", STANDARD.encode(address));
    Some(json!({"path": path, "contents": {"source": source}}))
}

fn told_by_volume(volume: &Value) -> Value {
    let mut told = Map::new();
    if let Some(name) = volume["name"].as_str() {
        told.insert("name".into(), name.into());
    }
    let clevis = &volume["clevis"];
    if clevis.is_object() {
        let mut source = Map::new();
        if let Some(tpm2) = clevis["tpm2"].as_bool() {
            source.insert("tpm2".into(), tpm2.into());
        }
        if let Some(servers) = clevis["tang"].as_array() {
            let address = |server: &Value| json!({"url": server["url"], "thumbprint": server["thumbprint"]});
            source.insert("tang".into(), servers.iter().map(address).collect());
        }
        told.insert("clevis".into(), source.into());
    }
    told.into()
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

/// The URL of the API in a kubeconfig.
fn server(kubeconfig: &str) -> Option<Url> {
    let config: Kubeconfig = serde_saphyr::from_str(kubeconfig).ok()?;
    Url::parse(&config.clusters.first()?.cluster.server).ok()
}

fn names_an_address(kubeconfig: &str) -> bool {
    server(kubeconfig).is_some_and(|server| match server.host() {
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => true,
        Some(url::Host::Domain(name)) => name.parse::<IpAddr>().is_ok(),
        None => false,
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
    fn a_reduced_ignition_tells_checks_the_same_and_holds_no_secret() {
        let kubeconfig = |server: &str| {
            let text = format!(
                "clusters:\n- cluster:\n    server: {server}\n  name: local\nusers:\n- user:\n    token: canary\n"
            );
            format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(text))
        };
        for server in [
            "https://198.51.100.5:6443",
            "https://canary:canary@[2001:db8::5]:6443/canary",
            "https://api-int.day2.example.test:6443",
        ] {
            let full = serde_json::json!({
                "ignition": {"version": "3.2.0", "config": {"merge": [{"source": "data:,canary"}]}},
                "passwd": {"users": [{"name": "core", "passwordHash": "canary"}]},
                "storage": {
                    "files": [
                        {"path": MANAGED_FILES[1], "contents": {"source": "data:,canary"}},
                        {"path": KUBECONFIG, "contents": {"source": kubeconfig(server)}},
                        {"path": "/etc/canary"},
                    ],
                    "luks": [
                        {"name": "data", "keyFile": {"source": "data:,canary"}},
                        {"name": "root", "clevis": {
                            "custom": {"config": "canary"},
                            "tang": [{"url": "http://tang", "thumbprint": "t", "advertisement": "canary"}],
                        }},
                    ],
                },
            });
            for storage in ["files", "luks", ""] {
                let mut part = full.clone();
                part["storage"][storage].take();
                let part = part.to_string();
                let reduced = without_secrets(&part);
                assert_eq!(WorkerIgnition::read(&reduced), WorkerIgnition::read(&part));
                assert_eq!(without_secrets(&reduced), reduced);
                let told: Value = serde_json::from_str(&reduced).unwrap();
                let source = told["storage"]["files"][1]["contents"]["source"].as_str();
                let kubeconfig = source.and_then(decode).unwrap_or_default();
                assert!(
                    !reduced.contains("canary") && !kubeconfig.contains("canary"),
                    "{reduced}"
                );
            }
        }
        assert_eq!(without_secrets("junk"), "");
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
