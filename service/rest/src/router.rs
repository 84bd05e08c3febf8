//! Routes requests to operations, each group of them behind its gate, and serves their description.

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, HeaderValue, header};
use muster_api::{BASE_PATH, MUSTER_PATH};
use muster_http::body::ORDINARY_LIMIT;
use muster_http::gate::{self, Gate, require};
use muster_http::listener::unknown_path;
use muster_http::{Allowed, Problem};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::timeout::RequestBodyTimeoutLayer;
use utoipa::openapi::{InfoBuilder, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::openapi::serve::Described;
use crate::openapi::shared;
use crate::openapi::shared::operation_ids;
use crate::openapi::statuses::declared_only;
use crate::state::Rest;
use crate::support::{operators, versions};
use crate::{
    audit, bmcs, changes, clusters, events, hosts, infra_envs, jobs, links, logs, node_pools, search,
    service, sessions, status, support, tokens, troubles,
};

/// A body without data for so long is given up (400): other clients need the connection.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Responses above this many bytes are compressed for clients that accept it.
const COMPRESS_ABOVE: u64 = 1400;

/// The callers that have operations of the protocol.
const OF_PROTOCOL: [Allowed; 5] = [
    Allowed::User,
    Allowed::Agent,
    Allowed::UserOrAgent,
    Allowed::UserOrUrl,
    Allowed::All,
];

/// The callers that have operations outside the protocol.
const OF_ADDITIONS: [Allowed; 4] = [Allowed::User, Allowed::Scoped, Allowed::Session, Allowed::Agent];

/// The operations of these callers, each group behind its gate.
fn operations(
    gate: Option<&Gate>,
    callers: &[Allowed],
    group: fn(Allowed) -> OpenApiRouter<Rest>,
) -> OpenApiRouter<Rest> {
    let groups = callers
        .iter()
        .map(|&allowed| behind(gate, allowed, group(allowed)));
    groups.fold(OpenApiRouter::new(), OpenApiRouter::merge)
}

/// The operations of all paths.
fn everything(gate: Option<&Gate>) -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .nest(BASE_PATH, operations(gate, &OF_PROTOCOL, group))
        .nest(
            MUSTER_PATH,
            operations(gate, &OF_ADDITIONS, additions).merge(sign_in(gate)),
        )
}

/// The operations of these callers that are outside the protocol.
fn additions(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = logs::asked_routes(allowed);
    match allowed {
        Allowed::User => routes
            .merge(audit::routes())
            .merge(bmcs::routes())
            .merge(hosts::additions())
            .merge(infra_envs::additions())
            .merge(node_pools::routes())
            .merge(service::routes())
            .merge(tokens::routes()),
        Allowed::Scoped => routes
            .merge(bmcs::scoped_routes())
            .merge(changes::routes())
            .merge(events::additions())
            .merge(links::routes())
            .merge(search::routes())
            .merge(troubles::routes())
            .merge(jobs::routes())
            .merge(hosts::scoped_additions()),
        Allowed::Session => routes.merge(sessions::routes()),
        Allowed::Agent | Allowed::UserOrAgent | Allowed::UserOrUrl | Allowed::All => routes,
    }
}

/// The operation by which an operator signs in, behind a gate of its own.
fn sign_in(gate: Option<&Gate>) -> OpenApiRouter<Rest> {
    let mut routes = sessions::sign_in_route();
    shared::behind_gate(routes.get_openapi_mut(), Allowed::Session);
    match gate {
        Some(gate) => routes.route_layer(middleware::from_fn_with_state(gate.clone(), gate::sign_in)),
        None => routes,
    }
}

fn behind(gate: Option<&Gate>, allowed: Allowed, mut routes: OpenApiRouter<Rest>) -> OpenApiRouter<Rest> {
    shared::behind_gate(routes.get_openapi_mut(), allowed);
    match gate {
        Some(gate) => routes
            .route_layer(middleware::from_fn_with_state((gate.clone(), allowed), require))
            .route_layer(middleware::from_fn(declared_only)),
        None => routes,
    }
}

/// The operations of the protocol of these callers.
fn group(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = infra_envs::routes(allowed)
        .merge(hosts::routes(allowed))
        .merge(clusters::routes(allowed))
        .merge(events::routes(allowed))
        .merge(logs::routes(allowed));
    match allowed {
        Allowed::User => routes
            .merge(versions::routes())
            .merge(operators::routes())
            .merge(support::routes()),
        Allowed::Scoped
        | Allowed::Session
        | Allowed::Agent
        | Allowed::UserOrAgent
        | Allowed::UserOrUrl
        | Allowed::All => routes,
    }
}

/// The description of the API, made from its types.
pub fn openapi() -> OpenApi {
    let mut api = everything(None).into_openapi();
    shared::complete(&mut api);
    api.info = InfoBuilder::new()
        .title("Muster")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Discovery of bare-metal hosts: the assisted-installer v2 protocol.",
        ))
        .build();
    api
}

/// The routes of the API listener, without images.
pub fn api(rest: Rest) -> Router {
    let document = openapi();
    let gate = Gate::of(&rest.operations).with_operation_ids(operation_ids(&document));
    let (operations, _) = everything(Some(&gate)).split_for_parts();
    let description = Described::new(&document);
    let described = move |headers: HeaderMap| {
        let answer = description.answer(&headers);
        async move { answer }
    };
    // A list of a thousand hosts is compressed for each client: speed before size. Of a stream each part is sent when it is there.
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(COMPRESS_ABOVE).and(NotForContentType::SSE));
    operations
        .route("/api/assisted-install/openapi", get(described.clone()))
        .route("/api/assisted-install/v2/openapi", get(described.clone()))
        .route("/openapi.json", get(described))
        .route("/", get(status::front_page))
        .merge(readiness())
        .layer(DefaultBodyLimit::max(ORDINARY_LIMIT))
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT))
        .layer(compression)
        .layer(middleware::map_response(vary))
        .route("/health", get(status::health))
        .with_state(rest)
}

/// `/metrics`.
pub fn metrics(rest: Rest) -> Router {
    Router::new()
        .route("/metrics", get(status::metrics))
        .with_state(rest)
}

/// `/health` and `/ready`, for a listener of their own.
pub fn probes(rest: Rest) -> Router {
    readiness().route("/health", get(status::health)).with_state(rest)
}

fn readiness() -> Router<Rest> {
    Router::new().route("/ready", get(status::ready))
}

/// The one operation of the boot listener: `downloads/files` with an iPXE script.
pub fn boot_script(rest: Rest) -> Router {
    let gate = Gate::of(&rest.operations);
    let script = OpenApiRouter::new()
        .routes(infra_envs::files_route())
        .route_layer(middleware::from_fn_with_state((gate, Allowed::All), require))
        .route_layer(middleware::from_fn(ipxe_script_only));
    let (script, _) = OpenApiRouter::new().nest(BASE_PATH, script).split_for_parts();
    script.with_state(rest)
}

async fn vary(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(header::VARY)
        .or_insert(HeaderValue::from_static("accept-encoding"));
    response
}

/// Refuses other files than the script: the ignition holds a pull secret and needs TLS, which the boot listener lacks.
async fn ipxe_script_only(request: Request, next: Next) -> Result<Response, Problem> {
    let mut pairs = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    if pairs.any(|(name, value)| name == "file_name" && value == "ipxe-script") {
        return Ok(next.run(request).await);
    }
    Err(unknown_path(request.uri().clone()).await)
}
