//! Keeps the host's time sources, and queries them (SNTP, RFC 5905).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use super::agreement::Measurement;
use crate::net::names::Names;

const NTP_PORT: u16 = 123;
const PATIENCE: Duration = Duration::from_secs(3);
const ATTEMPTS: usize = 2;
/// The service and DHCP add sources; the limit keeps a mistake there harmless.
const MOST_SOURCES: usize = 32;

/// The sources, shared between configuration, DHCP, the service's steps and the clock.
#[derive(Clone)]
pub struct TimeSources {
    names: Names,
    port: u16,
    list: Arc<Mutex<Vec<String>>>,
}

/// A source and its measurement; `None` if it did not respond.
#[derive(Debug, Clone)]
pub struct Asked {
    /// As configured: a name or an address.
    pub source: String,
    pub address: Option<IpAddr>,
    pub measurement: Option<Measurement>,
}

impl TimeSources {
    pub fn new(names: Names) -> Self {
        Self {
            names,
            port: NTP_PORT,
            list: Arc::default(),
        }
    }

    /// For tests: sources that listen on another port.
    pub fn on_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Adds a source unless it is blank or known. True when it was added.
    pub fn add(&self, source: &str) -> bool {
        let source = source.trim();
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if source.is_empty() || list.len() >= MOST_SOURCES || list.iter().any(|known| known == source) {
            return false;
        }
        list.push(source.to_owned());
        true
    }

    /// The sources as they were configured.
    pub fn list(&self) -> Vec<String> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Queries all sources at once; takes a few seconds at most.
    pub async fn ask(&self) -> Vec<Asked> {
        let list = self.list();
        join_all(list.into_iter().map(|source| async {
            let address = match tokio::time::timeout(PATIENCE, self.names.addresses(&source)).await {
                Ok(Ok(addresses)) => addresses.first().copied(),
                Ok(Err(_)) | Err(_) => None,
            };
            let measurement = match address {
                Some(address) => measure(SocketAddr::new(address, self.port)).await,
                None => None,
            };
            Asked {
                source,
                address,
                measurement,
            }
        }))
        .await
    }
}

async fn measure(server: SocketAddr) -> Option<Measurement> {
    let any: IpAddr = if server.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let config = rsntp::Config::default()
        .bind_address(SocketAddr::new(any, 0))
        .timeout(PATIENCE);
    let client = rsntp::AsyncSntpClient::with_config(config);
    for _ in 0..ATTEMPTS {
        match client.synchronize(server.to_string()).await {
            Ok(answer) => {
                return Some(Measurement {
                    offset: answer.clock_offset().as_secs_f64(),
                    delay: answer.round_trip_delay().as_secs_f64(),
                    stratum: answer.stratum(),
                });
            }
            Err(error) => tracing::debug!(%server, %error, "no time"),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_listed_once() {
        let sources = TimeSources::new(Names::system());
        assert!(sources.add("10.0.2.2"));
        assert!(!sources.add(" 10.0.2.2 "));
        assert!(!sources.add(""));
        assert_eq!(sources.list(), ["10.0.2.2"]);
    }

    #[test]
    fn an_endless_list_ends() {
        let sources = TimeSources::new(Names::system());
        for n in 0..1000 {
            sources.add(&format!("ntp{n}.example"));
        }
        assert_eq!(sources.list().len(), MOST_SOURCES);
    }
}
