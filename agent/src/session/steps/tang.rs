//! `tang-connectivity-check`: whether the servers of disk keys answer. Source: docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};
use muster_api::steps::{
    TangConnectivityRequest, TangConnectivityResponse, TangServer, TangServerResponse, TangSignature,
};
use reqwest::Client;
use serde::Deserialize;
use url::Url;

use super::{Dependencies, Running, StepHandler, StepOutput, StepType, one_argument};
use crate::config::Settings;
use crate::net::names::Names;
use crate::session::client::{causes, client_builder};
use crate::session::steps::EXIT_INTERNAL;

const NAME: StepType = "tang-connectivity-check";
const MOST_SERVERS: usize = 64;
/// For one server.
const LIMIT: Duration = Duration::from_secs(20);
/// An advertisement is some hundred bytes a key.
const LARGEST: usize = 1 << 20;

/// Asks tang servers for their keys.
pub struct TangConnectivity {
    settings: Arc<Settings>,
    names: Names,
}

impl TangConnectivity {
    /// By way of the agent's proxies, and believing whom it believes.
    pub fn new(dependencies: &Dependencies) -> Self {
        Self {
            settings: Arc::clone(&dependencies.settings),
            names: dependencies.names.clone(),
        }
    }
}

impl StepHandler for TangConnectivity {
    fn step_type(&self) -> StepType {
        NAME
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        let (settings, names) = (Arc::clone(&self.settings), self.names.clone());
        async move {
            let _running = running;
            let servers = match one_argument(NAME, &args).and_then(|request| servers(&request)) {
                Ok(servers) => servers,
                Err(error) => return StepOutput::failed(error),
            };
            // Tang is asked over plain HTTP as a rule; its answer is signed.
            let http = match client_builder(&settings, &names).map(|builder| builder.timeout(LIMIT).build()) {
                Ok(Ok(http)) => http,
                Ok(Err(error)) => return StepOutput::failed(causes(&error)),
                Err(error) => return StepOutput::failed(error.to_string()),
            };
            match try_join_all(servers.iter().map(|server| ask(&http, server))).await {
                Ok(answers) => StepOutput::json(&TangConnectivityResponse {
                    is_success: true,
                    tang_server_response: Some(answers),
                }),
                Err(error) => {
                    StepOutput::json(&TangConnectivityResponse::default()).ending(EXIT_INTERNAL, error)
                }
            }
        }
        .boxed()
    }
}

fn servers(request: &TangConnectivityRequest) -> Result<Vec<TangServer>, String> {
    let servers: Vec<TangServer> = serde_json::from_str(&request.tang_servers)
        .map_err(|error| format!("{NAME}: tang_servers: {error}"))?;
    match servers.len() {
        0 => Err(format!("{NAME}: tang_servers names no server")),
        1..=MOST_SERVERS => Ok(servers),
        more => Err(format!("{NAME}: {more} servers are more than {MOST_SERVERS}")),
    }
}

/// A signed advertisement: RFC 7515 §7.2, general or flattened.
#[derive(Deserialize)]
struct Advertisement {
    payload: String,
    #[serde(default)]
    signatures: Vec<Signature>,
    protected: Option<String>,
    signature: Option<String>,
}

#[derive(Deserialize)]
struct Signature {
    #[serde(default)]
    protected: String,
    #[serde(default)]
    signature: String,
}

async fn ask(http: &Client, server: &TangServer) -> Result<TangServerResponse, String> {
    let failed = |why: String| format!("tang server {}: {why}", server.url);
    let mut url = Url::parse(&server.url).map_err(|error| failed(format!("no URL: {error}")))?;
    if server.thumbprint.is_empty() || !is_thumbprint(&server.thumbprint) {
        return Err(failed(format!("`{}` is no thumbprint", server.thumbprint)));
    }
    let base = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{base}/adv/{}", server.thumbprint));
    let mut response = http
        .get(url)
        .send()
        .await
        .map_err(|error| failed(causes(&error.without_url())))?;
    let status = response.status();
    if !status.is_success() {
        return Err(failed(format!(
            "it answers {status} to the question for key {}",
            server.thumbprint
        )));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failed(causes(&error.without_url())))?
    {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            return Err(failed(format!("its answer is larger than {LARGEST} bytes")));
        }
    }
    let told: Advertisement =
        serde_json::from_slice(&body).map_err(|error| failed(format!("no advertisement: {error}")))?;
    let mut signatures = told.signatures;
    if let (Some(protected), Some(signature)) = (told.protected, told.signature) {
        signatures.push(Signature { protected, signature });
    }
    if told.payload.is_empty() || signatures.is_empty() {
        return Err(failed("its advertisement is not signed".to_owned()));
    }
    Ok(TangServerResponse {
        tang_url: server.url.clone(),
        payload: told.payload,
        signatures: signatures
            .into_iter()
            .map(|one| TangSignature {
                protected: one.protected,
                signature: one.signature,
            })
            .collect(),
    })
}

/// Base64url without padding, as RFC 7638 has it.
fn is_thumbprint(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
