//! Reads request bodies: JSON, YAML, or protobuf for built-in kinds.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::protobuf;
use crate::error::{ApiError, Result};
use crate::object;

/// Maximum size of a body. Source: `MaxRequestBodyBytes` of the generic API server.
pub const MAX_BYTES: usize = 3 << 20;

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Bytes read of a body that is too large, so that the client gets to read the answer.
const MAX_DRAINED: usize = 64 << 20;

/// # Errors
/// 413 when it is too large, 400 when the connection breaks.
pub async fn read(body: Body) -> Result<Bytes> {
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut size) = (BytesMut::new(), 0);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::bad_request("the body did not arrive completely"))?;
        size += chunk.len();
        if size <= MAX_BYTES {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = BytesMut::new();
        }
        if size > MAX_DRAINED {
            break;
        }
    }
    if size > MAX_BYTES {
        return Err(ApiError::too_large(MAX_BYTES));
    }
    Ok(bytes.freeze())
}

/// Parses an object in one of the accepted media types.
///
/// # Errors
/// 415 for other media types, 400 for invalid content.
pub fn parsed(media_type: &str, bytes: &[u8]) -> Result<Value> {
    let object = match media_type {
        "application/json" => json(bytes)?,
        "application/yaml" => yaml(bytes)?,
        protobuf::MEDIA_TYPE => {
            let mut object = protobuf::decode(bytes).map_err(|error| {
                ApiError::bad_request(format!("the protobuf body cannot be read: {error}"))
            })?;
            object::normalize_numbers(&mut object);
            object
        }
        _ => return Err(ApiError::unsupported_media_type(ACCEPTED)),
    };
    if !object.is_object() {
        return Err(ApiError::bad_request("the body must be an object"));
    }
    Ok(object)
}

/// # Errors
/// 400 for invalid content.
pub fn json(bytes: &[u8]) -> Result<Value> {
    let mut value: Value = serde_json::from_slice(bytes).map_err(|error| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type Object): {error}"
        ))
    })?;
    object::normalize_numbers(&mut value);
    Ok(value)
}

/// Parses YAML or JSON.
///
/// # Errors
/// 400 for invalid content.
pub fn yaml(bytes: &[u8]) -> Result<Value> {
    if let Ok(mut value) = serde_json::from_slice::<Value>(bytes) {
        object::normalize_numbers(&mut value);
        return Ok(value);
    }
    // `y` and `on` are names, too.
    let options = serde_saphyr::options! { strict_booleans: true };
    let mut value: Value = serde_saphyr::from_slice_with_options(bytes, options)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
    object::normalize_numbers(&mut value);
    Ok(value)
}
