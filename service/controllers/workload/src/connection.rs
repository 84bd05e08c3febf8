//! Connects to workload clusters: to the addresses that [`Networks`] allows, and to no others.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec::IntoIter;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::{Body, ClientBuilder, ConfigExt};
use muster_outgoing::{NetworkError, Networks};
use tower::{Service, ServiceBuilder};

use super::kubeconfig::{Found, KubeconfigError};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Limit of resolving a name.
const RESOLVE_LIMIT: Duration = Duration::from_secs(5);

/// Builds the client for a kubeconfig. Each connection resolves the name again and checks the address against `networks`, so that
/// a later change of the name's address has no effect. An operator's proxy may have any address.
///
/// # Errors
/// [`KubeconfigError::BadKeys`]
pub fn client(found: Found, networks: &Arc<Networks>) -> Result<Client, KubeconfigError> {
    let proxy = found.config.proxy_url.as_ref().and_then(|url| {
        let matcher = Matcher::builder().all(url.to_string()).build();
        matcher.intercept(&found.config.cluster_url)
    });
    // A proxy URL that the matcher cannot read is ignored: the connection is direct then, and restricted to the networks.
    let is_of_operator = found.proxy_of_operator && proxy.is_some();
    let allowed = (!is_of_operator).then(|| networks.clone());
    let mut connector = HttpConnector::new_with_resolver(Resolver(allowed));
    connector.enforce_http(false);
    connector.set_connect_timeout(found.config.connect_timeout);
    let built = match proxy {
        None => over(connector, found),
        Some(proxy) => match proxy.uri().scheme_str() {
            Some("socks5") => over(socks(&proxy, connector), found),
            Some("https") => match found.config.rustls_https_connector_with_connector(connector) {
                Ok(connector) => over(tunnel(&proxy, connector), found),
                Err(error) => Err(error.into()),
            },
            _ => over(tunnel(&proxy, connector), found),
        },
    };
    built.map_err(|_| KubeconfigError::BadKeys)
}

fn tunnel<C>(proxy: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), connector);
    match proxy.basic_auth() {
        Some(auth) => tunnel.with_auth(auth.clone()),
        None => tunnel,
    }
}

fn socks<C>(proxy: &Intercept, connector: C) -> SocksV5<C> {
    let socks = SocksV5::new(proxy.uri().clone(), connector);
    match proxy.raw_auth() {
        Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
        None => socks,
    }
}

/// Returns a client like kube's own, over `connector`.
fn over<C>(connector: C, Found { config, .. }: Found) -> Result<Client, BoxError>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let client: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

/// Resolves names to allowed addresses; without networks, to any.
#[derive(Clone)]
struct Resolver(Option<Arc<Networks>>);

impl Service<Name> for Resolver {
    type Response = IntoIter<SocketAddr>;
    type Error = NetworkError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NetworkError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NetworkError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let networks = self.0.clone();
        Box::pin(async move {
            // The port is set by the connector.
            let found = match networks {
                Some(networks) => networks.resolve(name.as_str(), 0, RESOLVE_LIMIT).await,
                None => Networks::resolve_any(name.as_str(), 0, RESOLVE_LIMIT).await,
            };
            found.map(Vec::into_iter)
        })
    }
}
