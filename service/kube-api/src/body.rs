//! Bodies of requests: JSON, YAML, or the protobuf form of built-in kinds.

use axum::body::Body;
use bytes::Bytes;
use serde_json::Value;

use crate::error::{ApiError, Result};
use crate::protobuf;

/// Bytes of a body. Source: `MaxRequestBodyBytes` of the generic API server.
pub const MOST_BYTES: usize = 3 << 20;

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads a body.
///
/// # Errors
/// 413 when it is too large, 400 when the connection breaks.
pub async fn read(body: Body) -> Result<Bytes> {
    axum::body::to_bytes(body, MOST_BYTES).await.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = cause {
            if error.to_string().contains("length limit exceeded") {
                return ApiError::too_large(MOST_BYTES);
            }
            cause = error.source();
        }
        ApiError::bad_request("the body did not arrive completely")
    })
}

/// An object in one of the forms.
///
/// # Errors
/// 415 for another form, 400 for what cannot be read.
pub fn object(media_type: &str, bytes: &[u8]) -> Result<Value> {
    let object = match media_type {
        "application/json" => json(bytes)?,
        "application/yaml" => yaml(bytes)?,
        protobuf::MEDIA_TYPE => protobuf::decode(bytes)
            .map_err(|why| ApiError::bad_request(format!("the protobuf body cannot be read: {why}")))?,
        _ => return Err(ApiError::unsupported_media_type(ACCEPTED)),
    };
    if !object.is_object() {
        return Err(ApiError::bad_request("the body must be an object"));
    }
    Ok(object)
}

/// JSON.
///
/// # Errors
/// 400 for what cannot be read.
pub fn json(bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|error| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type Object): {error}"
        ))
    })
}

/// YAML, which JSON is a form of.
///
/// # Errors
/// 400 for what cannot be read.
pub fn yaml(bytes: &[u8]) -> Result<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    // `y` and `on` are names, too.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_slice_with_options(bytes, options)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}
