//! An ignition server like HyperShift's: configs over HTTPS, for a bearer token each. Source of its responses:
//! docs/protocol/capi-agent-provider.md#8.1.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::certificates::Authority;
use crate::qemu::USER_NETWORK_HOST;

/// Time limit for a request to be complete.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
const LONGEST_HEAD: u64 = 64 << 10;

/// A server that runs as long as the test program.
pub struct IgnitionServer {
    port: u16,
    authority: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// By token; without a config it is not ready yet.
    configs: Mutex<HashMap<String, Option<String>>>,
    /// Statuses of responses in order.
    answered: Mutex<Vec<u16>>,
}

impl IgnitionServer {
    /// Starts one on a free port of the loopback address; machines on user networks reach it.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start() -> Self {
        let authority = Authority::new("lab-ignition-ca");
        let signed = authority.server(&[USER_NETWORK_HOST, "127.0.0.1"]);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let chain = CertificateDer::from_pem_slice(signed.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes());
        let tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![chain.expect("rcgen writes certificates")],
                key.expect("rcgen writes keys"),
            )
            .expect("a certificate and its key");
        let tls = Arc::new(tls);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let shared = Arc::new(Shared::default());
        let server = Self {
            port,
            authority: authority.certificate().to_owned(),
            shared: Arc::clone(&shared),
        };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (tls, shared) = (Arc::clone(&tls), Arc::clone(&shared));
                // A client that aborts gets no response, and retries.
                std::thread::spawn(move || drop(answer(client, tls, &shared)));
            }
        });
        server
    }

    /// The authority that signed its certificate, PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The host and the port as machines reach it.
    pub fn endpoint(&self) -> String {
        format!("{USER_NETWORK_HOST}:{}", self.port)
    }

    /// Accepts that token, and responds with 511 for it until there is a config.
    pub fn announce(&self, token: &str) {
        lock(&self.shared.configs).entry(token.to_owned()).or_insert(None);
    }

    /// Serves a config for that token.
    pub fn publish(&self, token: &str, config: &Value) {
        lock(&self.shared.configs).insert(token.to_owned(), Some(config.to_string()));
    }

    /// The user data that makes a machine use this server, as HyperShift writes it.
    pub fn user_data(&self, token: &str, node_pool: &str) -> Value {
        json!({"ignition": {
            "version": "3.2.0",
            "security": {"tls": {"certificateAuthorities": [{
                "source": format!("data:text/plain;base64,{}", STANDARD.encode(&self.authority)),
            }]}},
            "config": {"merge": [{
                "source": format!("https://{}/ignition", self.endpoint()),
                "httpHeaders": [
                    {"name": "Authorization", "value": format!("Bearer {}", STANDARD.encode(token))},
                    {"name": "NodePool", "value": node_pool},
                    {"name": "TargetConfigVersionHash", "value": "lab"},
                ],
            }]},
        }})
    }

    /// Statuses of all responses so far, the oldest first.
    pub fn answered(&self) -> Vec<u16> {
        lock(&self.shared.answered).clone()
    }
}

fn answer(client: TcpStream, tls: Arc<ServerConfig>, shared: &Shared) -> std::io::Result<()> {
    client.set_read_timeout(Some(REQUEST_LIMIT))?;
    client.set_write_timeout(Some(REQUEST_LIMIT))?;
    let connection = ServerConnection::new(tls).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(connection, client).take(LONGEST_HEAD));
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let (status, body) = shared.choose(&lines);
    lock(&shared.answered).push(status);
    let mut stream = reader.into_inner().into_inner();
    write!(
        stream,
        "HTTP/1.1 {status} lab\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.conn.send_close_notify();
    stream.flush()
}

impl Shared {
    /// Status and body for a request with that head.
    fn choose(&self, lines: &[String]) -> (u16, String) {
        let path = lines
            .first()
            .and_then(|line| line.split(' ').nth(1))
            .unwrap_or_default();
        if !path.starts_with("/ignition") {
            return (404, String::new());
        }
        let authorization = lines.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("authorization").then(|| value.trim())
        });
        let token = authorization
            .and_then(|value| value.strip_prefix("Bearer "))
            .and_then(|value| STANDARD.decode(value).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(token) = token else {
            return (401, String::new());
        };
        match lock(&self.configs).get(&token) {
            Some(Some(config)) => (200, config.clone()),
            // On purpose a 5xx, which makes Ignition retry.
            Some(None) | None => (511, String::new()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpClient;

    #[test]
    fn a_config_is_for_who_has_its_token() {
        let server = IgnitionServer::start();
        let client = HttpClient::trusting(
            &format!("https://127.0.0.1:{}", server.port),
            server.authority().as_bytes(),
        );
        let ask = |client: &HttpClient, path: &str| client.try_request("GET", path, None).unwrap().status;
        let with = client.with_token(&STANDARD.encode("one"));
        assert_eq!(ask(&client, "/ignition"), 401);
        assert_eq!(ask(&client.with_token("one"), "/ignition"), 401);
        assert_eq!(ask(&with, "/ignition"), 511);
        server.announce("one");
        assert_eq!(ask(&with, "/ignition"), 511);
        server.publish("one", &json!({"ignition": {"version": "3.4.0"}}));
        assert_eq!(ask(&with, "/ignition"), 200);
        assert_eq!(ask(&with, "/elsewhere"), 404);
        assert_eq!(server.answered(), [401, 401, 511, 511, 200, 404]);
    }
}
