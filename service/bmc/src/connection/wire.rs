//! One request and its response, by the rules for every BMC (docs/protocol/redfish.md#2.1 and §7): no proxies, no cookies, redirects within
//! the origin only, bodies of bounded length.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, HeaderMap, HeaderName, HeaderValue, IF_MATCH, LOCATION,
};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::Host;

use super::address::Place;
use super::certificate::{CertificateMode, Inspector};
use super::credentials::Credentials;
use super::link::Link;
use crate::error::BmcError;
use crate::limits::Limits;
use crate::media_url;
use crate::refusal::Refusal;

/// Redirects of one request that are followed.
const REDIRECTS: usize = 3;
pub(crate) const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// The client's proof of identity.
#[derive(Debug, Clone, Default)]
pub(crate) enum Proof {
    #[default]
    None,
    /// The password with every request.
    Basic,
    /// A session's token, which is marked as sensitive.
    Token(HeaderValue),
}

/// A request to a BMC.
pub(crate) struct Ask<'a> {
    pub method: Method,
    pub link: &'a Link,
    pub body: Option<&'a Value>,
    pub if_match: Option<&'a str>,
}

/// A response with its body. `body` is null when it is empty or not JSON.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
    bytes: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        let text = self.headers.get(name)?.to_str().ok()?.trim();
        (!text.is_empty()).then_some(text)
    }
}

/// Speaks HTTP with one BMC.
#[derive(Clone)]
pub(crate) struct Wire {
    http: reqwest::Client,
    inspector: Inspector,
    pub place: Place,
    pub limits: Limits,
    pub credentials: Credentials,
    pub proof: Proof,
    /// The URL of the image that is talked about.
    pub image: Option<String>,
    /// Compressed responses weaken ETags, so identity encoding is requested; some BMCs refuse that header.
    identity: bool,
    /// Closes the connection after each request, because some BMCs reset reused connections. True until the BMC is known, and after a
    /// connection broke.
    pub close: bool,
}

impl Wire {
    /// Nothing is sent yet. `known`: [`crate::AddressRules::known_certificates`].
    pub fn new(
        place: Place,
        (mode, known): (&CertificateMode, bool),
        credentials: Credentials,
        limits: Limits,
    ) -> Result<Self, BmcError> {
        let (inspector, tls) = Inspector::new(mode, known)?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .http1_only()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(limits.connect)
            .timeout(limits.request)
            .pool_max_idle_per_host(1);
        if let Some(Host::Domain(name)) = place.base.host() {
            builder = builder.resolve(name, place.address);
        }
        let http = builder
            .build()
            .map_err(|error| BmcError::Certificates(error.to_string()))?;
        Ok(Self {
            http,
            inspector,
            place,
            limits,
            credentials,
            proof: Proof::None,
            image: None,
            identity: true,
            close: true,
        })
    }

    /// The refusal in a response, without the password and the image's URL, which is a credential too: some BMCs repeat them.
    pub fn refusal(&self, answer: &Answer) -> Refusal {
        let redact = |text: &str| {
            let text = self.credentials.redact(text);
            match &self.image {
                Some(image) => media_url::redact(&text, image),
                None => text,
            }
        };
        let text = String::from_utf8_lossy(&answer.bytes);
        Refusal::redacted(answer.status.as_u16(), &answer.body, &text, &redact)
    }

    pub fn address(&self) -> SocketAddr {
        self.place.address
    }

    pub fn certificate(&self) -> Option<muster_trust::Fingerprint> {
        self.inspector.shown()
    }

    pub fn link(&self, text: &str) -> Result<Link, BmcError> {
        Link::new(&self.place.base, text)
    }

    /// Sends a request once, and follows redirects. Any status is a response.
    ///
    /// # Errors
    /// If the response is incomplete, or a redirect is not allowed.
    pub async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Answer, BmcError> {
        let mut link = ask.link.clone();
        for _ in 0..=REDIRECTS {
            let response = self.send(ask, &link).await?;
            let status = response.status();
            if status == StatusCode::NOT_ACCEPTABLE && self.identity {
                self.identity = false;
                continue;
            }
            match redirect(&ask.method, &response) {
                Some(to) => link = Link::new(&link.url(&self.place.base), to)?,
                None => return self.read(&link, response).await,
            }
        }
        Err(BmcError::NotRedfish(format!(
            "{} redirects without end",
            ask.link
        )))
    }

    async fn send(&mut self, ask: &Ask<'_>, link: &Link) -> Result<Response, BmcError> {
        let mut request = self
            .http
            .request(ask.method.clone(), link.url(&self.place.base))
            .header(ACCEPT, "application/json")
            .header("OData-Version", "4.0");
        if self.identity {
            request = request.header(ACCEPT_ENCODING, "identity");
        }
        if self.close {
            request = request.header(CONNECTION, "close");
        }
        if let Some(etag) = ask.if_match {
            request = request.header(IF_MATCH, etag);
        }
        if let Some(body) = ask.body {
            request = request.json(body);
        }
        let response = match self.prove(request).send().await {
            Ok(response) => response,
            Err(error) => {
                self.close = true;
                return Err(self.unreachable(error));
            }
        };
        tracing::debug!(bmc = %self.place.address, method = %ask.method, link = %link.last(), status = response.status().as_u16());
        Ok(response)
    }

    fn prove(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.proof {
            Proof::None => request,
            Proof::Basic => request.basic_auth(&self.credentials.user, Some(&self.credentials.password)),
            Proof::Token(token) => request.header(X_AUTH_TOKEN, token.clone()),
        }
    }

    async fn read(&self, link: &Link, mut response: Response) -> Result<Answer, BmcError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if bytes.len() + chunk.len() > self.limits.body {
                let what = format!("the answer to {link}");
                let limit = self.limits.body;
                return Err(BmcError::TooLarge { what, limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status,
            headers,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes,
        })
    }

    /// The error of a request without a response; the URL, which may hold a secret, is left out.
    fn unreachable(&self, error: reqwest::Error) -> BmcError {
        let error = error.without_url();
        let tls = find::<rustls::Error>(&error);
        if let Some(rustls::Error::InvalidCertificate(why)) = tls {
            return self.inspector.refused(why);
        }
        let address = self.place.base.as_str().trim_end_matches('/').to_owned();
        if let Some(needed) = tls.and_then(needed_of_tls) {
            let why = needed.to_owned();
            return BmcError::Tls { address, why };
        }
        let why = match (error.is_timeout(), tls) {
            (true, _) => "no answer in time".to_owned(),
            (false, Some(tls)) => format!("TLS fails: {tls}"),
            (false, None) => innermost(&error),
        };
        BmcError::Unreachable { address, why }
    }
}

/// The missing feature of a BMC that has no TLS parameters in common with this client; `None`: another error.
fn needed_of_tls(error: &rustls::Error) -> Option<&'static str> {
    use rustls::{AlertDescription as Alert, Error, PeerIncompatible};

    match error {
        Error::AlertReceived(Alert::ProtocolVersion)
        | Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => Some("it speaks neither TLS 1.2 nor 1.3, and what is older is not spoken here"),
        Error::AlertReceived(Alert::HandshakeFailure | Alert::InsufficientSecurity)
        | Error::PeerIncompatible(_) => Some(
            "it shares no cipher suite or kind of key with this service, which needs TLS 1.3, or 1.2 with ECDHE and AES-GCM or \
             ChaCha20-Poly1305, and a certificate with an RSA, ECDSA (P-256, P-384, by TLS 1.3 also P-521) or Ed25519 key",
        ),
        _ => None,
    }
}

/// The target of a redirect that is followed for this method.
fn redirect<'a>(method: &Method, response: &'a Response) -> Option<&'a str> {
    let follows = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => *method == Method::GET,
        _ => false,
    };
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    follows.then_some(location)
}

/// An I/O error returns the source of its inner error, and leaves out the inner error itself.
fn inside<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inside) => Some(inside as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = inside(error);
    }
    None
}

pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = inside(cause) {
        cause = next;
    }
    let text = cause.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
