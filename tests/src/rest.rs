//! A small client of the service's REST API for the scenarios.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use muster_api::bmc::Bmc;
use muster_api::boot::BootingMachine;
use muster_api::event::Event;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::{InfraEnv, PresignedUrl};
use muster_api::inventory::Inventory;
use muster_api::{BASE_PATH, MUSTER_PATH};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::http::HttpClient;

/// A pull secret of the right shape without access to anything.
pub const PULL_SECRET: &str = r#"{"auths":{"registry.lab.example":{"auth":"bGFiOnRvbGQtdG8tbm9ib2R5"}}}"#;

/// The secret part of [`PULL_SECRET`]. It is nowhere else, not even in the example that `muster serve` prints: where it
/// is found, it has leaked.
pub const PULL_SECRET_CREDENTIAL: &str = "bGFiOnRvbGQtdG8tbm9ib2R5";

/// A request without a usable response.
#[derive(Debug)]
pub enum RestError {
    /// No response, or not in HTTP.
    Transport(String),
    /// The response's status is not 2xx.
    Status(u16, String),
    /// The response does not have the expected form.
    Body(String),
}

impl std::fmt::Display for RestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Transport(why) => write!(f, "no answer: {why}"),
            Self::Status(status, body) => write!(f, "status {status}: {body}"),
            Self::Body(why) => write!(f, "an answer that cannot be read: {why}"),
        }
    }
}

impl std::error::Error for RestError {}

/// A response, or the reason why there is none.
pub type Answer<T> = Result<T, RestError>;

/// A client of one service.
#[derive(Debug, Clone)]
pub struct Client {
    http: HttpClient,
    token: Option<String>,
}

impl Client {
    /// For the service at that URL (without a path).
    pub fn new(base: &str) -> Self {
        Self {
            http: HttpClient::new(base).timeout(Duration::from_secs(120)),
            token: None,
        }
    }

    /// A client of a service with a certificate that authority (PEM) signed.
    pub fn trusting(base: &str, authority: &[u8]) -> Self {
        Self {
            http: HttpClient::trusting(base, authority).timeout(Duration::from_secs(120)),
            token: None,
        }
    }

    /// With an operator's token.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.http = self.http.with_token(token);
        self.token = Some(token.to_owned());
        self
    }

    /// The operator's token, if one is required.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The service's URL.
    pub fn base(&self) -> &str {
        self.http.base()
    }

    /// The underlying client, for requests of another form.
    pub fn http(&self) -> &HttpClient {
        &self.http
    }

    /// Requests `path` (from the root of the service) and returns status and body.
    pub fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Answer<(u16, String)> {
        let body = body.map(Value::to_string);
        let answer = self
            .http
            .try_request(method, path, body.as_ref().map(String::as_bytes));
        let answer = answer.map_err(RestError::Transport)?;
        Ok((answer.status, answer.text()))
    }

    fn ask<T: DeserializeOwned>(&self, method: &str, path: &str, body: Option<&Value>) -> Answer<T> {
        let base = if path.starts_with(MUSTER_PATH) {
            ""
        } else {
            BASE_PATH
        };
        let (status, text) = self.request(method, &format!("{base}{path}"), body)?;
        if !(200..300).contains(&status) {
            return Err(RestError::Status(status, text));
        }
        serde_json::from_str(&text).map_err(|error| RestError::Body(format!("{error} in {text}")))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Answer<T> {
        self.ask("GET", path, None)
    }

    /// Checks that the service is ready.
    pub fn is_ready(&self) -> Answer<()> {
        match self.request("GET", "/ready", None)? {
            (200, _) => Ok(()),
            (status, body) => Err(RestError::Status(status, body)),
        }
    }

    /// Creates an InfraEnv with nothing but a name and a pull secret.
    pub fn create_infra_env(&self, name: &str) -> Answer<InfraEnv> {
        self.create_infra_env_with(name, &json!({}))
    }

    /// Creates an InfraEnv with more fields of `InfraEnvCreateParams`.
    pub fn create_infra_env_with(&self, name: &str, more: &impl Serialize) -> Answer<InfraEnv> {
        let mut body = json!({"name": name, "pull_secret": PULL_SECRET});
        let more = serde_json::to_value(more).map_err(|error| RestError::Body(error.to_string()))?;
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        self.ask("POST", "/infra-envs", Some(&body))
    }

    /// Changes an InfraEnv.
    pub fn update_infra_env(&self, id: InfraEnvId, changes: &Value) -> Answer<InfraEnv> {
        self.ask("PATCH", &format!("/infra-envs/{id}"), Some(changes))
    }

    /// The URL of the discovery ISO, as machines are to use it.
    pub fn image_url(&self, id: InfraEnvId) -> Answer<String> {
        let answer: PresignedUrl = self.get(&format!("/infra-envs/{id}/downloads/image-url"))?;
        Ok(answer.url)
    }

    /// The URL of the iPXE script for that image, short enough for DHCP's boot file field.
    pub fn ipxe_script_url(&self, id: InfraEnvId) -> Answer<String> {
        let image = self.image_url(id)?;
        let folder = image.strip_suffix("discovery.iso");
        folder
            .map(|folder| format!("{folder}boot.ipxe"))
            .ok_or_else(|| RestError::Body(format!("{image} ends otherwise")))
    }

    /// The machines that fetched boot files of an InfraEnv.
    pub fn booting_machines(&self, id: InfraEnvId) -> Answer<Vec<BootingMachine>> {
        self.get(&format!("/infra-envs/{id}/booting-machines"))
    }

    /// The hosts of an InfraEnv.
    pub fn hosts(&self, id: InfraEnvId) -> Answer<Vec<Host>> {
        self.get(&format!("/infra-envs/{id}/hosts"))
    }

    /// One host.
    pub fn host(&self, infra_env: InfraEnvId, id: HostId) -> Answer<Host> {
        self.get(&format!("/infra-envs/{infra_env}/hosts/{id}"))
    }

    /// The BMCs of an InfraEnv, without their reports about machines.
    pub fn bmcs(&self, infra_env: InfraEnvId) -> Answer<Vec<Bmc>> {
        self.get(&format!("{MUSTER_PATH}/infra-envs/{infra_env}/bmcs"))
    }

    /// Events of an InfraEnv, oldest first.
    pub fn events(&self, id: InfraEnvId) -> Answer<Vec<Event>> {
        self.get(&format!("/events?infra_env_id={id}"))
    }

    /// Downloads `url` (any URL) to `file`; returns its length.
    pub fn download(&self, url: &str, file: &Path) -> Answer<u64> {
        let mut answer = HttpClient::new("").open(url).map_err(RestError::Transport)?;
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(RestError::Status(status, answer.text().unwrap_or_default()));
        }
        let mut target = File::create(file).map_err(transport)?;
        answer.copy_to(&mut target).map_err(transport)
    }
}

/// The inventory of a host, if it has sent one.
///
/// # Panics
/// If the service returns one that is not JSON of the right shape.
pub fn inventory(host: &Host) -> Option<Inventory> {
    let text = Some(&host.inventory).filter(|text| !text.is_empty())?;
    Some(serde_json::from_str(text).unwrap_or_else(|error| panic!("the inventory of {}: {error}", host.id)))
}

fn transport(error: impl std::fmt::Display) -> RestError {
    RestError::Transport(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_for_the_credential_would_find_the_pull_secret() {
        assert!(PULL_SECRET.contains(PULL_SECRET_CREDENTIAL));
    }
}
