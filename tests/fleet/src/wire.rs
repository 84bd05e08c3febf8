//! The service over HTTP, as agents use it. Source: docs/protocol/agent-protocol.md#2.

mod body;
mod tls;

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use muster_api::fingerprint::FINGERPRINT_HEADER;
use muster_api::{AGENT_VERSION_HEADER, BASE_PATH, MUSTER_PATH};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

pub use body::Body;

use crate::faults::Fault;
use crate::measure::{Ending, Measure, Operation};
use crate::options::Options;

/// Time limit of a response. Other agents have none; here a lost response has to be counted.
const PATIENCE: Duration = Duration::from_secs(60);
/// Quick retries of a request after 503 or 504.
const QUICK_RETRIES: u32 = 3;
/// Largest response: the list of all hosts is some 40 kB a host.
const LARGEST_ANSWER: usize = 4 << 30;

type Http = Client<HttpsConnector<HttpConnector>, Body>;

/// Raises the process's limit of connections to the system's.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Without it, the connections above the limit fail with an error.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Makes the connections of agents.
pub struct Wires {
    connector: HttpsConnector<HttpConnector>,
    shared: Option<Http>,
}

impl Wires {
    /// # Errors
    /// If the certificates cannot be read.
    pub fn new(options: &Options) -> Result<Self> {
        let connector = tls::connector(options)?;
        let shared = options.share_connections.then(|| client(&connector));
        Ok(Self { connector, shared })
    }

    /// Connections for one agent, unless all share theirs.
    pub fn one(&self, base: Arc<str>, credential: Option<Credential>, measure: Arc<Measure>) -> Wire {
        Wire {
            http: self.shared.clone().unwrap_or_else(|| client(&self.connector)),
            base,
            credential,
            measure,
        }
    }
}

fn client(connector: &HttpsConnector<HttpConnector>) -> Http {
    Client::builder(TokioExecutor::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .pool_timer(TokioTimer::new())
        // Responses to agents are small, and there are many agents.
        .http1_max_buf_size(16 << 10)
        .build(connector.clone())
}

/// One agent's connection to the service.
#[derive(Clone)]
pub struct Wire {
    http: Http,
    base: Arc<str>,
    credential: Option<Credential>,
    measure: Arc<Measure>,
}

/// A token in its header.
pub type Credential = (HeaderName, HeaderValue);

/// A request.
pub struct Ask<'a> {
    pub operation: Operation,
    pub method: Method,
    /// Below the protocol's base path, or that of Muster's own operations with it.
    pub path: &'a str,
    pub body: Body,
    /// The media type of the body, if it has one.
    pub content_type: Option<&'a str>,
    /// The agent's version, in requests that have it.
    pub version: Option<&'a str>,
    /// The header with the ids of the machine's parts, at a registration.
    pub fingerprint: Option<&'a str>,
    /// The fault behind the request, and the attempt.
    pub because: Option<(Fault, &'a str)>,
}

impl<'a> Ask<'a> {
    pub fn new(operation: Operation, method: Method, path: &'a str) -> Self {
        Self {
            operation,
            method,
            path,
            body: Body::empty(),
            content_type: None,
            version: None,
            fingerprint: None,
            because: None,
        }
    }

    pub fn json(mut self, body: Bytes) -> Self {
        self.body = Body::whole(body);
        self.content_type = Some("application/json");
        self
    }

    pub fn body(mut self, body: Body, content_type: &'a str) -> Self {
        self.body = body;
        self.content_type = Some(content_type);
        self
    }

    pub fn version(mut self, version: &'a str) -> Self {
        self.version = Some(version);
        self
    }

    pub fn fingerprint(mut self, fingerprint: Option<&'a str>) -> Self {
        self.fingerprint = fingerprint;
        self
    }

    pub fn because(mut self, because: Option<(Fault, &'a str)>) -> Self {
        self.because = because;
        self
    }
}

impl Wire {
    /// Sends the request, with quick retries on 503 and 504, and counts each attempt. The body of the response is empty
    /// unless it was complete.
    pub async fn ask(&self, mut ask: Ask<'_>) -> (Ending, Vec<u8>) {
        let mut attempt = 0;
        loop {
            let began = Instant::now();
            let again = ask.body.again();
            let (ending, body) = self.once(&mut ask).await;
            match ask.because {
                Some((fault, what)) => self.measure.met(fault, what, ending),
                None => self.measure.asked(ask.operation, began, ending),
            }
            let retry = matches!(ending, Ending::Status(503 | 504)) && attempt < QUICK_RETRIES;
            match again {
                Some(again) if retry => ask.body = again,
                Some(_) | None => return (ending, body),
            }
            let most = (2000 << attempt).min(10_000);
            sleep(Duration::from_millis(rand::random_range(0..most))).await;
            attempt += 1;
        }
    }

    async fn once(&self, ask: &mut Ask<'_>) -> (Ending, Vec<u8>) {
        let request = match self.request(ask) {
            Ok(request) => request,
            Err(_) => return (Ending::NoAnswer("the request cannot be written"), Vec::new()),
        };
        match timeout(PATIENCE, self.exchange(request)).await {
            Ok(Ok((status, body))) => (Ending::Status(status), body),
            Ok(Err(why)) => (Ending::NoAnswer(why), Vec::new()),
            Err(_) => (Ending::NoAnswer("timeout"), Vec::new()),
        }
    }

    /// Operations of Muster's own have a base path of their own.
    fn uri(&self, path: &str) -> String {
        let base = match path.starts_with(MUSTER_PATH) {
            true => self.base.trim_end_matches(BASE_PATH),
            false => &self.base,
        };
        format!("{base}{path}")
    }

    fn request(&self, ask: &mut Ask<'_>) -> Result<Request<Body>, http::Error> {
        let accept = match ask.operation {
            Operation::Download => "*/*",
            Operation::Register
            | Operation::Poll
            | Operation::Reply
            | Operation::Progress
            | Operation::Logs => "application/json",
        };
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(self.uri(ask.path))
            .header(header::ACCEPT, accept)
            .header(header::ACCEPT_ENCODING, "gzip")
            .header("x-request-id", Uuid::new_v4().to_string());
        if let Some((name, token)) = &self.credential {
            request = request.header(name, token);
        }
        if let Some(version) = ask.version {
            request = request.header(AGENT_VERSION_HEADER, version);
        }
        if let Some(fingerprint) = ask.fingerprint {
            request = request.header(FINGERPRINT_HEADER, fingerprint);
        }
        if let Some(content_type) = ask.content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        request.body(std::mem::replace(&mut ask.body, Body::empty()))
    }

    async fn exchange(&self, request: Request<Body>) -> Result<(u16, Vec<u8>), &'static str> {
        let answer = self.http.request(request).await.map_err(|error| why(&error))?;
        let (status, gzip) = (answer.status().as_u16(), is_gzip(&answer));
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER)
            .collect()
            .await
            .map_err(|_| "the answer broke off")?
            .to_bytes();
        if !gzip {
            return Ok((status, body.into()));
        }
        let mut plain = Vec::new();
        let limit = u64::try_from(LARGEST_ANSWER).unwrap_or(u64::MAX);
        GzDecoder::new(&body[..])
            .take(limit)
            .read_to_end(&mut plain)
            .map_err(|_| "the answer cannot be decompressed")?;
        Ok((status, plain))
    }
}

fn is_gzip<T>(answer: &Response<T>) -> bool {
    answer
        .headers()
        .get(header::CONTENT_ENCODING)
        .is_some_and(|value| value == "gzip")
}

/// The kind of a connection's error. TLS errors are wrapped in such errors, once or twice.
fn why_io(error: &io::Error) -> &'static str {
    let inner = error.get_ref();
    if let Some(inner) = inner.and_then(|inner| inner.downcast_ref::<io::Error>()) {
        return why_io(inner);
    }
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => {
            return "its certificate is not believed (--ca-cert FILE with it or its authority, or --insecure)";
        }
        Some(_) => return "TLS",
        None => {}
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "connection reset",
        io::ErrorKind::AddrNotAvailable => "no more local ports",
        io::ErrorKind::InvalidData => "TLS",
        _ if error.raw_os_error() == Some(24) => "no more open files",
        _ => "network",
    }
}

/// The kind of an error, without its variable parts.
fn why(error: &hyper_util::client::legacy::Error) -> &'static str {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return why_io(error);
        }
        cause = error.source();
    }
    if error.is_connect() {
        "no connection"
    } else {
        "the connection ended"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_believed_is_told_through_both_wrappings() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls));
        assert!(why_io(&error).contains("--ca-cert"));
        assert_eq!(
            why_io(&io::Error::from(io::ErrorKind::ConnectionRefused)),
            "connection refused"
        );
    }
}
