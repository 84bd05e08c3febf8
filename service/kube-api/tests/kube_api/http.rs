//! The HTTP client of these tests: requests and watches through `kube::Client`, to the API in this process or to
//! a server.

use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// The answer to a request. A body that is not JSON is a text.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

pub async fn send(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Answer {
    let answer = open(client, method, path, headers, body.into()).await;
    let (head, body) = answer.into_parts();
    let bytes = whole(body).await;
    Answer {
        status: head.status,
        headers: head.headers,
        body: serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()),
    }
}

async fn whole(mut body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        bytes.extend_from_slice(frame.unwrap().data_ref().unwrap());
    }
    assert_has_ended(&mut body).await;
    bytes
}

/// HTTP/2 polls once more after the end.
async fn assert_has_ended(body: &mut Body) {
    assert!(body.frame().await.is_none());
}

async fn open(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> http::Response<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("user-agent", "tests/1");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(body.into()).unwrap()).await.unwrap()
}

/// The events of a watch, read one by one.
pub struct Events {
    pub status: StatusCode,
    body: Body,
    rest: Vec<u8>,
}

impl Events {
    pub async fn open(client: &Client, path: &str) -> Self {
        let answer = open(client, "GET", path, &[], Vec::new()).await;
        Self {
            status: answer.status(),
            body: answer.into_body(),
            rest: Vec::new(),
        }
    }

    /// The next event; `None` at the end, also when the connection breaks in the middle of a line.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let Some(frame) = self.body.frame().await else {
                assert_has_ended(&mut self.body).await;
                return None;
            };
            let frame = frame.ok()?;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}
