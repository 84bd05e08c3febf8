//! A request as handlers see it.

use axum::http::HeaderMap;
use serde_json::{Map, Value};

use crate::problem::Problem;

pub(crate) struct Call {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Call {
    /// The parts of the path that are not empty.
    pub(crate) fn segments(&self) -> Vec<&str> {
        self.path.split('/').filter(|part| !part.is_empty()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body, a JSON object; a missing body is an empty one.
    pub(crate) fn object(&self) -> Result<Map<String, Value>, Problem> {
        if self.body.is_empty() {
            return Ok(Map::new());
        }
        let is_json = self
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("application/json"));
        if !is_json {
            let message = "The request's Content-Type is not application/json.";
            return Err(Problem::new(415, "UnsupportedMediaType", message));
        }
        serde_json::from_slice(&self.body).map_err(|_| Problem::malformed())
    }
}
