//! The errors of downloading an ignition. Their texts are the step's `download_error`; none quotes a secret.

use reqwest::StatusCode;

use super::LARGEST;
use crate::net::http::HttpError;

#[derive(Debug, thiserror::Error)]
pub(super) enum DownloadError {
    #[error("the URL is no http or https URL")]
    Url,
    #[error("ca_certificate is no base64: {0}")]
    Certificate(base64::DecodeError),
    #[error(transparent)]
    Client(#[from] HttpError),
    #[error("`{0}` is no header's name")]
    HeaderName(String),
    #[error("a header holds characters that cannot be sent")]
    HeaderValue,
    #[error("{0}")]
    Transport(String),
    #[error(
        "status {0}: it sends us on to another host or from TLS to plain text, where the request's headers must not go; give that URL"
    )]
    Redirect(StatusCode),
    #[error("the answer is larger than {LARGEST} bytes")]
    TooLarge,
    /// The status, and the beginning of the body.
    #[error("status {0}{1}")]
    Status(StatusCode, String),
    #[error("status {0}, and the answer is empty")]
    Empty(StatusCode),
    /// The beginning of the body.
    #[error("the answer is no JSON{0}")]
    NotJson(String),
    #[error(transparent)]
    Ignition(#[from] IgnitionError),
}

/// A body that is no ignition config of a supported version.
#[derive(Debug, thiserror::Error)]
pub enum IgnitionError {
    /// The JSON library's own text would quote the config.
    #[error(
        "the answer is no ignition config: what stands at line {line} column {column} is not what it has there"
    )]
    Misplaced { line: usize, column: usize },
    #[error("the answer is no ignition config: its version is {0}; 3.0.0 to 3.2.0 are taken")]
    Version(String),
    #[error("the answer is no ignition config: it has no version")]
    NoVersion,
    #[error("the ignition config cannot be written: {0}")]
    Write(serde_json::Error),
}
