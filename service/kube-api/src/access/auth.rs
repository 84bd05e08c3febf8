//! Authenticates requests from outside the process by token or client certificate, and lets administrators
//! pass.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, header};
use sha2::{Digest as _, Sha256};

use crate::error::{ApiError, Subject};
use crate::request::{Caller, Target, VIEWERS};

/// Paths that need no authentication: they show nothing of objects.
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// Bearer tokens and their users. Only the digests of tokens are in memory.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Vec<([u8; 32], Caller)>);

impl Tokens {
    #[must_use]
    pub fn with(mut self, token: &str, caller: Caller) -> Self {
        self.0.push((Sha256::digest(token).into(), caller));
        self
    }

    fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        // Digests are compared so that the time it takes reveals nothing of the token.
        let digest: [u8; 32] = Sha256::digest(token.trim()).into();
        self.0
            .iter()
            .find(|(known, _)| *known == digest)
            .map(|(_, caller)| caller.clone())
    }
}

/// Lets only administrators pass. An `Option<Caller>` in the extensions, which the listener takes from a
/// certificate, counts before a token.
pub fn guarded(router: Router, tokens: Tokens) -> Router {
    router.layer(middleware::from_fn_with_state(Arc::new(tokens), guard))
}

/// True when a viewer may send the request.
pub fn may_view(method: &Method, path: &str) -> bool {
    let target = Target::parse(path);
    let resource = target
        .as_ref()
        .map(|target| (target.group.as_str(), target.plural.as_str()));
    match *method {
        Method::GET | Method::HEAD => resource != Some(("", "secrets")),
        // Questions about oneself.
        Method::POST => matches!(
            resource,
            Some(
                (
                    "authorization.k8s.io",
                    "selfsubjectaccessreviews" | "selfsubjectrulesreviews"
                ) | ("authentication.k8s.io", "selfsubjectreviews")
            )
        ),
        _ => false,
    }
}

fn is_allowed(caller: &Caller, request: &Request) -> bool {
    let is_viewer = || caller.groups.iter().any(|group| group == VIEWERS);
    caller.is_master() || (is_viewer() && may_view(request.method(), request.uri().path()))
}

/// The user that a client wants to impersonate (`kubectl --as`), if it does.
fn impersonated(headers: &HeaderMap) -> Option<String> {
    let impersonates = headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"));
    let user = headers.get("impersonate-user").map(|user| user.as_bytes());
    impersonates.then(|| String::from_utf8_lossy(user.unwrap_or_default()).into_owned())
}

async fn guard(State(tokens): State<Arc<Tokens>>, mut request: Request, next: Next) -> Response {
    if OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let known = request.extensions_mut().remove::<Option<Caller>>().flatten();
    let Some(caller) = known.or_else(|| tokens.caller(request.headers())) else {
        return ApiError::unauthorized().into_response();
    };
    if !is_allowed(&caller, &request) {
        return ApiError::not_allowed(&caller.name, request.method().as_str(), request.uri().path())
            .into_response();
    }
    // If the headers were ignored, a client would get more rights than it requested.
    if let Some(user) = impersonated(request.headers()) {
        let users = Subject {
            group: "",
            word: "users",
        };
        return ApiError::forbidden(users, &user, "this server does not offer impersonation").into_response();
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;

    async fn status(path: &str, authorization: Option<&str>) -> u16 {
        asked(path, authorization, &[]).await.0
    }

    /// Status and body: the caller's name, or a message.
    async fn asked(path: &str, authorization: Option<&str>, more: &[(&str, &str)]) -> (u16, String) {
        let stranger = Caller {
            name: "stranger".into(),
            uid: String::new(),
            groups: vec!["others".into()],
        };
        let tokens = Tokens::default()
            .with("secret", Caller::administrator())
            .with("other", stranger);
        let name = async |caller: Option<axum::Extension<Caller>>| {
            caller.map(|caller| caller.0.name).unwrap_or_default()
        };
        let router = guarded(Router::new().fallback(get(name)), tokens);
        let mut request = Request::get(path).body(Body::empty()).unwrap();
        if let Some(value) = authorization {
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, value.parse().unwrap());
        }
        for (name, value) in more {
            let name: header::HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        let answer = router.oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX)
            .await
            .unwrap();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn impersonation_is_refused() {
        let secret = Some("Bearer secret");
        let (name, group) = (
            ("impersonate-user", "jane"),
            ("impersonate-group", "system:masters"),
        );
        assert_eq!(asked("/api", secret, &[name]).await.0, 403);
        assert_eq!(asked("/api", secret, &[("impersonate-group", "x")]).await.0, 403);
        assert_eq!(asked("/api", secret, &[name, group]).await.0, 403);
        assert_eq!(asked("/api", Some("Bearer other"), &[name, group]).await.0, 403);
    }

    #[test]
    fn viewers_read_all_but_secrets() {
        let (get, post) = (Method::GET, Method::POST);
        for path in [
            "/api",
            "/apis/agent-install.openshift.io/v1beta1/agents",
            "/api/v1/namespaces/secrets",
            "/openapi/v2",
        ] {
            assert!(may_view(&get, path), "{path}");
        }
        for path in [
            "/api/v1/secrets",
            "/api/v1/namespaces/n/secrets",
            "/api/v1/namespaces/n/secrets/s",
            "/api/v1/namespaces/n/%73ecrets",
        ] {
            assert!(!may_view(&get, path), "{path}");
        }
        assert!(may_view(
            &post,
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        ));
        assert!(!may_view(
            &post,
            "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        ));
        assert!(!may_view(&post, "/api/v1/namespaces"));
        assert!(!may_view(&Method::DELETE, "/api/v1/namespaces/n"));
    }

    #[tokio::test]
    async fn only_masters_pass_and_health_is_open() {
        assert_eq!(status("/api", Some("Bearer secret")).await, 200);
        assert_eq!(status("/api", Some("bearer secret")).await, 200);
        assert_eq!(status("/api", Some("Bearer other")).await, 403);
        assert_eq!(status("/api", Some("Bearer wrong")).await, 401);
        assert_eq!(status("/api", Some("Basic secret")).await, 401);
        assert_eq!(status("/api", None).await, 401);
        assert_eq!(status("/readyz", None).await, 200);
    }
}
