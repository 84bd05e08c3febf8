//! Sends an operator's requests: an InfraEnv to join, the token of its agents, the hosts' states.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, Method, header};
use muster_api::AGENT_TOKEN_HEADER;
use muster_api::ids::{HostId, InfraEnvId};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::measure::{Ending, Measure, Operation};
use crate::options::Options;
use crate::wire::{Ask, Credential, Wire, Wires};

/// Of the right form, without access to anything.
const PULL_SECRET: &str = r#"{"auths":{"registry.fleet.example":{"auth":"ZmxlZXQ6ZmxlZXQ="}}}"#;

/// A client with the operator's token, or with none if none is required.
pub struct Operator {
    wire: Wire,
    has_token: bool,
}

impl Operator {
    /// # Errors
    /// If the token cannot be sent.
    pub fn new(options: &Options, wires: &Wires) -> Result<Self> {
        let credential = options.token.as_ref().map(|token| {
            let value = secret(&format!("Bearer {token}")).context("--token")?;
            anyhow::Ok((header::AUTHORIZATION, value))
        });
        let wire = wires.one(
            options.base().into(),
            credential.transpose()?,
            Arc::new(Measure::new(0)),
        );
        Ok(Self {
            wire,
            has_token: options.token.is_some(),
        })
    }

    /// The InfraEnv that the options name; it is created if there is none.
    ///
    /// # Errors
    /// If the service refuses, or does not respond.
    pub async fn infra_env(&self, options: &Options) -> Result<InfraEnvId> {
        if let Some(id) = options.infra_env_id {
            return Ok(id);
        }
        let Some(name) = &options.infra_env else {
            let name = format!("fleet-{}", options.seed);
            return self.create_infra_env(&name, options.seed, options.cluster).await;
        };
        match self.find_infra_env(name).await? {
            Some(id) => Ok(id),
            None => self.create_infra_env(name, options.seed, false).await,
        }
    }

    /// The InfraEnv of that name.
    ///
    /// # Errors
    /// If several have it, and if the service refuses, or does not respond.
    pub async fn find_infra_env(&self, name: &str) -> Result<Option<InfraEnvId>> {
        #[derive(Deserialize)]
        struct Seen {
            id: InfraEnvId,
            #[serde(default)]
            name: Option<String>,
        }
        let ask = Ask::new(Operation::Download, Method::GET, "/infra-envs");
        let body = self.answer(ask, "the InfraEnvs cannot be listed").await?;
        let all: Vec<Seen> = serde_json::from_slice(&body).context("the list of InfraEnvs cannot be read")?;
        let named = |one: &Seen| one.name.as_deref() == Some(name);
        let found: Vec<InfraEnvId> = all.into_iter().filter(named).map(|one| one.id).collect();
        if found.len() > 1 {
            bail!(
                "{} InfraEnvs have the name {name}: give the id of one by --infra-env-id",
                found.len()
            );
        }
        Ok(found.first().copied())
    }

    /// The ids of an InfraEnv's hosts.
    ///
    /// # Errors
    /// If the service refuses, or does not respond.
    pub async fn hosts(&self, infra_env: InfraEnvId) -> Result<Vec<HostId>> {
        #[derive(Deserialize)]
        struct Seen {
            id: HostId,
        }
        let path = format!("/infra-envs/{infra_env}/hosts");
        let ask = Ask::new(Operation::Download, Method::GET, &path);
        let body = self.answer(ask, "the hosts cannot be listed").await?;
        let all: Vec<Seen> = serde_json::from_slice(&body).context("the list of hosts cannot be read")?;
        Ok(all.into_iter().map(|one| one.id).collect())
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// If the service refuses, or does not respond.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let ask = Ask::new(Operation::Download, Method::DELETE, path);
        self.answer(ask, &format!("DELETE {path} failed")).await?;
        Ok(())
    }

    /// Creates an InfraEnv; with `of_cluster` a cluster is imported for it, to which its hosts are bound from the
    /// start.
    async fn create_infra_env(&self, name: &str, seed: u64, of_cluster: bool) -> Result<InfraEnvId> {
        let mut body = json!({"name": name, "pull_secret": PULL_SECRET});
        if of_cluster {
            let imported = json!({
                "name": name, "api_vip_dnsname": format!("api.{name}.example.test"),
                "openshift_cluster_id": Uuid::from_u128(seed.into()),
            });
            body["cluster_id"] = self
                .create("/clusters/import", &imported)
                .await?
                .to_string()
                .into();
        }
        Ok(InfraEnvId(self.create("/infra-envs", &body).await?))
    }

    /// Creates an object; returns its id.
    async fn create(&self, path: &str, body: &Value) -> Result<Uuid> {
        #[derive(Deserialize)]
        struct Created {
            id: Uuid,
        }
        let ask = Ask::new(Operation::Download, Method::POST, path).json(body.to_string().into());
        let answer = self.answer(ask, &format!("POST {path} failed")).await?;
        let created: Created = serde_json::from_slice(&answer)
            .with_context(|| format!("the answer to POST {path} has no id"))?;
        Ok(created.id)
    }

    /// The credential of an InfraEnv's agents, read from its discovery.ign like machines do. `None` if no token is
    /// required.
    ///
    /// # Errors
    /// If the service refuses, or does not respond.
    pub async fn agent_credential(
        &self,
        options: &Options,
        infra_env: InfraEnvId,
    ) -> Result<Option<Credential>> {
        let token = match &options.agent_token {
            Some(token) => Some(token.clone()),
            None => {
                let path = format!("/infra-envs/{infra_env}/downloads/files?file_name=discovery.ign");
                let ask = Ask::new(Operation::Download, Method::GET, &path);
                let body = self
                    .answer(ask, "the agents' token cannot be learned from discovery.ign")
                    .await?;
                token_of_ignition(&body)?
            }
        };
        let token = token.filter(|token| !token.is_empty());
        token
            .map(|token| {
                Ok((
                    HeaderName::from_static(AGENT_TOKEN_HEADER),
                    secret(&token).context("the agents' token")?,
                ))
            })
            .transpose()
    }

    /// Number of hosts of the InfraEnv by state, as the service shows them.
    ///
    /// # Errors
    /// If the service refuses, or does not respond.
    pub async fn host_states(&self, infra_env: InfraEnvId) -> Result<BTreeMap<String, u64>> {
        #[derive(Deserialize)]
        struct Seen {
            #[serde(default)]
            status: Option<String>,
        }
        let path = format!("/infra-envs/{infra_env}/hosts");
        let body = self
            .answer(
                Ask::new(Operation::Download, Method::GET, &path),
                "the hosts cannot be listed",
            )
            .await?;
        let hosts: Vec<Seen> = serde_json::from_slice(&body).context("the list of hosts cannot be read")?;
        let mut states = BTreeMap::new();
        for host in hosts {
            *states
                .entry(host.status.unwrap_or_else(|| "without status".into()))
                .or_default() += 1;
        }
        Ok(states)
    }

    async fn answer(&self, ask: Ask<'_>, what: &str) -> Result<Vec<u8>> {
        let (ending, body) = self.wire.ask(ask).await;
        match ending {
            Ending::Status(200..300) => Ok(body),
            Ending::Status(status) => {
                let hint = match (status, self.has_token) {
                    (401 | 403, false) => {
                        "; give --token (muster token create --operator), or --infra-env-id and --agent-token"
                    }
                    (404, _) => "; is --infra-env-id right?",
                    _ => "",
                };
                let reason = serde_json::from_slice::<Value>(&body).unwrap_or_default();
                let reason = reason["reason"]
                    .as_str()
                    .or(reason["message"].as_str())
                    .unwrap_or_default();
                let reason: String = reason.chars().filter(|c| !c.is_control()).take(300).collect();
                bail!("{what}: the service answers {status}: {reason}{hint}")
            }
            Ending::NoAnswer(_) | Ending::Malformed => {
                bail!("{what}: {ending}; is the service there (--url)?")
            }
        }
    }
}

fn secret(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).context("it holds characters that no header can carry")?;
    value.set_sensitive(true);
    Ok(value)
}

/// In our Ignition the agent's configuration is a file with `token`; in others the agent's unit has
/// `PULL_SECRET_TOKEN`.
fn token_of_ignition(body: &[u8]) -> Result<Option<String>> {
    let ignition: Value = serde_json::from_slice(body).context("discovery.ign is no JSON")?;
    let files = ignition["storage"]["files"].as_array().into_iter().flatten();
    let contents = files.filter_map(|file| {
        let source = file["contents"]["source"].as_str()?;
        let (kind, data) = source.strip_prefix("data:")?.split_once(',')?;
        kind.ends_with(";base64").then(|| STANDARD.decode(data).ok())?
    });
    let ours = contents
        .filter_map(|content| serde_json::from_slice::<Value>(&content).ok())
        .find(|config| config["infra_env_id"].is_string());
    if let Some(config) = ours {
        return Ok(config["token"].as_str().map(str::to_owned));
    }
    let units = ignition["systemd"]["units"].as_array().into_iter().flatten();
    let lines = units
        .filter_map(|unit| unit["contents"].as_str())
        .flat_map(str::lines);
    let tokens = lines
        .filter_map(|line| line.split_once("PULL_SECRET_TOKEN="))
        .next();
    Ok(tokens.map(|(_, token)| token.trim_matches(['"', '\'', ' ']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_found_in_either_ignition() {
        let config = json!({"version": 1, "service_url": "http://a", "infra_env_id": "b", "token": "ours"});
        let source = format!(
            "data:text/plain;charset=utf-8;base64,{}",
            STANDARD.encode(config.to_string())
        );
        let ours = json!({"storage": {"files": [{"contents": {"source": "data:,x"}}, {"contents": {"source": source}}]}});
        assert_eq!(
            token_of_ignition(ours.to_string().as_bytes()).unwrap().as_deref(),
            Some("ours")
        );
        let unit =
            "[Service]\nEnvironment=HTTP_PROXY=\nEnvironment=PULL_SECRET_TOKEN=theirs\nExecStart=/bin/a";
        let theirs = json!({"systemd": {"units": [{"name": "agent.service", "contents": unit}]}});
        assert_eq!(
            token_of_ignition(theirs.to_string().as_bytes())
                .unwrap()
                .as_deref(),
            Some("theirs")
        );
        assert_eq!(token_of_ignition(b"{}").unwrap(), None);
        assert!(token_of_ignition(b"<html>").is_err());
    }
}
