//! Sends requests to a registry: tokens, manifests, blobs. Credentials go to the registry and to its token
//! service, over TLS only, unless the configuration calls the registry insecure.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use url::Url;

use super::manifest::{self, Descriptor, Manifest};
use super::mirrors::Source;
use super::{Credentials, Reference, RegistryError, RegistryFiles, hash};
use crate::config::{Settings, system_certificates};
use crate::net::http::{self, BodyError, causes};
use crate::net::names::Names;
use crate::net::trust;
use crate::net::unanswered::why;

/// Registries refuse larger manifests.
const LARGEST_MANIFEST: usize = 4 << 20;
const LARGEST_TOKEN: usize = 64 << 10;
/// A connection without data for this long is broken; the whole request has a limit of its own.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A client of any registry, with one pull secret.
pub struct Registries {
    verified: reqwest::Client,
    unverified: reqwest::Client,
    credentials: Credentials,
    files: RegistryFiles,
    /// `Authorization` by registry and repository.
    tokens: Mutex<HashMap<String, HeaderValue>>,
}

/// An image in a registry.
pub(super) struct Found {
    /// Configuration and layers.
    pub blobs: Vec<Descriptor>,
    base: Url,
    image: Reference,
    insecure: bool,
}

impl Registries {
    /// Uses the proxies and certificates of `settings`, and the certificates of `files`.
    ///
    /// # Errors
    /// [`RegistryError::Configuration`]
    pub fn new(settings: &Settings, names: &Names, files: RegistryFiles) -> Result<Self, RegistryError> {
        let system = system_certificates();
        let own = format!("{}\n{}", settings.ca_certificates, files.certificates);
        let wrong = RegistryError::Configuration;
        let build = |builder: reqwest::ClientBuilder| {
            let builder = builder
                .redirect(reqwest::redirect::Policy::custom(follow))
                .connect_timeout(Duration::from_secs(15))
                .read_timeout(READ_TIMEOUT)
                .pool_max_idle_per_host(1);
            http::with_proxies(builder, settings)
                .map_err(|error| wrong(error.to_string()))?
                .build()
                .map_err(|error| wrong(causes(&error)))
        };
        let verified = match trust::client_config(&system, own.as_bytes()) {
            Ok(config) => http::builder(names).tls_backend_preconfigured(config),
            // No trust anchors configured: registries over plain HTTP still work, others fail with the
            // reason.
            Err(error) if system.is_empty() && own.trim().is_empty() => {
                tracing::info!("registries: {error}");
                http::builder(names).tls_certs_only([])
            }
            Err(error) => return Err(wrong(error.to_string())),
        };
        let unverified = http::builder(names)
            .tls_certs_only([])
            .tls_danger_accept_invalid_certs(true);
        Ok(Self {
            verified: build(verified)?,
            unverified: build(unverified)?,
            credentials: files.credentials.clone().unwrap_or_default(),
            files,
            tokens: Mutex::default(),
        })
    }

    /// The first place that has the image. With several places the error is that of the last, the image's own
    /// registry; errors of the others are logged.
    pub(super) async fn find(&self, image: &Reference) -> Result<Found, RegistryError> {
        let mut last = RegistryError::Blocked(image.to_string());
        for source in self.files.mirrors.sources(image)? {
            match self.find_at(&source).await {
                Ok(found) => return Ok(found),
                Err(error) => {
                    tracing::info!(place = source.image.to_string(), "image not had: {error}");
                    last = error;
                }
            }
        }
        Err(last)
    }

    async fn find_at(&self, source: &Source) -> Result<Found, RegistryError> {
        let image = &source.image;
        let mut first_error = None;
        let schemes: &[&str] = if source.insecure {
            &["https", "http"]
        } else {
            &["https"]
        };
        for scheme in schemes {
            let host = match image.registry.as_str() {
                "docker.io" => "registry-1.docker.io",
                host => host,
            };
            let base = Url::parse(&format!("{scheme}://{host}/v2/{}/", image.repository))
                .map_err(|_| RegistryError::Reference(image.to_string(), "its registry is no host name"))?;
            let mut found = Found {
                blobs: Vec::new(),
                base,
                image: image.clone(),
                insecure: source.insecure,
            };
            match self.manifest(&found, image.version()).await {
                Ok(Manifest::Image(blobs)) => found.blobs = blobs,
                Ok(Manifest::Index(digest)) => match self.manifest(&found, &digest).await? {
                    Manifest::Image(blobs) => found.blobs = blobs,
                    Manifest::Index(_) => {
                        let what = "an index where an image should be".to_owned();
                        return Err(RegistryError::Answer(image.registry.clone(), what));
                    }
                },
                // No TLS there: plain HTTP is tried if it is allowed.
                Err(error @ RegistryError::Unreachable(..)) => {
                    first_error.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            }
            return Ok(found);
        }
        Err(first_error.unwrap_or_else(|| RegistryError::Blocked(image.to_string())))
    }

    async fn manifest(&self, of: &Found, version: &str) -> Result<Manifest, RegistryError> {
        let url = of.url(&format!("manifests/{version}"))?;
        let response = self.request(of, Method::GET, url, Some(manifest::ACCEPT)).await?;
        let body = limited(response, LARGEST_MANIFEST, of.registry()).await?;
        if version.starts_with("sha256:") && hash::of(&body) != version {
            return Err(RegistryError::Digest(
                of.registry().to_owned(),
                version.to_owned(),
            ));
        }
        manifest::parse(&body, manifest::architecture())
            .map_err(|error| RegistryError::Answer(of.registry().to_owned(), error.to_string()))
    }

    /// Requests the headers of a blob without downloading it.
    pub(super) async fn has_blob(&self, of: &Found, blob: &Descriptor) -> Result<(), RegistryError> {
        let url = of.url(&format!("blobs/{}", blob.digest))?;
        self.request(of, Method::HEAD, url, None).await.map(drop)
    }

    /// Begins to download a blob.
    pub(super) async fn blob(&self, of: &Found, blob: &Descriptor) -> Result<Response, RegistryError> {
        let url = of.url(&format!("blobs/{}", blob.digest))?;
        self.request(of, Method::GET, url, None).await
    }

    async fn request(
        &self,
        of: &Found,
        method: Method,
        url: Url,
        accept: Option<&'static str>,
    ) -> Result<Response, RegistryError> {
        let key = of.image.name();
        let known = || {
            let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.get(&key).cloned()
        };
        let send = |authorization: Option<HeaderValue>| {
            let mut request = self.http(of.insecure).request(method.clone(), url.clone());
            if let Some(accept) = accept {
                request = request.header(ACCEPT, accept);
            }
            if let Some(authorization) = authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            request.send()
        };
        let unreachable =
            |error: reqwest::Error| RegistryError::Unreachable(of.registry().to_owned(), why(error));
        let mut response = send(known()).await.map_err(unreachable)?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let challenge = challenge(&response);
            let authorization = self.authorize(of, challenge).await?;
            self.tokens
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key.clone(), authorization.clone());
            response = send(Some(authorization)).await.map_err(unreachable)?;
        }
        let registry = of.registry().to_owned();
        match response.status() {
            status if status.is_success() => Ok(response),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Err(RegistryError::Denied(registry, status.to_string()))
            }
            StatusCode::NOT_FOUND => {
                let what = url.path().rsplit('/').next().unwrap_or_default();
                Err(RegistryError::Absent(registry, format!("{} ({what})", of.image)))
            }
            status => Err(RegistryError::Answer(registry, status.to_string())),
        }
    }

    fn http(&self, insecure: bool) -> &reqwest::Client {
        if insecure {
            &self.unverified
        } else {
            &self.verified
        }
    }

    /// The header to send after a 401: a token of the service that the challenge names, or the credentials
    /// themselves.
    async fn authorize(&self, of: &Found, challenge: Challenge) -> Result<HeaderValue, RegistryError> {
        let registry = of.registry().to_owned();
        let denied = |why: &str| Err(RegistryError::Denied(registry.clone(), why.to_owned()));
        let credentials = self.credentials.of(of.registry(), &of.image.repository);
        let (realm, service) = match challenge {
            Challenge::Bearer { realm, service } => (realm, service),
            Challenge::Basic => {
                if of.base.scheme() != "https" && !of.insecure {
                    return denied("it requires a password over plain HTTP");
                }
                return match credentials {
                    Some((user, password)) => Ok(basic(user, password)),
                    None => denied("it requires a password, and the pull secret has none"),
                };
            }
            Challenge::None => return denied("it names no way to log in"),
        };
        let mut url = Url::parse(&realm)
            .map_err(|_| RegistryError::Denied(registry.clone(), "its token service is no URL".to_owned()))?;
        if url.scheme() != "https" && !of.insecure {
            return denied("its token service is not reached by https");
        }
        url.query_pairs_mut()
            .append_pair("scope", &format!("repository:{}:pull", of.image.repository));
        if let Some(service) = service {
            url.query_pairs_mut().append_pair("service", &service);
        }
        let mut request = self.http(of.insecure).get(url);
        if let Some((user, password)) = credentials {
            request = request.header(AUTHORIZATION, basic(user, password));
        }
        let response = request
            .send()
            .await
            .map_err(|error| RegistryError::Unreachable(format!("{registry}'s token service"), why(error)))?;
        if !response.status().is_success() {
            let why = format!("its token service answers {}", response.status());
            return Err(RegistryError::Denied(registry, why));
        }
        #[derive(Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
        }
        let body = limited(response, LARGEST_TOKEN, &registry).await?;
        let token = serde_json::from_slice::<Token>(&body).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        match token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok()) {
            Some(mut value) => {
                value.set_sensitive(true);
                Ok(value)
            }
            None => denied("its token service gives no token"),
        }
    }
}

impl Found {
    fn registry(&self) -> &str {
        &self.image.registry
    }

    fn url(&self, rest: &str) -> Result<Url, RegistryError> {
        // A leading `sha256:...` would be parsed as a scheme, so the parts are joined as text.
        Url::parse(&format!("{}{rest}", self.base))
            .map_err(|_| RegistryError::Reference(self.image.to_string(), "it makes no URL"))
    }
}

fn basic(user: &str, password: &str) -> HeaderValue {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::from_str(&format!("Basic {text}")).expect("base64 is printable");
    value.set_sensitive(true);
    value
}

/// Blobs may be on another host; a request that began with TLS stays on TLS. reqwest drops credentials on the
/// way to another host.
fn follow(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let secure = attempt.previous().iter().any(|url| url.scheme() == "https");
    if attempt.previous().len() > 5 {
        attempt.error("it sends us on and on")
    } else if secure && attempt.url().scheme() != "https" {
        attempt.error("it sends us from https to plain http")
    } else {
        attempt.follow()
    }
}

async fn limited(response: Response, most: usize, registry: &str) -> Result<Vec<u8>, RegistryError> {
    let registry = registry.to_owned();
    http::body(response, most).await.map_err(|error| match error {
        BodyError::TooLarge => RegistryError::Answer(registry, format!("with more than {most} bytes")),
        BodyError::Transport(reason) => RegistryError::Unreachable(registry, reason),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Challenge {
    Bearer { realm: String, service: Option<String> },
    Basic,
    None,
}

fn challenge(response: &Response) -> Challenge {
    let texts = response.headers().get_all(WWW_AUTHENTICATE);
    let mut found = Challenge::None;
    for text in texts.iter().filter_map(|value| value.to_str().ok()) {
        match parse_challenge(text) {
            bearer @ Challenge::Bearer { .. } => return bearer,
            Challenge::Basic => found = Challenge::Basic,
            Challenge::None => {}
        }
    }
    found
}

/// `Bearer realm="https://...",service="..."`. Source: RFC 9110 §11.6.1.
fn parse_challenge(text: &str) -> Challenge {
    let (scheme, parameters) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Challenge::Basic;
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Challenge::None;
    }
    let (mut realm, mut service) = (None, None);
    let mut quoted = false;
    let parts = parameters.split(|c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    for part in parts {
        if let Some((key, value)) = part.trim().split_once('=') {
            let value = value.trim().trim_matches('"').to_owned();
            match key.trim() {
                "realm" => realm = Some(value),
                "service" => service = Some(value),
                _ => {}
            }
        }
    }
    realm.map_or(Challenge::None, |realm| Challenge::Bearer { realm, service })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_understood() {
        assert_eq!(
            parse_challenge(
                r#"Bearer realm="https://auth.example/token?a=1,2",service="r",scope="repository:a:pull,push""#
            ),
            Challenge::Bearer {
                realm: "https://auth.example/token?a=1,2".into(),
                service: Some("r".into())
            }
        );
        assert_eq!(parse_challenge("Basic realm=\"x\""), Challenge::Basic);
        for text in ["", "Bearer", "Bearer service=x", "Digest realm=\"x\""] {
            assert_eq!(parse_challenge(text), Challenge::None, "{text}");
        }
    }
}
