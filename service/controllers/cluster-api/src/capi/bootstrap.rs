//! Reads bootstrap data: a pointer to HyperShift's Ignition server, or Ignition or cloud-config of any bootstrap
//! provider. Source: docs/protocol/capi-agent-provider.md#3, docs/protocol/capi-day1.md#2.

use std::collections::BTreeMap;
use std::fmt;

use muster_api::steps::ImageConfiguration;
use muster_core::record::Secret;
use muster_core::rules::bootstrap_data::{self, BootstrapData, Refused};
use muster_resources::names::key;
use serde_json::{Map, Value};
use strum::VariantArray;

/// Bootstrap data of a Machine.
#[derive(Clone, PartialEq, Eq)]
pub enum Bootstrap {
    /// The host requests its Ignition config from an endpoint.
    Pointer {
        /// Authorizes the host there.
        token: Secret,
        /// Further headers of the request.
        headers: BTreeMap<String, String>,
        /// End of the endpoint's URL.
        machine_config_pool: String,
    },
    /// The Ignition config itself, of specification 3.
    Whole(Secret),
    /// A cloud-config as it is: its templates need the values of a host that is not chosen yet.
    UserData {
        text: Secret,
        /// The member that Ignition cannot express, so that only an image with cloud-init will do.
        only_for_cloud_init: Option<Refused>,
    },
}

impl fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pointer { .. } => "Pointer",
            Self::Whole(_) => "Whole",
            Self::UserData { .. } => "UserData",
        })
    }
}

const BEARER: &str = "Bearer ";

/// Most bytes of all headers of a pointer: they become a part of the Agent.
const MAX_HEADERS: usize = 16 << 10;

impl Bootstrap {
    /// Reads the value of a bootstrap Secret.
    ///
    /// # Errors
    /// The member that cannot come true on a host, whatever its image is.
    pub fn read(value: &Secret) -> Result<Self, Refused> {
        if let Some(pointer) = pointer(value.reveal()) {
            return Ok(pointer);
        }
        Ok(match bootstrap_data::read(value.reveal())? {
            BootstrapData::Ignition(config) => Self::Whole(Secret::new(config)),
            BootstrapData::CloudConfig(config) => Self::UserData {
                text: value.clone(),
                only_for_cloud_init: config.check().err(),
            },
        })
    }

    /// The programs that can apply the data, each of which configures some images.
    pub fn applied_by(&self) -> &'static [ImageConfiguration] {
        match self {
            Self::Pointer { .. } | Self::Whole(_) => &[ImageConfiguration::Ignition],
            Self::UserData {
                only_for_cloud_init: None,
                ..
            } => ImageConfiguration::VARIANTS,
            Self::UserData { .. } => &[ImageConfiguration::CloudInit],
        }
    }

    /// The member that Ignition cannot express.
    pub fn only_for_cloud_init(&self) -> Option<&Refused> {
        match self {
            Self::UserData {
                only_for_cloud_init, ..
            } => only_for_cloud_init.as_ref(),
            Self::Pointer { .. } | Self::Whole(_) => None,
        }
    }

    /// The key and the value with which the data is passed to the Agent.
    pub fn entry(&self) -> (&'static str, &Secret) {
        match self {
            Self::Pointer { token, .. } => (key::IGNITION_TOKEN, token),
            Self::Whole(config) => (key::IGNITION, config),
            Self::UserData { text, .. } => (key::USER_DATA, text),
        }
    }

    /// Name of the MachineConfigPool, if it is known.
    pub fn machine_config_pool(&self) -> Option<&str> {
        match self {
            Self::Pointer {
                machine_config_pool, ..
            } => Some(machine_config_pool),
            Self::Whole(_) | Self::UserData { .. } => None,
        }
    }

    /// Headers of the request to the endpoint.
    pub fn headers(&self) -> BTreeMap<String, String> {
        match self {
            Self::Pointer { headers, .. } => headers.clone(),
            Self::Whole(_) | Self::UserData { .. } => BTreeMap::new(),
        }
    }
}

/// Recognises a config that only points to the real one: one source with a bearer token, and nothing for the host.
fn pointer(text: &str) -> Option<Bootstrap> {
    let config: Map<String, Value> = serde_json::from_str(text).ok()?;
    let ignition = config.get("ignition")?;
    if !["2.", "3."].iter().any(|known| {
        let version = ignition["version"].as_str();
        version.is_some_and(|version| version.starts_with(known))
    }) {
        return None;
    }
    let has_content = config.iter().any(|(name, value)| {
        let is_empty = value.as_object().is_some_and(Map::is_empty);
        name != "ignition" && !value.is_null() && !is_empty
    });
    let [source] = ignition["config"]["merge"].as_array()?.as_slice() else {
        return None;
    };
    if has_content {
        return None;
    }
    let url = source["source"].as_str()?;
    let mut token = None;
    let mut headers = BTreeMap::new();
    for header in source["httpHeaders"].as_array()? {
        let (name, value) = (
            header["name"].as_str()?,
            header["value"].as_str().unwrap_or_default(),
        );
        if name.eq_ignore_ascii_case("Authorization") {
            token = Some(Secret::new(value.strip_prefix(BEARER)?.to_owned()));
        } else {
            headers.insert(name.to_owned(), value.to_owned());
        }
    }
    let length = |(name, value): (&String, &String)| name.len() + value.len();
    if headers.iter().map(length).sum::<usize>() > MAX_HEADERS {
        return None;
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    Some(Bootstrap::Pointer {
        token: token?,
        headers,
        machine_config_pool: path.rsplit('/').next().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn read(value: &Value) -> Result<Bootstrap, String> {
        Bootstrap::read(&Secret::new(value.to_string())).map_err(|refused| refused.to_string())
    }

    fn stub() -> Value {
        json!({"ignition": {
            "version": "3.2.0",
            "security": {"tls": {"certificateAuthorities": [{"source": "data:text/plain;base64,eA=="}]}},
            "config": {"merge": [{
                "source": "https://ignition.example.test:31111/ignition",
                "httpHeaders": [
                    {"name": "Authorization", "value": "Bearer ZmFrZQ=="},
                    {"name": "NodePool", "value": "clusters/np"},
                    {"name": "TargetConfigVersionHash", "value": "1a2b"},
                ],
            }]},
        }})
    }

    #[test]
    fn a_pointer_of_hypershift_gives_token_headers_and_pool() {
        let Ok(Bootstrap::Pointer {
            token,
            headers,
            machine_config_pool,
        }) = read(&stub())
        else {
            panic!("no pointer")
        };
        assert_eq!(token.reveal(), "ZmFrZQ==");
        assert_eq!(machine_config_pool, "ignition");
        assert_eq!(
            headers.keys().collect::<Vec<_>>(),
            ["NodePool", "TargetConfigVersionHash"]
        );
        assert_eq!(read(&stub()).unwrap().entry().0, "ignition-token");
    }

    #[test]
    fn any_other_config_is_taken_as_it_is() {
        let mut with_content = stub();
        with_content["storage"] = json!({"files": []});
        let mut two = stub();
        two["ignition"]["config"]["merge"] = json!([{"source": "https://a/b"}, {"source": "https://a/c"}]);
        let mut without_token = stub();
        without_token["ignition"]["config"]["merge"][0]["httpHeaders"] = json!([]);
        let mut basic = stub();
        basic["ignition"]["config"]["merge"][0]["httpHeaders"][0]["value"] = json!("Basic eA==");
        let mut large = stub();
        large["ignition"]["config"]["merge"][0]["httpHeaders"][1]["value"] = json!("x".repeat(MAX_HEADERS));
        let plain = json!({"ignition": {"version": "3.4.0"}, "systemd": {"units": []}});
        for config in [with_content, two, without_token, basic, large, plain] {
            let bootstrap = read(&config).unwrap();
            let (key, value) = bootstrap.entry();
            assert_eq!((key, value.reveal()), ("ignition", config.to_string().as_str()));
            assert_eq!(bootstrap.machine_config_pool(), None);
        }
    }

    #[test]
    fn a_config_of_specification_2_is_passed_on_as_3_or_refused_by_its_member() {
        let mut config = json!({"ignition": {"version": "2.3.0", "config": {}}, "storage": {"files": [
            {"filesystem": "root", "path": "/etc/kubeadm.sh", "mode": 448, "contents": {"source": "data:,hunter2", "verification": {}}},
        ]}});
        let bootstrap = read(&config).unwrap();
        let (key, value) = bootstrap.entry();
        let value: Value = serde_json::from_str(value.reveal()).unwrap();
        let file = json!({"path": "/etc/kubeadm.sh", "mode": 448, "overwrite": true, "contents": {"source": "data:,hunter2"}});
        let expected = json!({"ignition": {"version": "3.3.0"}, "storage": {"files": [file]}});
        assert_eq!((key, value), ("ignition", expected));
        config["storage"]["luks"] = json!([{"name": "hunter2"}]);
        let error = read(&config).unwrap_err();
        assert!(
            error.contains("`storage.luks`: ") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_config_of_specification_3_is_validated_with_the_configs_in_it() {
        let inner = |device: &str| {
            let inner = json!({"ignition": {"version": "3.4.0"}, "storage": {"filesystems": [
                {"device": device, "format": "btrfs", "path": "/opt"},
            ]}});
            let source = format!(
                "data:application/json;base64,{}",
                STANDARD.encode(inner.to_string())
            );
            json!({"ignition": {"version": "3.4.0", "config": {"merge": [{"source": source}]}}})
        };
        let k0smotron = inner("/dev/vdb1");
        let bootstrap = read(&k0smotron).unwrap();
        assert_eq!(bootstrap.entry().0, "ignition", "no pointer: it has no token");
        assert_eq!(bootstrap.entry().1.reveal(), k0smotron.to_string());
        let error = read(&inner("/dev/disk/by-partlabel/p.lxroot")).unwrap_err();
        assert!(
            error.contains("-> storage.filesystems.0.device`: ") && error.contains("SUSE MicroOS"),
            "{error}"
        );
        let invalid = json!({"ignition": {"version": "3.3.0"}, "storage": {"files": [{"path": "hunter2"}]}});
        let error = read(&invalid).unwrap_err();
        assert!(
            error.contains("`storage.files.0.path`: ") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_cloud_config_is_passed_on_as_it_is() {
        let text = "## template: jinja\n#cloud-config\nruncmd:\n- echo {{ ds.meta_data.local_hostname }}\n";
        let bootstrap = Bootstrap::read(&Secret::new(text.to_owned())).unwrap();
        let (key, value) = bootstrap.entry();
        assert_eq!((key, value.reveal()), ("user-data", text));
        assert_eq!(bootstrap.machine_config_pool(), None);
        assert_eq!(format!("{bootstrap:?}"), "UserData");
        assert_eq!(bootstrap.applied_by(), ImageConfiguration::VARIANTS);
        let refused = bootstrap.only_for_cloud_init();
        assert_eq!(refused, None);
    }

    #[test]
    fn a_cloud_config_that_ignition_cannot_express_is_for_cloud_init_alone() {
        for (text, member) in [
            ("#cloud-config\npackages: [hunter2]", "packages"),
            (
                "#cloud-config\nbootcmd: [\"cloud-init-per once hunter2 x\"]",
                "bootcmd.0",
            ),
        ] {
            let bootstrap = Bootstrap::read(&Secret::new(text.to_owned())).unwrap();
            assert_eq!(bootstrap.applied_by(), [ImageConfiguration::CloudInit]);
            assert_eq!(bootstrap.only_for_cloud_init().unwrap().member, member);
        }
        let ignition = read(&json!({"ignition": {"version": "3.4.0"}})).unwrap();
        assert_eq!(ignition.applied_by(), [ImageConfiguration::Ignition]);
    }

    #[test]
    fn anything_else_is_refused_without_being_quoted() {
        for (value, wanted) in [
            ("#cloud-config\n[hunter2", "is not YAML"),
            (
                "## template: jinja\n#cloud-config\nruncmd: [\"{{ .hunter2 }}\"]",
                "`line 3`: ",
            ),
            ("#!/bin/sh\nhunter2", "`line 1`: "),
            ("[\"hunter2\"]", "`ignition.version`: "),
            ("{\"passwd\": \"hunter2\"}", "`ignition.version`: "),
            (
                "{\"ignition\": {\"version\": \"hunter2\"}}",
                "`ignition.version`: ",
            ),
            (
                "{\"ignition\": {\"version\": \"3.4.0\"}, \"storage\": {\"files\": [{\"path\": \"hunter2\"}]}}",
                "`storage.files.0.path`: ",
            ),
        ] {
            let error = Bootstrap::read(&Secret::new(value.to_owned()))
                .unwrap_err()
                .to_string();
            assert!(error.contains(wanted) && !error.contains("hunter2"), "{error}");
        }
    }
}
