//! Reads bootstrap data: a pointer to HyperShift's Ignition server, or an Ignition config of any bootstrap
//! provider. Source: docs/protocol/capi-agent-provider.md#3.

use std::collections::BTreeMap;
use std::fmt;

use muster_core::record::Secret;
use muster_resources::names::key;
use serde_json::{Map, Value};

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
    /// The Ignition config itself.
    Whole(Secret),
}

impl fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pointer { .. } => "Pointer",
            Self::Whole(_) => "Whole",
        })
    }
}

const BEARER: &str = "Bearer ";

impl Bootstrap {
    /// Reads the value of a bootstrap Secret.
    ///
    /// # Errors
    /// Returns the mistake in the value, and what to do; the text contains no part of it.
    pub fn read(value: &Secret) -> Result<Self, String> {
        let config: Map<String, Value> = serde_json::from_str(value.reveal()).map_err(|error| {
            // The error's own text may quote the value.
            format!(
                "is no Ignition config: no JSON object (line {}, column {}); set `format: ignition` in the bootstrap config",
                error.line(),
                error.column()
            )
        })?;
        let ignition = config.get("ignition").unwrap_or(&Value::Null);
        let version = ignition["version"].as_str().unwrap_or_default();
        if !["2.", "3."].iter().any(|known| version.starts_with(known)) {
            return Err(match version {
                "" => "is no Ignition config: it has no ignition.version".into(),
                _ => "is an Ignition config of another version than 2 and 3".into(),
            });
        }
        Ok(pointer(&config, ignition).unwrap_or_else(|| Self::Whole(value.clone())))
    }

    /// The key and the value with which the data is passed to the Agent.
    pub fn entry(&self) -> (&'static str, &Secret) {
        match self {
            Self::Pointer { token, .. } => (key::IGNITION_TOKEN, token),
            Self::Whole(config) => (key::IGNITION, config),
        }
    }

    /// Name of the MachineConfigPool, if it is known.
    pub fn machine_config_pool(&self) -> Option<&str> {
        match self {
            Self::Pointer {
                machine_config_pool, ..
            } => Some(machine_config_pool),
            Self::Whole(_) => None,
        }
    }

    /// Headers of the request to the endpoint.
    pub fn headers(&self) -> BTreeMap<String, String> {
        match self {
            Self::Pointer { headers, .. } => headers.clone(),
            Self::Whole(_) => BTreeMap::new(),
        }
    }
}

/// Recognises a config that only points to the real one: one source with a bearer token, and nothing for the host.
fn pointer(config: &Map<String, Value>, ignition: &Value) -> Option<Bootstrap> {
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
    use serde_json::json;

    fn read(value: &Value) -> Result<Bootstrap, String> {
        Bootstrap::read(&Secret::new(value.to_string()))
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
        let plain = json!({"ignition": {"version": "3.4.0"}, "systemd": {"units": []}});
        for config in [with_content, two, without_token, basic, plain] {
            let bootstrap = read(&config).unwrap();
            let (key, value) = bootstrap.entry();
            assert_eq!((key, value.reveal()), ("ignition", config.to_string().as_str()));
            assert_eq!(bootstrap.machine_config_pool(), None);
        }
    }

    #[test]
    fn anything_else_is_refused_without_being_quoted() {
        for (value, wanted) in [
            ("#cloud-config\nusers: [hunter2]", "set `format: ignition`"),
            ("[\"hunter2\"]", "no JSON object"),
            ("{\"passwd\": \"hunter2\"}", "no ignition.version"),
            (
                "{\"ignition\": {\"version\": \"hunter2\"}}",
                "another version than 2 and 3",
            ),
        ] {
            let error = Bootstrap::read(&Secret::new(value.to_owned())).unwrap_err();
            assert!(error.contains(wanted) && !error.contains("hunter2"), "{error}");
        }
    }
}
