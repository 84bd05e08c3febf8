//! The record of requests, for tests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use axum::http::HeaderMap;
use serde_json::Value;

/// Written in place of secrets.
const MASK: &str = "***";

/// Requests that are kept; older ones are dropped.
const KEPT: usize = 10_000;

/// A received request.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub at: SystemTime,
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header names (lower case) and values; credentials are masked.
    pub headers: Vec<(String, String)>,
    /// The body, with passwords masked; `None` if there was none, text if it was no JSON.
    pub body: Option<Value>,
    /// Status of the response; `None` while there is none, and if the connection was reset.
    pub status: Option<u16>,
}

impl Recorded {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// True for a request of that method with that end of the path.
    pub fn is(&self, method: &str, path_end: &str) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        self.method == method && path.trim_end_matches('/').ends_with(path_end)
    }

    /// True for a login at the session service.
    pub fn is_login(&self) -> bool {
        self.is("POST", "/SessionService/Sessions")
    }
}

/// The received requests, in order.
#[derive(Debug, Default)]
pub(crate) struct Record {
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    /// The number of requests that are not kept any more.
    dropped: usize,
    kept: Vec<Recorded>,
}

impl Record {
    /// Records a request; returns its number.
    pub(crate) fn begin(&self, method: &str, path: &str, headers: &HeaderMap, body: &[u8]) -> usize {
        let masked = |name: &str| matches!(name, "authorization" | "x-auth-token");
        let headers = headers.iter().map(|(name, value)| {
            let shown = if masked(name.as_str()) {
                MASK.to_owned()
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            };
            (name.as_str().to_owned(), shown)
        });
        let request = Recorded {
            at: SystemTime::now(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.collect(),
            body: shown_body(body),
            status: None,
        };
        let mut requests = self.requests();
        if requests.kept.len() >= KEPT {
            requests.kept.remove(0);
            requests.dropped += 1;
        }
        requests.kept.push(request);
        requests.dropped + requests.kept.len() - 1
    }

    /// Records the response's status.
    pub(crate) fn end(&self, number: usize, status: u16) {
        let mut requests = self.requests();
        let at = number.checked_sub(requests.dropped);
        if let Some(request) = at.and_then(|at| requests.kept.get_mut(at)) {
            request.status = Some(status);
        }
    }

    pub(crate) fn all(&self) -> Vec<Recorded> {
        self.requests().kept.clone()
    }

    pub(crate) fn forget(&self) {
        let mut requests = self.requests();
        requests.dropped += requests.kept.len();
        requests.kept.clear();
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown_body(body: &[u8]) -> Option<Value> {
    if body.is_empty() {
        return None;
    }
    let Ok(mut value) = serde_json::from_slice(body) else {
        return Some(Value::String(String::from_utf8_lossy(body).into_owned()));
    };
    mask(&mut value);
    Some(value)
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == "Password" {
                    *member = MASK.into();
                } else {
                    mask(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_request_has_no_secret_and_keeps_its_status() {
        let record = Record::default();
        let mut headers = HeaderMap::new();
        headers.insert("x-auth-token", "secret".parse().unwrap());
        headers.insert("if-match", "*".parse().unwrap());
        let body = br#"{"UserName":"admin","Oem":[{"Password":"secret"}]}"#;
        let number = record.begin("POST", "/redfish/v1/SessionService/Sessions/?a=b", &headers, body);
        record.end(number, 201);
        let [request] = record.all().try_into().unwrap();
        assert!(!format!("{request:?}").contains("secret"), "{request:?}");
        assert!(request.is_login());
        assert_eq!(
            (request.status, request.header("if-match")),
            (Some(201), Some("*"))
        );
        record.forget();
        let number = record.begin("GET", "/", &HeaderMap::new(), b"");
        record.end(number, 200);
        assert_eq!(record.all()[0].status, Some(200));
    }
}
