//! Every route of the API listener, and what stands around all of them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderValue, StatusCode, Uri, Version, header};
use muster_api::BASE_PATH;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;
use tower_http::timeout::RequestBodyTimeoutLayer;
use utoipa::openapi::{InfoBuilder, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use super::body::ORDINARY_LIMIT;
use super::problem::Problem;
use super::{
    clusters, description, events, hosts, infra_envs, logs, operators, request_id, status, support, versions,
};
use crate::app::App;
use crate::boot;
use crate::http::gate::{Allowed, require};

/// A body that brings nothing for so long is given up (400): its connection is wanted by others.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers above this many bytes are compressed for clients that can read it.
const COMPRESS_ABOVE: u64 = 1400;

/// All operations of the protocol, each group behind its gate.
fn operations(app: Option<&Arc<App>>) -> OpenApiRouter<Arc<App>> {
    let guarded = |mut routes: OpenApiRouter<Arc<App>>, allowed: Allowed| {
        description::behind_gate(routes.get_openapi_mut(), allowed);
        match app {
            Some(app) => routes.route_layer(middleware::from_fn_with_state((app.clone(), allowed), require)),
            None => routes,
        }
    };
    let people = infra_envs::user_routes()
        .merge(hosts::user_routes())
        .merge(versions::routes())
        .merge(operators::routes())
        .merge(support::routes())
        .merge(clusters::user_routes());
    OpenApiRouter::new()
        .merge(guarded(people, Allowed::USER))
        .merge(guarded(
            infra_envs::shared_routes().merge(clusters::open_routes()),
            Allowed::ALL,
        ))
        .merge(guarded(
            infra_envs::url_routes()
                .merge(events::routes())
                .merge(logs::url_routes()),
            Allowed::USER_OR_URL,
        ))
        .merge(guarded(
            hosts::shared_routes().merge(clusters::shared_routes()),
            Allowed::USER_OR_AGENT,
        ))
        .merge(guarded(
            hosts::agent_routes()
                .merge(events::agent_routes())
                .merge(clusters::agent_routes())
                .merge(logs::agent_routes()),
            Allowed::AGENT,
        ))
}

/// The description of the API, made from its types.
pub fn openapi() -> OpenApi {
    let mut api = OpenApiRouter::new()
        .nest(BASE_PATH, operations(None))
        .into_openapi();
    description::complete(&mut api);
    api.info = InfoBuilder::new()
        .title("Muster")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Discovery of bare-metal hosts: the assisted-installer v2 protocol.",
        ))
        .build();
    api
}

/// The API listener.
pub fn api(app: Arc<App>) -> Router {
    let (rest, _) = OpenApiRouter::new()
        .nest(BASE_PATH, operations(Some(&app)))
        .split_for_parts();
    let description = Arc::new(openapi());
    let described = move || {
        let description = description.clone();
        async move { Json(description.as_ref().clone()) }
    };
    let rest = rest
        .route("/api/assisted-install/openapi", get(described.clone()))
        .route("/api/assisted-install/v2/openapi", get(described))
        .route("/ready", get(status::ready))
        .route("/metrics", get(status::metrics))
        .layer(DefaultBodyLimit::max(ORDINARY_LIMIT))
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT))
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(COMPRESS_ABOVE)))
        .layer(middleware::map_response(vary));
    around(
        rest.route("/health", get(status::health))
            .merge(boot::routes())
            .with_state(app),
    )
}

/// The boot listener: plain HTTP, boot artifacts, nothing else.
pub fn boot_only(app: Arc<App>) -> Router {
    let script = OpenApiRouter::new()
        .routes(infra_envs::files_route())
        .route_layer(middleware::from_fn_with_state(
            (app.clone(), Allowed::ALL),
            require,
        ))
        .route_layer(middleware::from_fn(ipxe_script_only));
    let (script, _) = OpenApiRouter::new().nest(BASE_PATH, script).split_for_parts();
    around(boot::routes().merge(script).with_state(app))
}

/// What every listener has: ids, panics as 500, words for unknown paths and methods, tolerance for `//`.
fn around(router: Router) -> Router {
    let router = router
        .fallback(unknown_path)
        .layer(middleware::from_fn(close_after_refusal))
        .layer(CatchPanicLayer::custom(|_| Problem::internal().into_response()))
        .layer(middleware::from_fn(request_id::trace));
    // Paths are rewritten before routing, and `Allow` is known only after it, hence a router around the router.
    let whole = tower::ServiceBuilder::new()
        .layer(middleware::map_request(clean_path))
        .layer(middleware::map_response(unknown_method))
        .service(router);
    Router::new().fallback_service(whole)
}

/// A refused request's body may not have been read, and then the connection ends with the answer. The client is told,
/// so that it does not send its next request into a closing connection.
async fn close_after_refusal(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let sent = headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|length| length != "0");
    let tells = sent && request.version() <= Version::HTTP_11;
    let mut response = next.run(request).await;
    let refused = response.status().is_client_error() || response.status().is_server_error();
    if tells && refused {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn clean_path(mut request: Request) -> Request {
    let uri = request.uri();
    if uri.path().contains("//") {
        let path = uri
            .path()
            .split('/')
            .filter(|segment| !segment.is_empty())
            .fold(String::new(), |path, segment| path + "/" + segment);
        let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
        if let Ok(cleaned) = format!("{path}{query}").parse::<Uri>() {
            *request.uri_mut() = cleaned;
        }
    }
    request
}

async fn unknown_path(uri: Uri) -> Problem {
    Problem::Framework(
        StatusCode::NOT_FOUND,
        format!("path {} was not found", uri.path()),
    )
}

async fn unknown_method(response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED
        || response.headers().contains_key(header::CONTENT_TYPE)
    {
        return response;
    }
    // Only the body is ours to make: `Allow` and the request's id are there already.
    let (mut head, _) = response.into_parts();
    let allow = head.headers.get(header::ALLOW);
    let methods = allow.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let message = format!("this method is not allowed, but [{methods}] are");
    let (words, body) = Problem::Framework(StatusCode::METHOD_NOT_ALLOWED, message)
        .into_response()
        .into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.extend(words.headers);
    Response::from_parts(head, body)
}

async fn vary(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(header::VARY)
        .or_insert(HeaderValue::from_static("accept-encoding"));
    response
}

/// The ignition holds a pull secret: the boot listener gives the script and keeps the rest for TLS.
async fn ipxe_script_only(request: Request, next: Next) -> Result<Response, Problem> {
    let mut pairs = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    if pairs.any(|(name, value)| name == "file_name" && value == "ipxe-script") {
        return Ok(next.run(request).await);
    }
    Err(unknown_path(request.uri().clone()).await)
}
