//! Adds to a router what every listener has: request ids, 500 for panics, answers for unknown paths and methods, tolerance for `//`, and
//! that browsers take answers for nothing but their type.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, Uri, Version, header};
use tower_http::catch_panic::CatchPanicLayer;

use crate::problem::Problem;
use crate::request_id;
use crate::unread::Shared;

/// The router of a whole listener.
pub fn whole(router: Router) -> Router {
    let router = router
        .fallback(unknown_path)
        .layer(middleware::from_fn(close_after_refusal))
        .layer(CatchPanicLayer::custom(|_| Problem::internal().into_response()))
        .layer(middleware::from_fn(request_id::trace));
    // Paths are rewritten before routing, and `Allow` is known only after it, hence a router around the router.
    let whole = tower::ServiceBuilder::new()
        .layer(middleware::map_response(no_sniffing))
        .layer(middleware::from_fn(one_host))
        .layer(middleware::map_request(clean_path))
        .layer(middleware::map_response(unknown_method))
        .service(router);
    Router::new().fallback_service(whole)
}

/// A browser that guessed a type could run what a host reported as a script.
async fn no_sniffing(mut response: Response) -> Response {
    let nosniff = HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Refuses a request of HTTP/1.1 without a Host header, or with two (RFC 9112, 3.2): a proxy in front might have taken the other one.
async fn one_host(request: Request, next: Next) -> Response {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if request.version() == Version::HTTP_11 && hosts != 1 {
        let mut refused = Problem::bad_request("a request of HTTP/1.1 has one Host header").into_response();
        let close = HeaderValue::from_static("close");
        refused.headers_mut().insert(header::CONNECTION, close);
        return refused;
    }
    next.run(request).await
}

/// A refused request's body may not have been read, and then the connection ends with the answer. `Connection: close` keeps
/// the client from sending its next request into a closing connection, so that it can read the reason.
async fn close_after_refusal(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let sent = headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|length| length != "0");
    if !sent || request.version() > Version::HTTP_11 {
        return next.run(request).await;
    }
    let waits = headers.contains_key(header::EXPECT);
    let (head, body) = request.into_parts();
    let body = Shared::of(body);
    let request = Request::from_parts(head, Body::new(body.clone()));
    let mut response = next.run(request).await;
    if response.status().is_client_error() || response.status().is_server_error() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
        body.read_on(waits);
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

/// The response to a path that no route has.
pub async fn unknown_path(uri: Uri) -> Problem {
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
    // Only the body is replaced: `Allow` and the request's id are set already.
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
