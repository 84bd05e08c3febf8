//! Serves the API over TLS until it is stopped.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Extension;
use axum::middleware::AddExtension;
use axum_server::Handle;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use http::Response;
use muster_connections::{Listener, PlaceAcceptor, counted, tune};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;
use tower_http::CompressionLevel;
use tower_http::compression::{CompressionLayer, Predicate};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::auth::{Tokens, guarded};
use crate::api::KubeApi;
use crate::endpoints::IsList;
use crate::request::Caller;

/// Time for running requests to finish when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

impl KubeApi {
    /// Serves the API with TLS on a bound listener until `stop`. Clients authenticate by token, or by a
    /// certificate of the authority that made `tls`.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn listen(
        &self,
        listener: Listener,
        tls: ServerConfig,
        tokens: Tokens,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let Listener {
            tcp,
            connections,
            longest_head,
        } = listener;
        let handle = Handle::new();
        let stopping = handle.clone();
        let api = self.clone();
        let stopper = tokio::spawn(async move {
            stop.cancelled().await;
            // Watches would otherwise last until their timeout.
            api.stop();
            stopping.graceful_shutdown(Some(DRAIN));
        });
        let acceptor = CallerAcceptor(RustlsAcceptor::new(RustlsConfig::from_config(Arc::new(tls))));
        let mut server = axum_server::from_tcp(tcp)?
            .acceptor(PlaceAcceptor::new(acceptor, connections))
            .handle(handle);
        tune(server.http_builder(), longest_head);
        // Speed before size: the same list is compressed once for each client.
        let compression = CompressionLayer::new()
            .quality(CompressionLevel::Fastest)
            .compress_when(OnlyLists);
        let router = counted(guarded(self.router().layer(compression), tokens));
        let served = server.serve(router.into_make_service()).await;
        stopper.abort();
        served
    }
}

/// Compresses lists. Watches must not wait until there is enough to compress.
#[derive(Debug, Clone, Copy)]
struct OnlyLists;

impl Predicate for OnlyLists {
    fn should_compress<B: http_body::Body>(&self, response: &Response<B>) -> bool {
        response.extensions().get::<IsList>().is_some()
    }
}

/// Reads the user from the certificate of a client.
#[derive(Debug, Clone)]
struct CallerAcceptor(RustlsAcceptor);

type TlsStream<S> = <RustlsAcceptor as Accept<TcpStream, S>>::Stream;

impl<S: Send + 'static> Accept<TcpStream, S> for CallerAcceptor {
    type Stream = TlsStream<S>;
    type Service = AddExtension<S, Option<Caller>>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let acceptor = self.0.clone();
        Box::pin(async move {
            stream.set_nodelay(true)?;
            let (stream, service) = acceptor.accept(stream, service).await?;
            let certificates = stream.get_ref().1.peer_certificates();
            let caller = certificates.and_then(|certificates| caller(certificates.first()?));
            Ok((stream, Extension(caller).layer(service)))
        })
    }
}

/// The common name is the user, organizations are its groups.
fn caller(certificate: &[u8]) -> Option<Caller> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let groups = subject
        .iter_organization()
        .filter_map(|organization| organization.as_str().ok().map(str::to_owned));
    let groups = groups.chain(std::iter::once("system:authenticated".to_owned()));
    Some(Caller {
        name,
        uid: String::new(),
        groups: groups.collect(),
    })
}
