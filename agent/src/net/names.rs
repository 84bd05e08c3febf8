//! Resolves host names in the agent itself, since a static program has no system resolver. `/etc/hosts` and
//! `/etc/resolv.conf` are read again when they change.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::Resolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig, ResolverOpts, ServerOrderingStrategy};
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::system_conf::parse_resolv_conf;

use super::card_runtime::CardRuntime;

/// A name without an address.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    #[error("no name server is known ({path}): {reason}", path = path.display())]
    NoNameServer {
        /// The file that should name one.
        path: PathBuf,
        reason: String,
    },
    /// The servers have no address for the name.
    #[error("no address for `{name}`: {reason}")]
    NotFound {
        name: String,
        /// For people.
        reason: String,
    },
}

/// The result of resolving a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Of both families, in the servers' order.
    pub addresses: Vec<IpAddr>,
    /// The name that has the addresses after all aliases, with its trailing dot.
    pub canonical_name: Option<String>,
}

/// Longest age of a cached response, positive or negative.
const CACHE_LIMIT: Duration = Duration::from_secs(30);

/// A resolver that follows changes of its configuration file.
#[derive(Clone)]
pub struct Names {
    configuration: Arc<Path>,
    /// The card that queries go through; `None`: by the routes.
    card: Option<Arc<str>>,
    current: Arc<Mutex<Option<Current>>>,
}

/// The configuration's text, and its resolver.
type Current = (Vec<u8>, Resolver<CardRuntime>);

impl Names {
    /// A resolver configured by `/etc/resolv.conf`.
    pub fn system() -> Self {
        Self::configured_by("/etc/resolv.conf")
    }

    /// A resolver configured by another file of the same format.
    pub fn configured_by(path: impl Into<PathBuf>) -> Self {
        Self {
            configuration: path.into().into(),
            card: None,
            current: Arc::default(),
        }
    }

    /// The same, with queries through one card.
    pub fn through(card: &str, path: impl Into<PathBuf>) -> Self {
        Self {
            card: Some(card.into()),
            ..Self::configured_by(path)
        }
    }

    /// The addresses of a name or of an address written as text.
    ///
    /// # Errors
    /// [`NameError`]
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NameError> {
        if let Ok(address) = name.trim_matches(['[', ']']).parse() {
            return Ok(vec![address]);
        }
        let found = self.resolver()?.lookup_ip(name).await;
        match found {
            Ok(found) => Ok(found.iter().collect()),
            Err(error) => Err(NameError::NotFound {
                name: name.to_owned(),
                reason: reason(&error),
            }),
        }
    }

    /// Resolves a name. One without a trailing dot is tried in the search domains too.
    ///
    /// # Errors
    /// [`NameError`]
    pub async fn resolve(&self, name: &str) -> Result<Resolution, NameError> {
        let found = self.resolver()?.lookup_ip(name).await;
        let found = found.map_err(|error| NameError::NotFound {
            name: name.to_owned(),
            reason: reason(&error),
        })?;
        let owner = found.as_lookup().answers().iter().rev();
        let mut owner = owner.filter(|record| matches!(record.data, RData::A(_) | RData::AAAA(_)));
        let canonical_name = owner.next().map(|record| {
            let mut name = record.name.clone();
            name.set_fqdn(true);
            name.to_utf8()
        });
        Ok(Resolution {
            addresses: found.iter().collect(),
            canonical_name,
        })
    }

    /// The name of an address by reverse lookup, without trailing dot.
    pub async fn name_of(&self, address: IpAddr) -> Option<String> {
        let lookup = self.resolver().ok()?.reverse_lookup(address).await.ok()?;
        lookup.answers().iter().find_map(|record| match &record.data {
            RData::PTR(name) => Some(name.to_utf8().trim_end_matches('.').to_owned()),
            _ => None,
        })
    }

    fn resolver(&self) -> Result<Resolver<CardRuntime>, NameError> {
        let complaint = |reason: String| NameError::NoNameServer {
            path: self.configuration.to_path_buf(),
            reason,
        };
        let text = std::fs::read(&self.configuration).map_err(|error| complaint(error.to_string()))?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, resolver)) = &*current
            && *of == text
        {
            return Ok(resolver.clone());
        }
        let (config, mut options) = parse(&text).map_err(|error| complaint(error.to_string()))?;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.timeout = Duration::from_secs(3);
        options.positive_max_ttl = Some(CACHE_LIMIT);
        options.negative_max_ttl = Some(CACHE_LIMIT);
        // The first server is that of the network that leads to the service: another may deny names that the first one knows.
        options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
        options.num_concurrent_reqs = 1;
        let runtime = CardRuntime::through(self.card.as_deref());
        let mut builder = Resolver::builder_with_config(config, runtime);
        *builder.options_mut() = options;
        let resolver = builder.build().map_err(|error| complaint(error.to_string()))?;
        *current = Some((text, resolver.clone()));
        Ok(resolver)
    }
}

/// The reason why the servers returned no address. The resolver's own text shows its query as a Rust value.
fn reason(error: &NetError) -> String {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => "the name servers know no such name".into(),
            ResponseCode::NoError => "the name servers know the name, and no address of it".into(),
            code => format!("the name servers answer: {code}"),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => format!("the name servers answer: {code}"),
        NetError::Timeout => "the name servers do not answer".into(),
        other => other.to_string(),
    }
}

/// One bad search domain makes the whole file unreadable: then it is parsed without its search domains.
fn parse(text: &[u8]) -> Result<(ResolverConfig, ResolverOpts), NetError> {
    parse_resolv_conf(text).or_else(|error| {
        let text = String::from_utf8_lossy(text);
        let rest: String = text
            .split_inclusive('\n')
            .filter(|line| !matches!(line.split_whitespace().next(), Some("search" | "domain")))
            .collect();
        parse_resolv_conf(rest).map_err(|_| error)
    })
}

impl reqwest::dns::Resolve for Names {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let names = self.clone();
        Box::pin(async move {
            let found = names.addresses(name.as_str()).await?;
            let addresses: reqwest::dns::Addrs =
                Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_need_no_name_server() {
        let names = Names::configured_by("/nonexistent/resolv.conf");
        assert_eq!(
            names.addresses("10.0.2.2").await.unwrap(),
            ["10.0.2.2".parse::<IpAddr>().unwrap()]
        );
        assert_eq!(
            names.addresses("[fd00::1]").await.unwrap(),
            ["fd00::1".parse::<IpAddr>().unwrap()]
        );
    }

    #[test]
    fn reasons_are_for_people() {
        use hickory_resolver::net::NoRecords;
        use hickory_resolver::proto::op::Query;
        let none = |code| NetError::from(NoRecords::new(Query::default(), code));
        for (error, expected) in [
            (none(ResponseCode::NXDomain), "the name servers know no such name"),
            (
                none(ResponseCode::NoError),
                "the name servers know the name, and no address of it",
            ),
            (NetError::Timeout, "the name servers do not answer"),
        ] {
            assert_eq!(reason(&error), expected);
        }
        for code in [ResponseCode::ServFail, ResponseCode::Refused] {
            let said = reason(&NetError::from(DnsError::ResponseCode(code)));
            assert!(!said.contains(['{', '"']) && said.len() > 30, "{said}");
        }
    }

    #[test]
    fn a_bad_search_domain_does_not_hide_the_name_servers() {
        let long = "x".repeat(64);
        for search in [
            "search lab.example",
            "search a..b",
            &format!("search ok.example {long}.example"),
        ] {
            let (config, _) = parse(format!("{search}\nnameserver 10.0.2.3\n").as_bytes()).unwrap();
            assert_eq!(config.name_servers().len(), 1, "{search}");
        }
        assert!(parse(b"search a..b\n").is_err(), "there is no name server");
    }

    #[tokio::test]
    async fn a_missing_name_server_is_reported() {
        let names = Names::configured_by("/nonexistent/resolv.conf");
        let error = names.addresses("muster.example").await.unwrap_err().to_string();
        assert!(
            error.contains("no name server is known (/nonexistent/resolv.conf)"),
            "{error}"
        );
    }
}
