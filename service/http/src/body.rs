//! Reads bodies and parameters; every fault is a 400 that names the field, and a body that is too large is a 413.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use muster_connections::{SharedLimiter, Turn};
use muster_ipxe::{MacAddress, MacError};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::objects::Objects;
use crate::problem::Problem;

/// Largest body of an ordinary request, bytes.
pub const ORDINARY_LIMIT: usize = 1 << 20;

/// Largest body of a step reply, bytes: the inventory of a machine with thousands of disks is below 4 MiB.
pub const REPLY_LIMIT: usize = 8 << 20;

/// Largest body of a request for a job, bytes: 20,000 hosts with a name for each.
pub const JOB_LIMIT: usize = 4 << 20;

/// Time in which a body must arrive completely, even if it makes progress: its bytes are kept in memory until then.
const TIME: Duration = Duration::from_secs(120);

/// Larger bodies, bytes, and those of unknown size are limited by [`LARGE_BODIES`].
const LARGE: u64 = 256 << 10;

/// Large bodies at once: together they take at most 256 MiB. A holder of an InfraEnv's token cannot block requests of other InfraEnvs.
static LARGE_BODIES: SharedLimiter<String> = SharedLimiter::new(32, OF_INFRA_ENV);

/// Large bodies of one InfraEnv at once.
const OF_INFRA_ENV: usize = 4;

/// Parsing, deciding and storing a large body takes a processor for tens of milliseconds.
static TURN: Turn = Turn::new();

/// Does `work` with a body of so many bytes; large ones one at a time, so that no other request waits for them.
pub async fn in_turn<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    if bytes as u64 > LARGE {
        TURN.take(work).await
    } else {
        work.await
    }
}

/// The InfraEnv that a path names, if any.
fn infra_env_of(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/infra-envs/")?;
    rest.split('/').next().map(str::to_ascii_lowercase)
}

/// A JSON body.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = required(request, state).await?;
        in_turn(bytes.len(), async { parse(&bytes).map(Body) }).await
    }
}

/// A body that is a JSON string.
#[derive(Debug)]
pub struct Text(pub String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = required(request, state).await?;
        let refused = |_| Problem::bad_request("parsing body failed: the body must be a JSON string");
        in_turn(bytes.len(), async { serde_json::from_slice(&bytes) })
            .await
            .map(Text)
            .map_err(refused)
    }
}

async fn required<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    check_content_type(request.headers())?;
    let bytes = read(request, state, &LARGE_BODIES).await?;
    if bytes.is_empty() {
        return Err(Problem::bad_request("body in body is required"));
    }
    Ok(bytes)
}

/// Reads a body within [`TIME`]; a large one takes a permit.
async fn read<S: Send + Sync>(
    request: Request,
    state: &S,
    limiter: &SharedLimiter<String>,
) -> Result<Bytes, Problem> {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let is_large =
        length.is_some_and(|length| length > LARGE) || headers.contains_key(header::TRANSFER_ENCODING);
    let full = || Problem::unavailable("too many large bodies are coming at once; try again");
    let infra_env = infra_env_of(request.uri().path());
    let _permit = match is_large {
        true => {
            let permit = limiter.acquire_within(TIME, infra_env.as_ref()).await;
            Some(permit.ok_or_else(full)?)
        }
        false => None,
    };
    let late = || Problem::bad_request(format!("the body did not come within {} s", TIME.as_secs()));
    let bytes = timeout(TIME, Bytes::from_request(request, state));
    bytes.await.map_err(|_| late())?.map_err(|rejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Problem::Framework(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is larger than this operation accepts (1 MiB; step replies 8 MiB)".into(),
            )
        } else {
            Problem::bad_request(format!("the body could not be read: {rejection}"))
        }
    })
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let media = value
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if media == "application/json" || media.ends_with("+json") {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "unsupported media type {media:?}, only \"application/json\" is accepted"
    )))
}

/// Parses JSON; the error names the path of the field.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::bad_request(
            "parsing body failed: the body must be a JSON object",
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Objects(&mut deserializer)).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.inner();
        Problem::bad_request(if path == "." {
            format!("parsing body failed: {cause}")
        } else {
            format!("parsing body failed at {path:?}: {cause}")
        })
    })?;
    deserializer
        .end()
        .map_err(|error| Problem::bad_request(format!("parsing body failed: {error}")))?;
    Ok(value)
}

/// Query parameters.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        serde_path_to_error::deserialize(serde_html_form::Deserializer::new(pairs))
            .map(Query)
            .map_err(|error| {
                let (path, cause) = (error.path().to_string(), error.inner());
                Problem::bad_request(if path == "." {
                    format!("a query parameter is not acceptable: {cause}")
                } else {
                    format!("the query parameter {path:?} is not acceptable: {cause}")
                })
            })
    }
}

/// Parses the `mac` parameter of boot scripts.
pub fn parse_mac(text: &str) -> Result<MacAddress, Problem> {
    text.parse()
        .map_err(|error: MacError| Problem::bad_request(error.to_string()))
}

/// Path parameters; anything but a UUID is a 400.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::<T>::from_request_parts(parts, state)
            .await
            .map(|path| Path(path.0))
            .map_err(|error| {
                Problem::bad_request(format!(
                    "a path parameter is not acceptable: {}",
                    error.body_text()
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use muster_api::infra_env::InfraEnvUpdateParams;

    fn message(json: &str) -> String {
        match parse::<InfraEnvUpdateParams>(json.as_bytes()) {
            Err(Problem::Framework(status, message)) => {
                assert_eq!(status, 400);
                message
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_given_up() {
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Some((Ok::<_, std::io::Error>(" "), ()))
        });
        let request = Request::post("/")
            .body(axum::body::Body::from_stream(drip))
            .unwrap();
        let limiter = SharedLimiter::new(1, 1);
        let refused = timeout(TIME * 2, read(request, &(), &limiter)).await;
        let refused = refused.expect("it ends").unwrap_err();
        assert_eq!(refused.status(), 400);
        assert!(refused.reason().contains("did not come within 120 s"));
        assert_eq!(limiter.available(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_are_read_a_few_at_a_time_and_small_ones_pass() {
        let limiter = SharedLimiter::new(1, 1);
        let held = limiter.acquire_within(TIME, None).await.unwrap();
        let request = |length: u64| {
            let request = Request::post("/").header(header::CONTENT_LENGTH, length);
            request.body(axum::body::Body::from("{}")).unwrap()
        };
        assert!(read(request(LARGE), &(), &limiter).await.is_ok());
        let refused = read(request(LARGE + 1), &(), &limiter).await.unwrap_err();
        assert_eq!(refused.status(), 503);
        drop(held);
        assert!(read(request(LARGE + 1), &(), &limiter).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_infra_env_takes_no_permits_from_others() {
        let limiter = SharedLimiter::new(32, OF_INFRA_ENV);
        let silent = || axum::body::Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let request = |id: &str, body: axum::body::Body| {
            let request = Request::post(format!("/api/infra-envs/{id}/hosts"));
            request
                .header(header::CONTENT_LENGTH, LARGE + 1)
                .body(body)
                .unwrap()
        };
        let mut held: Vec<_> = (0..40)
            .map(|_| Box::pin(read(request("A", silent()), &(), &limiter)))
            .collect();
        for body in &mut held {
            assert!(futures_util::poll!(body).is_pending());
        }
        assert_eq!(limiter.available(), 28);
        let other = read(request("b", axum::body::Body::from("{}")), &(), &limiter);
        assert!(timeout(Duration::from_secs(1), other).await.unwrap().is_ok());
    }

    #[test]
    fn every_fault_names_its_field() {
        assert!(message(r#"{"proxy":{"http_proxy":7}}"#).contains("proxy.http_proxy"));
        assert!(message(r#"{"colour":"red"}"#).contains("colour"));
        assert!(message(r#"{"image_type":"floppy"}"#).contains("image_type"));
        assert!(message(r#"{"ntp_sources":"#).contains("parsing body failed"));
        assert!(message(r#"{} trailing"#).contains("trailing"));
        assert!(message("[]").contains("object"));
        assert!(
            message(r#"{"proxy":[null,null]}"#)
                .contains("\"proxy\": invalid type: sequence, expected an object")
        );
    }
}
