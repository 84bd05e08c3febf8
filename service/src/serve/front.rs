//! Answers on the API's listener from the start: `/health` at once, all else as soon as the service is ready.
//!
//! The service may have to wait for a database and migrate it first. A liveness probe must not fail meanwhile.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use muster_http::Problem;
use tokio::sync::watch;
use tokio::time::timeout;
use tower::ServiceExt;

/// Time that a request waits for a service that is starting. Most starts take less.
const PATIENCE: Duration = Duration::from_secs(20);

/// The routes of the service, once they are known.
pub(super) type Opened = watch::Sender<Option<Router>>;

/// A router that passes requests on to the routes that are sent.
pub(super) fn front() -> (Opened, Router) {
    let (opened, service) = watch::channel(None);
    let router = Router::new().fallback(move |request: Request| answer(service.clone(), request, PATIENCE));
    (opened, router)
}

async fn answer(
    mut service: watch::Receiver<Option<Router>>,
    request: Request,
    patience: Duration,
) -> Response {
    let is_open = service.borrow().is_some();
    if !is_open && request.uri().path() == "/health" {
        return StatusCode::OK.into_response();
    }
    let routes = match timeout(patience, service.wait_for(Option::is_some)).await {
        Ok(Ok(routes)) => routes.clone(),
        Ok(Err(_)) | Err(_) => None,
    };
    match routes {
        Some(routes) => routes.oneshot(request).await.into_response(),
        None => Problem::unavailable(
            "the service is starting: it waits for its database, or brings it up to date; try again",
        )
        .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;

    use super::*;

    fn request(path: &str) -> Request {
        Request::get(path).body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn health_is_answered_while_the_rest_waits_for_the_database() {
        let (opened, router) = front();
        let health = router.clone().oneshot(request("/health")).await.unwrap();
        assert_eq!(health.status(), StatusCode::OK);
        let early = answer(opened.subscribe(), request("/x"), Duration::ZERO).await;
        assert_eq!(early.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(early.headers().contains_key("retry-after"));
        let waiting = tokio::spawn(router.clone().oneshot(request("/x")));
        opened.send_replace(Some(Router::new().route("/x", get(|| async { "there" }))));
        assert_eq!(waiting.await.unwrap().unwrap().status(), StatusCode::OK);
        let after = router.oneshot(request("/health")).await.unwrap();
        assert_eq!(
            after.status(),
            StatusCode::NOT_FOUND,
            "the service's own routes answer now"
        );
    }
}
