//! A small client of the REST API.

use anyhow::{Context, Result, bail};
use clap::Args;
use muster_api::BASE_PATH;
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where the service is and who we are.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    /// URL of the service
    #[arg(
        long,
        env = "MUSTER_URL",
        default_value = "http://127.0.0.1:8090",
        value_name = "URL"
    )]
    url: String,

    /// The operator's token, where the service asks for one (muster token --operator)
    #[arg(long, env = "MUSTER_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,

    /// PEM file with the CA of the service's certificate
    #[arg(long, env = "MUSTER_CA", value_name = "FILE")]
    ca: Option<std::path::PathBuf>,
}

/// A connection to a service.
pub struct Client {
    base: String,
    token: Option<String>,
    http: reqwest::Client,
}

impl Client {
    /// Nothing is sent yet.
    pub fn new(args: &ServiceArgs) -> Result<Self> {
        let mut builder = reqwest::Client::builder().connect_timeout(std::time::Duration::from_secs(10));
        if let Some(path) = &args.ca {
            let pem = std::fs::read(path).with_context(|| format!("--ca {}", path.display()))?;
            for certificate in reqwest::Certificate::from_pem_bundle(&pem)? {
                builder = builder.add_root_certificate(certificate);
            }
        }
        Ok(Self {
            base: args.url.trim_end_matches('/').to_owned(),
            token: args.token.clone().filter(|token| !token.is_empty()),
            http: builder.build()?,
        })
    }

    /// `GET path`.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let text = self.send(self.request(Method::GET, path)).await?;
        serde_json::from_str(&text)
            .with_context(|| format!("{path} was answered with something else than expected"))
    }

    /// `POST path` with a JSON body.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let text = self.send(self.request(Method::POST, path).json(body)).await?;
        serde_json::from_str(&text)
            .with_context(|| format!("{path} was answered with something else than expected"))
    }

    /// `DELETE path`.
    pub async fn delete(&self, path: &str) -> Result<()> {
        self.send(self.request(Method::DELETE, path)).await.map(drop)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{BASE_PATH}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<String> {
        let answer = request.send().await.with_context(|| {
            format!(
                "no answer from {}: is the service running there? (--url)",
                self.base
            )
        })?;
        let status = answer.status();
        let text = answer.text().await?;
        if status.is_success() {
            return Ok(text);
        }
        let body: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let words = body["reason"]
            .as_str()
            .or_else(|| body["message"].as_str())
            .unwrap_or(&text);
        bail!("the service answered {status}: {words}")
    }
}
