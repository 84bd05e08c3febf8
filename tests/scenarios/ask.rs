//! Any request to a service, also ones that no decent client would send, and the whole answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use muster_api::BASE_PATH;
use muster_tests::service::Service;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who asks a service.
#[derive(Debug, Clone)]
pub struct Asker {
    base: String,
    headers: Vec<(String, String)>,
    agent: Agent,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub asked: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Asker {
    /// Asks `service`, with no credential.
    pub fn of(service: &Service) -> Self {
        Self::at(&format!("http://127.0.0.1:{}", service.port()))
    }

    /// Asks the boot listener of `service`.
    pub fn of_boot_listener(service: &Service) -> Self {
        Self::at(&format!("http://127.0.0.1:{}", service.boot_port()))
    }

    /// Asks what listens at that URL.
    pub fn at(base: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .proxy(None);
        Self::with_agent(base, config.build().into())
    }

    /// Asks with an agent of the caller's making.
    pub fn with_agent(base: &str, agent: Agent) -> Self {
        Self {
            base: base.to_owned(),
            headers: Vec::new(),
            agent,
        }
    }

    /// The same with one more header on everything.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        more.headers.push((name.to_owned(), value.to_owned()));
        more
    }

    /// Asks for `path`, which begins at the root of the service.
    pub fn try_ask(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Answer, ureq::Error> {
        let asked = format!("{method} {path}");
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut sent = match body {
            Some(body) => {
                let typed = self
                    .headers
                    .iter()
                    .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
                if !typed {
                    request = request.header("Content-Type", "application/json");
                }
                self.agent.run(request.body(body)?)?
            }
            None => self.agent.run(request.body(())?)?,
        };
        let body = sent.body_mut().with_config().limit(256 << 20).read_to_vec()?;
        Ok(Answer {
            asked,
            status: sent.status().as_u16(),
            headers: sent.headers().clone(),
            body,
        })
    }

    /// Asks for `path`, which begins at the root of the service.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        self.try_ask(method, path, body)
            .unwrap_or_else(|error| panic!("{method} {path}: no answer: {error}"))
    }

    /// `GET` of an operation of the protocol.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", &format!("{BASE_PATH}{path}"), None)
    }

    /// `DELETE` of an operation of the protocol.
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", &format!("{BASE_PATH}{path}"), None)
    }

    /// `POST` of an operation of the protocol.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(
            "POST",
            &format!("{BASE_PATH}{path}"),
            Some(body.to_string().as_bytes()),
        )
    }

    /// `PATCH` of an operation of the protocol.
    #[track_caller]
    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.ask(
            "PATCH",
            &format!("{BASE_PATH}{path}"),
            Some(body.to_string().as_bytes()),
        )
    }
}

impl Answer {
    /// Checks the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(
            self.status,
            status,
            "{}: {}",
            self.asked,
            self.text().chars().take(2000).collect::<String>()
        );
        self
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: {error} in {}", self.asked, self.text()))
    }

    /// A header; empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// What an error says, after a check that its body is one of the protocol's two shapes (docs/protocol/rest-behaviour.md#1.1).
    #[track_caller]
    pub fn words(&self) -> String {
        let body = self.json();
        let context = || format!("{} -> {}: {body}", self.asked, self.status);
        if let Some(message) = body["message"].as_str() {
            assert_eq!(body["code"], self.status, "{}", context());
            assert_eq!(
                body.as_object().map(serde_json::Map::len),
                Some(2),
                "{}",
                context()
            );
            return message.to_owned();
        }
        assert_eq!(body["code"], self.status.to_string(), "{}", context());
        assert_eq!(body["id"], self.status, "{}", context());
        assert_eq!(body["kind"], "Error", "{}", context());
        assert_eq!(body["href"], "", "{}", context());
        let reason = body["reason"]
            .as_str()
            .unwrap_or_else(|| panic!("no words in {}", context()));
        reason.to_owned()
    }
}

/// Connects to a port of the loopback address and sends these bytes.
#[track_caller]
pub fn connect(port: u16, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// Everything that comes until the service closes the connection. A reset after an answer counts as its end.
pub fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..length]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until `text` has come.
#[track_caller]
pub fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(text.as_bytes()) {
        let length = stream.read(&mut byte).unwrap_or_default();
        assert!(
            length == 1,
            "the connection ended before {text:?}: {}",
            String::from_utf8_lossy(&bytes)
        );
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The status in the first line of an answer.
#[track_caller]
pub fn status_of(answer: &str) -> u16 {
    answer
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no HTTP answer: {answer:?}"))
}
