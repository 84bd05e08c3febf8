//! The Kubernetes API as HTTP, for what `kubectl` is too slow for.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::kubectl::Kubectl;

/// What `kubectl get` accepts.
pub const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// An API server and a token.
#[derive(Debug, Clone)]
pub struct Http {
    url: String,
    token: String,
    agent: Agent,
}

/// An answer: status, body, and the time until its last byte.
#[derive(Debug)]
pub struct Answered {
    /// HTTP status.
    pub status: u16,
    /// All of it.
    pub body: Vec<u8>,
    /// From the request's begin.
    pub took: Duration,
}

impl Http {
    /// An API server whose authority that is (PEM).
    ///
    /// # Panics
    /// If that is no certificate.
    pub fn new(url: &str, authority: &[u8], token: &str) -> Self {
        let certificate = Certificate::from_pem(authority).expect("an authority is a certificate");
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(vec![certificate])))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .proxy(None);
        Self {
            url: url.to_owned(),
            token: token.to_owned(),
            agent: config.build().into(),
        }
    }

    /// What a kubeconfig with a token and an authority inside leads to, as that of the built-in API is.
    ///
    /// # Panics
    /// If the file is another.
    #[track_caller]
    pub fn of(kubeconfig: &Path) -> Self {
        let text = Kubectl::new(kubeconfig).run(&["config", "view", "--raw", "--minify", "-o", "json"]);
        let config: Value = serde_json::from_str(&text).expect("kubectl prints JSON");
        let member = |pointer: &str| {
            let found = config.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_else(|| panic!("{}: no {pointer}", kubeconfig.display()))
        };
        let authority = member("/clusters/0/cluster/certificate-authority-data");
        let authority = base64::engine::general_purpose::STANDARD.decode(authority);
        Self::new(
            member("/clusters/0/cluster/server"),
            &authority.expect("certificate-authority-data is base64"),
            member("/users/0/user/token"),
        )
    }

    fn request(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("Authorization", format!("Bearer {}", self.token))
    }

    /// Reads `path`, in the form that `accept` says.
    ///
    /// # Panics
    /// If nobody answers.
    #[track_caller]
    pub fn get(&self, path: &str, accept: &str) -> Answered {
        let request = self.request("GET", path).header("Accept", accept).body(());
        self.answered(path, |agent| agent.run(request.expect("a good request")))
    }

    /// Sends a JSON merge patch.
    ///
    /// # Panics
    /// If nobody answers.
    #[track_caller]
    pub fn merge(&self, path: &str, patch: &Value) -> Answered {
        let request = self
            .request("PATCH", path)
            .header("Content-Type", "application/merge-patch+json");
        let request = request.body(patch.to_string()).expect("a good request");
        self.answered(path, |agent| agent.run(request))
    }

    #[track_caller]
    fn answered(
        &self,
        path: &str,
        send: impl FnOnce(&Agent) -> Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Answered {
        let began = Instant::now();
        let answer = send(&self.agent).and_then(|mut answer| {
            let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec()?;
            Ok((answer.status().as_u16(), body))
        });
        let took = began.elapsed();
        let (status, body) = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
        Answered { status, body, took }
    }

    /// Watches `path` (with `watch=1` in it) and hands each line to `see` until the server ends the watch.
    ///
    /// # Panics
    /// If the server does not begin it.
    pub fn watch(&self, path: &str, mut see: impl FnMut(&[u8])) {
        let request = self.request("GET", path).body(()).expect("a good request");
        let mut answer = self
            .agent
            .run(request)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        let mut lines = BufReader::with_capacity(1 << 18, answer.body_mut().as_reader());
        let mut line = Vec::new();
        loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(1..) => see(&line),
                _ => return,
            }
        }
    }
}
