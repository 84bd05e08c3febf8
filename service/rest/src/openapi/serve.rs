//! Returns the description of the API: written, compressed and tagged once, since it is the same for every client.

use std::io::Write as _;

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};
use utoipa::openapi::OpenApi;

/// The description, in the forms that are sent.
#[derive(Debug, Clone)]
pub struct Described {
    plain: Bytes,
    packed: Bytes,
    etag: HeaderValue,
}

impl Described {
    /// Writes the description.
    pub fn new(api: &OpenApi) -> Self {
        let plain = api.to_json().expect("the description is JSON");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain.as_bytes()).expect("memory takes it");
        let packed = encoder.finish().expect("memory takes it");
        let digest = Sha256::digest(plain.as_bytes());
        let etag = format!("\"{}\"", hex::encode(&digest[..16]));
        Self {
            plain: plain.into(),
            packed: packed.into(),
            etag: HeaderValue::from_str(&etag).expect("hexadecimal digits"),
        }
    }

    /// 304 for a client that has it, compressed for one that accepts that.
    pub fn answer(&self, asked: &HeaderMap) -> Response {
        let etag = (header::ETAG, self.etag.clone());
        let text = |name| {
            asked
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let has_it = text(header::IF_NONE_MATCH)
            .split(',')
            .any(|known| known.trim().trim_start_matches("W/").as_bytes() == self.etag.as_bytes());
        if has_it {
            return (StatusCode::NOT_MODIFIED, [etag]).into_response();
        }
        let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if takes_gzip(text(header::ACCEPT_ENCODING)) {
            let packed = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            return ([json, packed, etag], self.packed.clone()).into_response();
        }
        ([json, etag], self.plain.clone()).into_response()
    }
}

fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|one| {
        let (name, quality) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = quality.replace(' ', "").trim_start_matches("q=").parse() == Ok(0.0);
        ["gzip", "*"].contains(&name.trim()) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::openapi;

    #[test]
    fn it_is_sent_as_the_client_takes_it_and_once() {
        let described = Described::new(&openapi());
        let ask = |name, value: &'static str| {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
            let answer = described.answer(&headers);
            let encoding = answer.headers().get(header::CONTENT_ENCODING).cloned();
            (answer.status().as_u16(), encoding.is_some())
        };
        assert_eq!(ask(header::ACCEPT_ENCODING, "br, gzip;q=0.5"), (200, true));
        assert_eq!(ask(header::ACCEPT_ENCODING, "br, gzip;q=0"), (200, false));
        assert_eq!(ask(header::ACCEPT, "*/*"), (200, false));
        let etag = described.etag.clone();
        let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, etag)]);
        assert_eq!(described.answer(&headers).status(), 304);
        assert!(described.packed.len() * 4 < described.plain.len());
    }
}
