//! `tang-connectivity-check`: requests the advertisements of the servers of disk keys. Source:
//! docs/protocol/agent-protocol.md#6.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use muster_api::steps::{
    TangConnectivityRequest, TangConnectivityResponse, TangServer, TangServerResponse, TangSignature,
};
use reqwest::Client;
use serde::Deserialize;
use url::Url;

use crate::config::Settings;
use crate::net::http::{self, BodyError, causes};
use crate::net::names::Names;
use crate::net::unanswered::why;
use crate::step::{
    Dependencies, EXIT_INTERNAL, Running, StepError, StepHandler, StepOutput, StepType, one_argument, reply,
};

const NAME: StepType = StepType::TangConnectivityCheck;
const MOST_SERVERS: usize = 64;
/// Time for one server.
const LIMIT: Duration = Duration::from_secs(20);
/// An advertisement has some hundred bytes per key.
const LARGEST: usize = 1 << 20;

pub struct TangConnectivity {
    settings: Arc<Settings>,
    names: Names,
}

impl TangConnectivity {
    /// Uses the agent's proxies and trust.
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
        reply(running, async move {
            let servers = servers(&one_argument(NAME, &args)?)?;
            // Tang usually runs on plain HTTP; its responses are signed.
            let client = http::service_client(&settings, &names)
                .map_err(|error| StepError(error.to_string()))?
                .timeout(LIMIT)
                .build()
                .map_err(|error| StepError(causes(&error)))?;
            Ok(
                match try_join_all(servers.iter().map(|server| ask(&client, server))).await {
                    Ok(answers) => StepOutput::json(&TangConnectivityResponse {
                        is_success: true,
                        tang_server_response: Some(answers),
                    }),
                    Err(StepError(error)) => {
                        StepOutput::json(&TangConnectivityResponse::default()).ending(EXIT_INTERNAL, error)
                    }
                },
            )
        })
    }
}

fn servers(request: &TangConnectivityRequest) -> Result<Vec<TangServer>, StepError> {
    let servers: Vec<TangServer> = serde_json::from_str(&request.tang_servers)
        .map_err(|error| StepError::of(NAME, format!("tang_servers: {error}")))?;
    match servers.len() {
        0 => Err(StepError::of(NAME, "tang_servers names no server")),
        1..=MOST_SERVERS => Ok(servers),
        more => Err(StepError::of(
            NAME,
            format!("{more} servers are more than {MOST_SERVERS}"),
        )),
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

async fn ask(client: &Client, server: &TangServer) -> Result<TangServerResponse, StepError> {
    let failed = |why: String| StepError(format!("tang server {}: {why}", server.url));
    let mut url = Url::parse(&server.url).map_err(|error| failed(format!("no URL: {error}")))?;
    if server.thumbprint.is_empty() || !is_thumbprint(&server.thumbprint) {
        return Err(failed(format!("`{}` is no thumbprint", server.thumbprint)));
    }
    let base = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{base}/adv/{}", server.thumbprint));
    let response = client.get(url).send().await.map_err(|error| failed(why(error)))?;
    let status = response.status();
    if !status.is_success() {
        return Err(failed(format!(
            "it answers {status} to the question for key {}",
            server.thumbprint
        )));
    }
    let body = http::body(response, LARGEST).await.map_err(|error| match error {
        BodyError::TooLarge => failed(format!("its answer is larger than {LARGEST} bytes")),
        BodyError::Transport(reason) => failed(reason),
    })?;
    let advertisement: Advertisement =
        serde_json::from_slice(&body).map_err(|error| failed(format!("no advertisement: {error}")))?;
    let mut signatures = advertisement.signatures;
    if let (Some(protected), Some(signature)) = (advertisement.protected, advertisement.signature) {
        signatures.push(Signature { protected, signature });
    }
    if advertisement.payload.is_empty() || signatures.is_empty() {
        return Err(failed("its advertisement is not signed".to_owned()));
    }
    Ok(TangServerResponse {
        tang_url: server.url.clone(),
        payload: advertisement.payload,
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
