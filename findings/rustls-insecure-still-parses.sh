#!/usr/bin/env bash
# A rustls client whose verifier takes any certificate, written as its documentation shows, still refuses X.509 version 1, RSA keys below 2048
# bits and unknown critical extensions: the helpers that verify the handshake's signature parse the certificate as an authority's verifier does.
# `curl -k` connects to all of them.
. "$(dirname "$0")/lib/cargo.sh"
server=
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
dependencies 'rustls = { version = "=0.23.46", default-features = false, features = ["ring", "std", "tls12"] }'
program <<'RUST'
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, Stream};

#[derive(Debug)]
struct Any(Arc<CryptoProvider>);

impl ServerCertVerifier for Any {
    fn verify_server_cert(&self, _: &CertificateDer<'_>, _: &[CertificateDer<'_>], _: &ServerName<'_>, _: &[u8], _: UnixTime) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(&self, message: &[u8], certificate: &CertificateDer<'_>, signed: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(&self, message: &[u8], certificate: &CertificateDer<'_>, signed: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn main() {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any(provider)))
        .with_no_client_auth();
    let address = std::env::args().nth(1).unwrap();
    let mut tcp = TcpStream::connect(address).unwrap();
    let mut tls = ClientConnection::new(Arc::new(config), ServerName::try_from("bmc.test").unwrap()).unwrap();
    match Stream::new(&mut tls, &mut tcp).write_all(b"GET / HTTP/1.0\r\n\r\n") {
        Ok(()) => println!("connected"),
        Err(error) => println!("{error}"),
    }
}
RUST
printf '[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN=bmc\n' >settings
openssl version
echo "rustls 0.23.46"

# NAME RUSTLS-SAYS OPTIONS-OF-REQ...
try() {
  name=$1 expected=$2
  shift 2
  openssl req -x509 -nodes -config settings -keyout key -out certificate "$@" 2>/dev/null
  openssl s_server -accept 127.0.0.1:0 -www -key key -cert certificate -cipher DEFAULT@SECLEVEL=0 >out 2>/dev/null &
  server=$!
  until address=$(sed -n 's/^ACCEPT //p' out) && [ -n "$address" ]; do sleep 0.1; done
  by_rustls=$("$program" "$address")
  by_curl=$(curl --silent --insecure --output /dev/null --write-out '%{http_code}' "https://$address/")
  kill "$server"
  wait "$server" 2>/dev/null || true
  echo "$name: rustls: $by_rustls; curl -k: $by_curl"
  [[ $by_rustls == *"$expected"* && $by_curl == 200 ]]
}

try "version 1" UnsupportedCertVersion -newkey rsa:2048
try "critical extension" UnsupportedCriticalExtension -newkey rsa:2048 -addext "1.2.3.4.5=critical,ASN1:UTF8String:x"
try "RSA of 1024 bits" "invalid peer certificate: BadSignature" -newkey rsa:1024 -addext basicConstraints=CA:false
try "version 3, RSA of 2048 bits" connected -newkey rsa:2048 -addext basicConstraints=CA:false
