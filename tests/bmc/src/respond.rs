//! From an HTTP request to an HTTP response, with the transport's faults.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::Notify;

use crate::answer::{Answer, Content, map_links};
use crate::call::Call;
use crate::faults::FaultKind;
use crate::problem::Problem;
use crate::quirks::Quirks;
use crate::service;
use crate::shared::{Order, Shared};

/// Bytes of a request's body that are read.
const BODY_LIMIT: usize = 1 << 20;

/// The connection of a request.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) reset: Notify,
    requests: AtomicU32,
}

/// Responds to a request, or resets its connection and never returns.
pub(crate) async fn respond(
    State(shared): State<Arc<Shared>>,
    Extension(link): Extension<Arc<Link>>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return plain(413, "text/plain", "The request is too large.\n");
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let method = parts.method.as_str().to_owned();
    let number = shared.record.begin(&method, path, &parts.headers, &body);
    let call = Call {
        method,
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body: body.into(),
    };
    let is_reused = link.requests.fetch_add(1, Ordering::Relaxed) > 0;
    match process(&shared, call, is_reused).await {
        Some(response) => {
            shared.record.end(number, response.status().as_u16());
            response
        }
        None => {
            link.reset.notify_one();
            std::future::pending().await
        }
    }
}

/// The response; `None`: the connection has to be reset.
async fn process(shared: &Arc<Shared>, call: Call, is_reused: bool) -> Option<Response<Body>> {
    let (fault, resets) = {
        let mut bmc = shared.bmc();
        let fault = bmc.faults.next(&call.method, &call.path);
        (fault, bmc.quirks.reset_connection && is_reused)
    };
    if resets {
        return None;
    }
    match fault {
        None => Some(perform(shared, call, None).await),
        Some(FaultKind::Slow(duration)) => {
            tokio::time::sleep(duration).await;
            Some(perform(shared, call, None).await)
        }
        Some(FaultKind::Error { status, message_id }) => {
            let problem = Problem::new(status, &message_id, "The request failed.");
            let quirks = shared.bmc().quirks.clone();
            Some(http(problem.into(), &quirks))
        }
        Some(FaultKind::Reset) => None,
        Some(FaultKind::ResetAfter) => {
            perform(shared, call, None).await;
            None
        }
        Some(FaultKind::Restart(duration)) => {
            restart(shared, duration);
            // The listener closes this connection while it refuses others.
            std::future::pending().await
        }
        Some(FaultKind::Redirect(origin)) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            let location = HeaderValue::from_str(&format!("{origin}{}", call.path));
            response.headers_mut().insert(
                header::LOCATION,
                location.expect("an origin can stand in a header"),
            );
            Some(response)
        }
        Some(FaultKind::ForeignLinks(origin)) => Some(perform(shared, call, Some(origin)).await),
        Some(FaultKind::HugeBody(bytes)) => Some(huge(bytes)),
        Some(FaultKind::Html) => Some(plain(200, "text/html", "<html><body>Log in</body></html>")),
    }
}

/// Restarts the BMC: connections are closed, and refused for this time.
pub(crate) fn restart(shared: &Shared, duration: Duration) {
    shared.bmc().restart();
    shared.order(Order::Refuse(duration));
}

/// Executes the request, in a blocking thread; links of the response point to `origin`.
async fn perform(shared: &Arc<Shared>, call: Call, origin: Option<String>) -> Response<Body> {
    let shared = Arc::clone(shared);
    let performing = tokio::task::spawn_blocking(move || {
        let mut bmc = shared.bmc();
        let mut answer = service::answer(&mut bmc, &call, Instant::now());
        if let (Content::Json(value), Some(origin)) = (&mut answer.content, origin) {
            map_links(value, &|link| format!("{origin}{link}"));
        }
        http(answer, &bmc.quirks)
    });
    match performing.await {
        Ok(response) => response,
        Err(error) => plain(500, "text/plain", &format!("the emulator failed: {error}\n")),
    }
}

fn http(answer: Answer, quirks: &Quirks) -> Response<Body> {
    let (body, kind) = match answer.content {
        Content::Nothing => (Vec::new(), None),
        Content::Json(value) => (value.to_string().into_bytes(), Some("application/json")),
        Content::Problem(problem) => {
            let (body, kind) = problem.body(quirks);
            (body, Some(kind))
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status(answer.status);
    let headers = response.headers_mut();
    headers.insert("odata-version", HeaderValue::from_static("4.0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(kind) = kind {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    for (name, value) in answer.headers {
        headers.insert(
            name,
            HeaderValue::from_str(&value).expect("own header values are ASCII"),
        );
    }
    response
}

fn plain(code: u16, kind: &'static str, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status(code);
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// So many bytes of white space, with which a JSON text may begin.
fn huge(bytes: u64) -> Response<Body> {
    const CHUNK: u64 = 1 << 16;
    let chunk = Bytes::from(vec![b' '; CHUNK as usize]);
    let chunks = (0..bytes.div_ceil(CHUNK)).map(move |_| Ok::<_, Infallible>(chunk.clone()));
    let mut response = Response::new(Body::from_stream(stream::iter(chunks)));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).expect("a status has three digits")
}
