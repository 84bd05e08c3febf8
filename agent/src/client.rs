//! The service's HTTP API. Source: docs/protocol/agent-protocol.md#2 to #4.

mod credential;
mod failure;
pub mod install;
mod logs;
mod program;
mod speaker;

use std::sync::Arc;
use std::time::Duration;

use muster_api::agent::AGENT_BUILD_HEADER;
use muster_api::fingerprint::{FINGERPRINT_HEADER, Fingerprint};
use muster_api::host_key::HOST_KEY_HEADER;
use muster_api::ids::HostId;
use muster_api::steps::{NextStepRunnerArgs, Steps};
use muster_api::{AGENT_TOKEN_HEADER, AGENT_VERSION_HEADER, BASE_PATH};
use reqwest::header::HeaderValue;
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use url::Url;
use uuid::Uuid;

pub use self::failure::{Failure, Request};

use self::credential::Credential;
use self::speaker::ServiceClock;
use crate::config::Settings;
use crate::host::key;
use crate::net::http::{self, BodyError, HttpError};
use crate::net::names::Names;
use crate::net::unanswered::{is_about_dates, why};

/// No response of the protocol is larger.
const LARGEST_ANSWER: usize = 4 << 20;
/// Longest reason to display, characters.
const LONGEST_REASON: usize = 300;
/// Quick retries of a request that met 503 or 504.
const QUICK_RETRIES: u32 = 3;

/// Settings that give no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the token holds characters that cannot be sent; give it as the service printed it")]
    Token,
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// The service's response to a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The host's id from now on.
    pub host_id: HostId,
    /// The host's agent version from now on, if the service gives one.
    pub agent_version: Option<String>,
}

/// A client of one service, for one InfraEnv.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    hosts: Url,
    health: Url,
    clock: Arc<ServiceClock>,
    credential: Arc<Credential>,
}

impl Client {
    /// A client for the service that `settings` name. Reads the system's certificates when the URL is `https`.
    ///
    /// # Errors
    /// [`ClientError`]: the settings cannot work.
    pub fn new(settings: &Settings, names: &Names) -> Result<Self, ClientError> {
        let builder = http::service_client(settings, names)?;
        let token = HeaderValue::from_str(settings.token.reveal()).map_err(|_| ClientError::Token)?;
        let http = builder.build().map_err(HttpError::client)?;
        let base = settings.service_url.path().trim_end_matches('/').to_owned();
        let mut hosts = settings.service_url.clone();
        hosts.set_path(&format!(
            "{base}{BASE_PATH}/infra-envs/{}/hosts",
            settings.infra_env_id
        ));
        let mut health = settings.service_url.clone();
        health.set_path(&format!("{base}/health"));
        Ok(Self {
            http,
            hosts,
            health,
            clock: Arc::default(),
            credential: Arc::new(Credential::new(token)),
        })
    }

    /// Registers the host. Its fingerprint goes into a header, since services refuse unknown members.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn register(
        &self,
        host_id: HostId,
        version: &str,
        fingerprint: &Fingerprint,
        request_id: Uuid,
    ) -> Result<Registration, Failure> {
        let body = serde_json::json!({ "host_id": host_id, "discovery_agent_version": version });
        let request = self
            .request(Method::POST, self.hosts.clone(), Some(version), request_id)
            .header(FINGERPRINT_HEADER, fingerprint.header_value())
            .header(HOST_KEY_HEADER, key::own().public())
            .json(&body);
        parse_registration(&self.answer(Some(host_id), request).await?, host_id)
    }

    /// Requests instructions. `build`: SHA-256 of this program, if it can make way for another one. `now` is the host's clock, seconds
    /// since 1970; the service checks it.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn instructions(
        &self,
        host_id: HostId,
        version: &str,
        build: Option<&str>,
        now: u64,
        request_id: Uuid,
    ) -> Result<Steps, Failure> {
        let mut request = self
            .request(
                Method::GET,
                self.instructions_url(host_id),
                Some(version),
                request_id,
            )
            .query(&[("timestamp", now)]);
        if let Some(build) = build {
            request = request.header(AGENT_BUILD_HEADER, build);
        }
        serde_json::from_slice(&self.answer(Some(host_id), request).await?)
            .map_err(|error| Failure::Malformed(printable(&error.to_string())))
    }

    /// Posts the reply to a step; `body` is the JSON object of the protocol.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn reply(
        &self,
        host_id: HostId,
        version: &str,
        body: &serde_json::Value,
        request_id: Uuid,
    ) -> Result<(), Failure> {
        let request = self
            .request(
                Method::POST,
                self.instructions_url(host_id),
                Some(version),
                request_id,
            )
            .json(body);
        self.answer(Some(host_id), request).await.map(drop)
    }

    /// The discovery ignition of the InfraEnv, which holds its pull secret, mirrors and certificates.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn discovery_ignition(&self) -> Result<Vec<u8>, Failure> {
        let mut url = self.hosts.clone();
        let infra_env = url.path().trim_end_matches("/hosts").to_owned();
        url.set_path(&format!("{infra_env}/downloads/files"));
        url.query_pairs_mut().append_pair("file_name", "discovery.ign");
        self.answer(None, self.request(Method::GET, url, None, Uuid::new_v4()))
            .await
    }

    /// A URL under the protocol's base path.
    fn api(&self, path: &str) -> Url {
        self.below(BASE_PATH, path)
    }

    /// A URL under a base path of the service's APIs.
    fn below(&self, base_path: &str, path: &str) -> Url {
        let mut url = self.hosts.clone();
        let base = self
            .hosts
            .path()
            .split(BASE_PATH)
            .next()
            .unwrap_or_default()
            .to_owned();
        url.set_path(&format!("{base}{base_path}/{path}"));
        url
    }

    fn instructions_url(&self, host_id: HostId) -> Url {
        let mut url = self.hosts.clone();
        url.set_path(&format!("{}/{host_id}/instructions", self.hosts.path()));
        url
    }

    fn request(&self, method: Method, url: Url, version: Option<&str>, request_id: Uuid) -> RequestBuilder {
        let mut request = self
            .http
            .request(method, url)
            .header(AGENT_TOKEN_HEADER, self.token())
            .header("x-request-id", request_id.to_string());
        if let Some(version) = version.and_then(|text| HeaderValue::from_str(text).ok()) {
            request = request.header(AGENT_VERSION_HEADER, version);
        }
        request.header("accept", "application/json")
    }

    /// The token that requests carry.
    pub fn token(&self) -> HeaderValue {
        self.credential.present()
    }

    /// The URL of the service's health, which needs no token.
    pub fn health_url(&self) -> &Url {
        &self.health
    }

    /// Sends, with quick retries on 503 and 504; returns the body of a successful response. `speaker`: the host that it is sent for.
    async fn answer(&self, speaker: Option<HostId>, request: RequestBuilder) -> Result<Vec<u8>, Failure> {
        for attempt in 0.. {
            let again = request.try_clone();
            let again = again.ok_or_else(|| Failure::Transport("not repeatable".into()))?;
            let response = self.request_once(speaker, again).await?;
            let status = response.status().as_u16();
            if matches!(status, 503 | 504) && attempt < QUICK_RETRIES {
                let most = (2000 << attempt).min(10_000);
                tokio::time::sleep(Duration::from_millis(rand::random_range(0..most))).await;
                continue;
            }
            let good = response.status().is_success();
            let location = response
                .headers()
                .get("location")
                .and_then(|value| value.to_str().ok())
                .map(printable);
            let body = read_body(response).await?;
            if good {
                return Ok(body);
            }
            let reason = match location {
                Some(to) if (300..400).contains(&status) => {
                    format!("it sends us on to {to}; use that as the service URL")
                }
                _ => reason(&body),
            };
            return Err(Failure::Status(status, reason));
        }
        unreachable!("the loop ends by returning")
    }

    /// Sends once: a proof is good for one request.
    async fn request_once(
        &self,
        speaker: Option<HostId>,
        request: RequestBuilder,
    ) -> Result<Response, Failure> {
        let failed = |error: reqwest::Error| {
            let about_dates = is_about_dates(&error);
            let reason = printable(&why(error));
            if about_dates {
                Failure::CertificateDates(reason)
            } else {
                Failure::Transport(reason)
            }
        };
        let mut request = request.build().map_err(failed)?;
        if let Some(host) = speaker {
            self.clock
                .prove(&mut request, host, &self.http, &self.health)
                .await;
        }
        let response = self.http.execute(request).await.map_err(failed)?;
        self.clock.learn(&response);
        if speaker.is_some() {
            self.credential.take_from(&response);
        }
        Ok(response)
    }
}

async fn read_body(response: Response) -> Result<Vec<u8>, Failure> {
    http::body(response, LARGEST_ANSWER)
        .await
        .map_err(|error| match error {
            BodyError::TooLarge => Failure::Malformed(format!("it is larger than {LARGEST_ANSWER} bytes")),
            BodyError::Transport(reason) => Failure::Transport(printable(&reason)),
        })
}

/// Parses the members of a registration's response that the agent needs, and no others: services differ in the
/// rest.
fn parse_registration(body: &[u8], ours: HostId) -> Result<Registration, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        id: Option<HostId>,
        next_step_runner_command: Option<Command>,
    }
    #[derive(Deserialize)]
    struct Command {
        #[serde(default)]
        args: Option<Vec<String>>,
    }
    let answer: Answer =
        serde_json::from_slice(body).map_err(|error| Failure::Malformed(printable(&error.to_string())))?;
    let args = answer.next_step_runner_command.and_then(|command| command.args);
    let arguments = match args.as_deref() {
        None | Some([]) => None,
        Some([text, ..]) => Some(serde_json::from_str::<NextStepRunnerArgs>(text).map_err(|error| {
            Failure::Malformed(format!(
                "next_step_runner_command.args[0]: {}",
                printable(&error.to_string())
            ))
        })?),
    };
    Ok(Registration {
        host_id: arguments
            .as_ref()
            .map(|arguments| arguments.host_id)
            .or(answer.id)
            .unwrap_or(ours),
        agent_version: arguments
            .map(|arguments| arguments.agent_version)
            .filter(|version| !version.is_empty()),
    })
}

/// The reason in an error body: `reason`, `message`, or the text itself.
fn reason(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Error {
        #[serde(alias = "message")]
        reason: String,
    }
    let reason = match serde_json::from_slice::<Error>(body) {
        Ok(error) => error.reason,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    printable(&reason)
}

/// One line without control characters, of bounded length.
fn printable(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST_REASON)
        .collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "bbf2dead-3746-54cb-b32a-917afd236656";
    const THEIRS: &str = "aaaaaaaa-3746-54cb-b32a-917afd236656";

    fn parse(text: &str) -> Result<Registration, Failure> {
        parse_registration(text.as_bytes(), OURS.parse().unwrap())
    }

    #[test]
    fn the_id_and_version_of_the_answer_win() {
        let args = format!(
            r#"{{\"agent_version\":\"quay.io/a:1\",\"host_id\":\"{THEIRS}\",\"infra_env_id\":\"{OURS}\"}}"#
        );
        let text =
            format!(r#"{{"id":"{OURS}","status":null,"next_step_runner_command":{{"args":["{args}"]}}}}"#);
        let arguments = parse(&text).unwrap();
        assert_eq!(arguments.host_id.to_string(), THEIRS);
        assert_eq!(arguments.agent_version.as_deref(), Some("quay.io/a:1"));
    }

    #[test]
    fn an_answer_without_command_keeps_our_version() {
        let arguments = parse(&format!(r#"{{"id":"{THEIRS}"}}"#)).unwrap();
        assert_eq!(
            (arguments.host_id.to_string().as_str(), arguments.agent_version),
            (THEIRS, None)
        );
        assert_eq!(parse("{}").unwrap().host_id.to_string(), OURS);
    }

    #[test]
    fn answers_that_make_no_sense_are_named() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"id":7}"#,
            r#"{"next_step_runner_command":{"args":["x"]}}"#,
        ] {
            assert!(matches!(parse(text), Err(Failure::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn reasons_are_taken_from_either_error_shape_and_made_printable() {
        assert_eq!(
            reason(br#"{"code":"404","reason":"no such\n\u001b[31mhost"}"#),
            "no such [31mhost"
        );
        assert_eq!(reason(br#"{"code":401,"message":"who?"}"#), "who?");
        assert_eq!(reason(b"<html>bad gateway</html>"), "<html>bad gateway</html>");
        assert_eq!(reason(&[b'x'; 5000]).len(), LONGEST_REASON);
    }
}
