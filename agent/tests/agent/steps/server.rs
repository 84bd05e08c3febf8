//! Servers that end with the test.

use std::net::SocketAddr;

use axum::Router;
use axum_server::tls_rustls::RustlsConfig;

/// Serves over plain HTTP; returns `127.0.0.1:port`.
pub async fn plain(routes: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    address.to_string()
}

/// Serves over TLS; returns `127.0.0.1:port` and the certificate to trust.
pub async fn tls(routes: Router) -> (String, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = made.cert.pem();
    let config = RustlsConfig::from_pem(
        certificate.clone().into_bytes(),
        made.signing_key.serialize_pem().into_bytes(),
    )
    .await
    .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        axum_server::from_tcp_rustls(listener, config)
            .unwrap()
            .serve(routes.into_make_service())
            .await
            .unwrap();
    });
    (address.to_string(), certificate)
}
