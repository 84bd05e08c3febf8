//! A small registry with the distribution protocol: tokens, an index, manifests, blobs, blobs kept elsewhere.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub const USER: &str = "puller";
pub const PASSWORD: &str = "pull-me-if-you-can";
const BEARER: &str = "the-registrys-own-token";

/// Content and behaviour of the registry. Clones share them.
#[derive(Clone, Default)]
pub struct FakeRegistry(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// `repository:version`
    manifests: HashMap<String, (String, Vec<u8>)>,
    blobs: HashMap<String, Vec<u8>>,
    /// Base URL of this registry, for its token service; without it, requests need no authentication.
    realm: Option<String>,
    /// Base URL of where blobs are.
    elsewhere: Option<String>,
    silent: bool,
    seen: Vec<Seen>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub authorization: Option<String>,
}

pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

impl FakeRegistry {
    /// Puts an image for linux on amd64 and arm64 under a tag; returns the digests of the amd64 image's blobs, its
    /// configuration first.
    pub fn image(&self, repository: &str, tag: &str, layers: &[&[u8]]) -> Vec<String> {
        let mut inner = self.0.lock().unwrap();
        let mut entries = Vec::new();
        let mut ours = Vec::new();
        for architecture in ["arm64", "amd64"] {
            let config = json!({"architecture": architecture, "os": "linux"})
                .to_string()
                .into_bytes();
            let mut digests = vec![digest(&config)];
            inner.blobs.insert(digest(&config), config.clone());
            let layers: Vec<Value> = layers
                .iter()
                .map(|layer| {
                    let bytes = [architecture.as_bytes(), layer].concat();
                    let one = json!({"digest": digest(&bytes), "size": bytes.len(),
                        "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"});
                    digests.push(digest(&bytes));
                    inner.blobs.insert(digest(&bytes), bytes);
                    one
                })
                .collect();
            let manifest =
                json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": {"digest": digest(&config), "size": config.len()}, "layers": layers})
                .to_string()
                .into_bytes();
            entries.push(json!({"digest": digest(&manifest), "size": manifest.len(),
                "platform": {"os": "linux", "architecture": architecture}}));
            let kind = "application/vnd.oci.image.manifest.v1+json".to_owned();
            inner
                .manifests
                .insert(format!("{repository}:{}", digest(&manifest)), (kind, manifest));
            ours = digests;
        }
        let index = json!({"schemaVersion": 2, "manifests": entries})
            .to_string()
            .into_bytes();
        let kind = "application/vnd.oci.image.index.v1+json".to_owned();
        inner
            .manifests
            .insert(format!("{repository}:{tag}"), (kind, index));
        ours
    }

    pub fn lose(&self, digest: &str) {
        self.0.lock().unwrap().blobs.remove(digest).unwrap();
    }

    pub fn spoil(&self, digest: &str) {
        let mut inner = self.0.lock().unwrap();
        inner.blobs.get_mut(digest).unwrap()[0] ^= 1;
    }

    /// From now on every request needs a token of `<base>/token`.
    pub fn ask_for_tokens(&self, base: &str) {
        self.0.lock().unwrap().realm = Some(base.to_owned());
    }

    pub fn keep_blobs_at(&self, base: &str) {
        self.0.lock().unwrap().elsewhere = Some(base.to_owned());
    }

    pub fn say_nothing(&self) {
        self.0.lock().unwrap().silent = true;
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.0.lock().unwrap().seen.clone()
    }

    pub fn blob(&self, digest: &str) -> Vec<u8> {
        self.0.lock().unwrap().blobs[digest].clone()
    }

    pub fn routes(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }
}

async fn answer(State(registry): State<FakeRegistry>, request: Request) -> Response {
    let authorization = request
        .headers()
        .get(header::AUTHORIZATION)
        .map(|value| value.to_str().unwrap().to_owned());
    let path = request.uri().path().to_owned();
    let silent = {
        let mut inner = registry.0.lock().unwrap();
        inner.seen.push(Seen {
            line: format!("{} {}", request.method(), request.uri()),
            authorization: authorization.clone(),
        });
        inner.silent
    };
    if silent {
        std::future::pending::<()>().await;
    }
    let inner = registry.0.lock().unwrap();
    if path == "/token" {
        return token(&request, authorization.as_deref());
    }
    if let Some(realm) = &inner.realm
        && authorization.as_deref() != Some(&format!("Bearer {BEARER}"))
    {
        let challenge = format!("Bearer realm=\"{realm}/token\",service=\"the registry\"");
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    let Some(rest) = path.strip_prefix("/v2/") else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if let Some((repository, version)) = rest.split_once("/manifests/") {
        return match inner.manifests.get(&format!("{repository}:{version}")) {
            Some((kind, body)) => ([(header::CONTENT_TYPE, kind.clone())], body.clone()).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let Some((_, digest)) = rest.split_once("/blobs/") else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match (&inner.elsewhere, inner.blobs.get(digest)) {
        (_, None) => StatusCode::NOT_FOUND.into_response(),
        (Some(base), Some(_)) => Redirect::temporary(&format!("{base}/v2/x/blobs/{digest}")).into_response(),
        (None, Some(bytes)) if request.method() == Method::HEAD => {
            ([(header::CONTENT_LENGTH, bytes.len())], Body::empty()).into_response()
        }
        (None, Some(bytes)) => bytes.clone().into_response(),
    }
}

fn token(request: &Request, authorization: Option<&str>) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let good = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
    let asked = query.contains("scope=repository%3A") && query.contains("service=the+registry");
    if authorization == Some(&good) && asked {
        axum::Json(json!({"token": BEARER, "expires_in": 300})).into_response()
    } else {
        (StatusCode::UNAUTHORIZED, "who are you?").into_response()
    }
}
