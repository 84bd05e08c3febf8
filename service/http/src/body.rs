//! Reads bodies and parameters; every fault is a 400 that names the field, and a body without measure a 413.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use muster_ipxe::{MacAddress, MacError};
use serde::de::DeserializeOwned;

use crate::objects::Objects;
use crate::problem::Problem;

/// Largest body of an ordinary request, bytes.
pub const ORDINARY_LIMIT: usize = 1 << 20;

/// Largest body of a step reply, bytes: the inventory of a machine with thousands of disks is below 4 MiB.
pub const REPLY_LIMIT: usize = 8 << 20;

/// A JSON body.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        check_content_type(request.headers())?;
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Problem::Framework(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the body is larger than this operation accepts (1 MiB; step replies 8 MiB)".into(),
                )
            } else {
                Problem::bad_request(format!("the body could not be read: {rejection}"))
            }
        })?;
        if bytes.is_empty() {
            return Err(Problem::bad_request("body in body is required"));
        }
        parse(&bytes).map(Body)
    }
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

/// Path parameters; what is no UUID is a 400.
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
