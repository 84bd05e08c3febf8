//! Continue tokens of paged lists.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::{ApiError, Result};
use crate::storage::Revision;

/// The position at which the next page begins. Opaque to clients.
#[derive(Debug, Serialize, Deserialize)]
pub struct Continuation {
    /// The revision of the first page.
    pub rv: Revision,
    /// Namespace and name of the last object of the page before.
    pub after: (String, String),
    /// The number of objects that follow, if known.
    pub left: Option<usize>,
}

impl Continuation {
    pub fn encode(&self) -> String {
        let json = serde_json::to_vec(self).expect("numbers and texts can be written as JSON");
        URL_SAFE_NO_PAD.encode(json)
    }

    /// # Errors
    /// 400 for a token that no list returned.
    pub fn decode(token: &str) -> Result<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok();
        let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it must be what a list answered")
        })
    }
}
