//! Sends requests to an HTTP server, also malformed ones, and keeps the whole response.

pub mod raw;
pub mod tls;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use muster_api::BASE_PATH;
use reqwest::Certificate;
use reqwest::blocking::{Client, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::Value;

/// Time limit of an exchange.
pub const TIMEOUT: Duration = Duration::from_secs(60);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// A client of one server. Clones share their connections. It follows no redirects and offers no compression.
#[derive(Debug, Clone)]
pub struct HttpClient {
    base: String,
    headers: HeaderMap,
    timeout: Duration,
    client: Client,
}

/// A received response.
#[derive(Debug)]
pub struct Answer {
    /// Method and path.
    pub asked: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// From the first byte of the request to the last of the response.
    pub took: Duration,
}

impl HttpClient {
    /// A client of the server at that URL (without a path), over plain HTTP.
    pub fn new(base: &str) -> Self {
        Self::with_authorities(base, Vec::new(), None)
    }

    /// A client of the server at that URL over plain HTTP, from this address of ours.
    pub fn from(address: IpAddr, base: &str) -> Self {
        Self::with_authorities(base, Vec::new(), Some(address))
    }

    /// A client that trusts only servers with a certificate of one of those authorities (PEM).
    ///
    /// # Panics
    /// If they are no certificates.
    pub fn trusting(base: &str, authorities: &[u8]) -> Self {
        let authorities = Certificate::from_pem_bundle(authorities).expect("an authority is a certificate");
        Self::with_authorities(base, authorities, None)
    }

    fn with_authorities(base: &str, authorities: Vec<Certificate>, from: Option<IpAddr>) -> Self {
        // reqwest is built without a TLS provider and requires one for plain HTTP, too. At a second call it is
        // installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .tls_certs_only(authorities)
            .local_address(from)
            .http1_only()
            .no_gzip()
            .no_proxy()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(None);
        Self {
            base: base.to_owned(),
            headers: HeaderMap::new(),
            timeout: TIMEOUT,
            client: client.build().expect("these settings fit together"),
        }
    }

    /// The same with another time limit of an exchange.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with one more header on every request.
    ///
    /// # Panics
    /// If the header is invalid.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        let name: HeaderName = name.parse().expect("a header's name");
        more.headers
            .append(name, HeaderValue::from_str(value).expect("a header's value"));
        more
    }

    /// The same with a bearer token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// The server's URL.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Sends a request; a body without a `Content-Type` is JSON.
    ///
    /// # Errors
    /// If no whole response was received: the causes, in one line.
    pub fn try_request(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Answer, String> {
        let began = Instant::now();
        let response = self.send(method, path, body, Some(self.timeout))?;
        Ok(Answer {
            asked: format!("{method} {path}"),
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().map_err(causes)?.into(),
            took: began.elapsed(),
        })
    }

    /// Sends `GET` and returns the response before its body, which the caller reads while it arrives.
    ///
    /// # Errors
    /// If no response began: the causes, in one line.
    pub fn open(&self, path: &str) -> Result<Response, String> {
        self.send("GET", path, None, None)
    }

    /// Passes each line of an endless response to `see` until the server ends it.
    ///
    /// # Errors
    /// If the server cannot be reached any more.
    ///
    /// # Panics
    /// If the status is not 200.
    #[track_caller]
    pub fn lines(&self, path: &str, mut see: impl FnMut(&[u8])) -> Result<(), String> {
        let response = self.open(path)?;
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let mut lines = BufReader::with_capacity(1 << 18, response);
        let mut line = Vec::new();
        while let Ok(1..) = lines.read_until(b'\n', &mut line) {
            see(&line);
            line.clear();
        }
        Ok(())
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
        timeout: Option<Duration>,
    ) -> Result<Response, String> {
        let method = method.parse().map_err(causes)?;
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if let Some(timeout) = timeout {
            request = request.timeout(timeout);
        }
        if let Some(body) = body {
            if !self.headers.contains_key(CONTENT_TYPE) {
                request = request.header(CONTENT_TYPE, "application/json");
            }
            request = request.body(body.to_owned());
        }
        request.headers(self.headers.clone()).send().map_err(causes)
    }

    /// As [`Requests::request`].
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        self.try_request(method, path, body)
            .unwrap_or_else(|error| panic!("{method} {path}: no answer: {error}"))
    }

    /// As [`Requests::get`].
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        Requests::get(self, path)
    }

    /// As [`Requests::delete`].
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        Requests::delete(self, path)
    }

    /// As [`Requests::post`].
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        Requests::post(self, path, body)
    }

    /// As [`Requests::put`].
    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        Requests::put(self, path, body)
    }

    /// As [`Requests::patch`].
    #[track_caller]
    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        Requests::patch(self, path, body)
    }
}

/// Sends requests to a service: over a connection, or to its router in this process.
pub trait Requests {
    /// Sends a request to a path from the root of the server. A body without a `Content-Type` is JSON.
    ///
    /// # Panics
    /// If there is no response.
    #[track_caller]
    fn request(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer;

    /// `GET` of an operation of the protocol.
    #[track_caller]
    fn get(&self, path: &str) -> Answer {
        self.request("GET", &format!("{BASE_PATH}{path}"), None)
    }

    /// `DELETE` of an operation of the protocol.
    #[track_caller]
    fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", &format!("{BASE_PATH}{path}"), None)
    }

    /// `POST` of an operation of the protocol.
    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send_json("POST", path, body)
    }

    /// `PUT` of an operation of the protocol.
    #[track_caller]
    fn put(&self, path: &str, body: &Value) -> Answer {
        self.send_json("PUT", path, body)
    }

    /// `PATCH` of an operation of the protocol.
    #[track_caller]
    fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send_json("PATCH", path, body)
    }

    /// Sends JSON to an operation of the protocol.
    #[track_caller]
    fn send_json(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.request(method, &format!("{BASE_PATH}{path}"), Some(body.as_bytes()))
    }
}

impl Requests for HttpClient {
    #[track_caller]
    fn request(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        Self::request(self, method, path, body)
    }
}

impl Answer {
    /// Checks the status.
    ///
    /// # Panics
    /// If it is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        let beginning: String = self.text().chars().take(2000).collect();
        assert_eq!(self.status, status, "{}: {beginning}", self.asked);
        self
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: {error} in {}", self.asked, self.text()))
    }

    /// A header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The message of an error, after a check that its body has one of the protocol's two shapes. Source:
    /// docs/protocol/rest-behaviour.md#1.1.
    ///
    /// # Panics
    /// If the body has neither shape.
    #[track_caller]
    pub fn error_message(&self) -> String {
        let body = self.json();
        let context = || format!("{} -> {}: {body}", self.asked, self.status);
        if let Some(message) = body["message"].as_str() {
            assert_eq!(body["code"], self.status, "{}", context());
            let members = body.as_object().map(serde_json::Map::len);
            assert_eq!(members, Some(2), "{}", context());
            return message.to_owned();
        }
        assert_eq!(body["code"], self.status.to_string(), "{}", context());
        assert_eq!(body["id"], self.status, "{}", context());
        assert_eq!(body["kind"], "Error", "{}", context());
        assert_eq!(body["href"], "", "{}", context());
        let reason = body["reason"]
            .as_str()
            .unwrap_or_else(|| panic!("no message in {}", context()));
        reason.to_owned()
    }
}

/// An error with its causes, which hold reqwest's details.
fn causes(error: impl Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
