//! A small client of the REST API.

use std::time::Duration;

use anyhow::{Context, Result};
use muster_api::{BASE_PATH, MUSTER_PATH};
use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ServiceArgs, Target, tls, unreachable};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest time that the service may be silent after a request.
const SILENCE: Duration = Duration::from_secs(60);

/// A connection to a service.
pub struct Client {
    target: Target,
    http: reqwest::Client,
}

impl Client {
    /// Sends nothing yet.
    pub fn new(args: &ServiceArgs) -> Result<Self> {
        Self::of(args.target()?, SILENCE)
    }

    fn of(target: Target, silence: Duration) -> Result<Self> {
        let builder = reqwest::Client::builder()
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(silence);
        let builder = match &target.ca {
            _ if target.insecure => builder.tls_danger_accept_invalid_certs(true),
            Some(pem) => builder.tls_backend_preconfigured(tls::client_config(pem)?),
            None => builder,
        };
        let http = builder.build().context("no HTTP client can be made")?;
        Ok(Self { target, http })
    }

    /// The same connection for requests that take long: the service may be silent for this time.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn patient(&self, silence: Duration) -> Result<Self> {
        Self::of(self.target.clone(), silence)
    }

    /// The service's URL.
    pub fn base(&self) -> &str {
        &self.target.base
    }

    /// True when requests carry a token.
    pub fn has_token(&self) -> bool {
        self.target.token.is_some()
    }

    /// `GET path`.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.read(path, self.request(Method::GET, path)).await
    }

    /// `GET path`, or `None` if it has not changed since `tag`, the ETag of the last response.
    pub async fn get_changed<T: DeserializeOwned>(
        &self,
        path: &str,
        tag: &mut Option<HeaderValue>,
    ) -> Result<Option<T>> {
        let mut request = self.request(Method::GET, path);
        if let Some(tag) = &*tag {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let answer = self.answer(request).await?;
        if answer.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let answer = self.good(answer).await?;
        *tag = answer.headers().get(ETAG).cloned();
        self.parse(path, answer).await.map(Some)
    }

    /// `POST path` with a JSON body.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.read(path, self.request(Method::POST, path).json(body)).await
    }

    /// `POST path` without a body; ignores the response's body.
    pub async fn act(&self, path: &str) -> Result<()> {
        self.send(self.request(Method::POST, path)).await.map(drop)
    }

    /// `PATCH path` with a JSON body.
    pub async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.read(path, self.request(Method::PATCH, path).json(body))
            .await
    }

    /// `DELETE path`.
    pub async fn delete(&self, path: &str) -> Result<()> {
        self.send(self.request(Method::DELETE, path)).await.map(drop)
    }

    /// `GET path`, for a response that is not JSON.
    pub async fn stream(&self, path: &str) -> Result<Response> {
        self.send(self.request(Method::GET, path)).await
    }

    /// `GET` of an image by the URL that machines load it from. The request goes to the same address as all others: the address in the URL
    /// may be unreachable from here, such as the one by which QEMU's guests reach this computer.
    pub async fn download(&self, url: &str) -> Result<Response> {
        let path = url.find("/boot/").and_then(|at| url.get(at..));
        let path = path.context("the service returned a URL that is none of an image")?;
        let answer = self
            .answer(self.http.get(format!("{}{path}", self.target.base)))
            .await?;
        self.good(answer).await
    }

    /// `GET` of a path outside the API, such as `/ready`. Returns the body, whatever the status.
    pub async fn outside<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let answer = self
            .answer(self.http.get(format!("{}{path}", self.target.base)))
            .await?;
        let text = answer.text().await?;
        serde_json::from_str(&text)
            .map_err(|_| unreachable::not_muster(self.base(), &format!("{path} is something else")).into())
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        // Additions to the protocol have a path of their own.
        let before = if path.starts_with(MUSTER_PATH) {
            ""
        } else {
            BASE_PATH
        };
        let request = self
            .http
            .request(method, format!("{}{before}{path}", self.target.base));
        match &self.target.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn read<T: DeserializeOwned>(&self, path: &str, request: RequestBuilder) -> Result<T> {
        let answer = self.send(request).await?;
        self.parse(path, answer).await
    }

    async fn parse<T: DeserializeOwned>(&self, path: &str, answer: Response) -> Result<T> {
        let text = answer.text().await?;
        if !text.trim_start().starts_with(['{', '[']) {
            return Err(unreachable::not_muster(self.base(), "without JSON").into());
        }
        serde_json::from_str(&text).with_context(|| {
            format!(
                "{path} was answered with something else than expected: is the service of another version?"
            )
        })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let answer = self.answer(request).await?;
        self.good(answer).await
    }

    async fn good(&self, answer: Response) -> Result<Response> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = answer.text().await.unwrap_or_default();
        Err(unreachable::refusal(self.base(), status, &text, self.has_token()).into())
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Response> {
        let answered = request.send().await;
        answered.map_err(|error| unreachable::no_answer(self.base(), error).into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::net::TcpListener;

    use super::*;
    use crate::cli::failure::{Kind, kind_of};

    #[tokio::test]
    async fn a_silent_service_ends_a_request_after_the_time_of_its_client() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // It accepts connections, and never responds.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target {
            base: format!("http://{}", listener.local_addr().unwrap()),
            token: None,
            ca: None,
            insecure: false,
        };
        let client = Client::of(target, Duration::from_secs(3600)).unwrap();
        let client = client.patient(Duration::from_millis(10)).unwrap();
        let silent: Result<Value> = client.post("/jobs", &json!({})).await;
        assert_eq!(kind_of(&silent.unwrap_err()), Kind::Unreachable);
    }
}
