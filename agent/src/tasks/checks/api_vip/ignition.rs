//! Reduces an ignition config to the parts that the service needs. Source: docs/protocol/agent-protocol.md#6.

use ignition_config::v3_2::Config;
use serde_json::{Map, Value};

use super::error::IgnitionError;

/// The version that the reduced config declares.
const VERSION: &str = "3.2.0";
/// Most characters of an unsupported version that an error quotes.
const LONGEST_VERSION: usize = 20;
/// The only files that are kept.
const KEPT: [&str; 3] = [
    "/etc/kubernetes/manifests/coredns.yaml",
    "/etc/kubernetes/manifests/keepalived.yaml",
    "/etc/kubernetes/kubeconfig",
];

/// Reads a config of version 3.0 to 3.2, and returns it as version 3.2, without units and with no files but those in `KEPT`.
///
/// # Errors
/// Fails with [`IgnitionError`] if the config is not valid. The error quotes only its version, since a config holds secrets.
pub fn reduce(body: &[u8]) -> Result<String, IgnitionError> {
    // One type reads all three versions: 3.1 and 3.2 only added members to 3.0. The library's parser of all versions would add a
    // megabyte to the agent.
    let config: Config = serde_json::from_slice(body).map_err(|error| IgnitionError::Misplaced {
        line: error.line(),
        column: error.column(),
    })?;
    match config.ignition.version.as_deref() {
        Some("3.0.0" | "3.1.0" | "3.2.0") => {}
        Some(version) => {
            let version: String = version
                .chars()
                .filter(|c| !c.is_control())
                .take(LONGEST_VERSION)
                .collect();
            return Err(IgnitionError::Version(version));
        }
        None => return Err(IgnitionError::NoVersion),
    }
    let mut config = serde_json::to_value(&config).map_err(IgnitionError::Write)?;
    drop_nulls(&mut config);
    config["ignition"]["version"] = VERSION.into();
    if let Some(systemd) = member(&mut config, "systemd") {
        systemd.remove("units");
    }
    if let Some(files) = member(&mut config, "storage").and_then(|storage| storage.get_mut("files"))
        && let Some(files) = files.as_array_mut()
    {
        files.retain(|file| KEPT.iter().any(|kept| file["path"] == *kept));
    }
    Ok(config.to_string())
}

fn member<'a>(config: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    config.get_mut(name)?.as_object_mut()
}

/// Removes members that are null, as Ignition itself leaves absent ones out.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reduced(config: &Value) -> Value {
        serde_json::from_str(&reduce(config.to_string().as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn units_and_files_go_and_luks_and_three_files_stay() {
        let file = |path: &str| json!({"path": path, "mode": 420, "contents": {"source": "data:,x"}});
        let config = json!({
            "ignition": {"version": "3.1.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA"]}]},
            "storage": {
                "files": [file("/etc/hosts"), file(KEPT[0]), file(KEPT[1]), file(KEPT[2]), file("/etc/kubernetes/kubeconfig2")],
            },
            "systemd": {"units": [{"name": "kubelet.service", "enabled": true, "contents": "[Unit]"}]},
        });
        let found = reduced(&config);
        let mut expected = config.clone();
        expected["ignition"]["version"] = "3.2.0".into();
        expected["storage"]["files"] = json!([file(KEPT[0]), file(KEPT[1]), file(KEPT[2])]);
        expected["systemd"] = json!({});
        assert_eq!(found, expected);
    }

    #[test]
    fn luks_with_tang_is_kept_whole() {
        let luks = json!([{
            "name": "root", "device": "/dev/disk/by-partlabel/root", "wipeVolume": true,
            "clevis": {"tang": [{"url": "http://tang.example:7500", "thumbprint": "abc"}], "threshold": 1},
        }]);
        let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"luks": luks}});
        assert_eq!(reduced(&config)["storage"]["luks"], luks);
    }

    #[test]
    fn later_versions_and_other_documents_are_refused_without_being_quoted() {
        for (config, why) in [
            (
                json!({"ignition": {"version": "3.3.0"}, "passwd": {"users": [{"name": "s3cret"}]}}),
                "its version is 3.3.0",
            ),
            (json!({"ignition": {"version": "9.0.0"}}), "its version is 9.0.0"),
            (json!({"ignition": {"version": "2.2.0"}}), "its version is 2.2.0"),
            (json!({"ignition": {}}), "it has no version"),
            (json!(["s3cret"]), "no ignition config"),
            (
                json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"mode": 1}]}}),
                "no ignition config",
            ),
        ] {
            let error = reduce(config.to_string().as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
