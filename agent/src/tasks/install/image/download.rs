//! Downloads an image as a stream, and continues where a connection ended. Source of the patience:
//! docs/protocol/install-flow.md#5.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};
use reqwest::{Client, Response, StatusCode};
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use tracing::warn;
use url::Url;

use super::error::ImageError;
use super::source::{Place, Source};
use super::stream::{Piece, Received};
use crate::client::Failure;
use crate::install::retry::Patience;
use crate::net::unanswered::why;

/// Bytes of a piece of a local file.
const FILE_PIECE: usize = 256 << 10;

/// The clients for images.
#[derive(Clone)]
pub struct Downloads {
    /// For the service, without the token.
    pub service: Client,
    pub token: (HeaderName, HeaderValue),
    /// For all other servers.
    pub elsewhere: Client,
    pub patience: Patience,
}

/// The file as the first response described it.
#[derive(Debug, Default)]
struct Known {
    /// A strong entity tag, or the time of the last change.
    validator: Option<HeaderValue>,
    length: Option<u64>,
}

/// The end of one attempt.
enum Ended {
    /// The reader is gone.
    Unwanted,
    Final(ImageError),
    Failure(Failure),
}

impl Downloads {
    /// Sends the file's bytes to `to`, and [`Piece::End`] when it is whole. `waits` gets the reason of each pause.
    ///
    /// # Errors
    /// [`ImageError`]
    pub async fn feed(
        &self,
        source: &Source,
        to: Sender<Piece>,
        received: Arc<Received>,
        waits: impl Fn(&str),
    ) -> Result<(), ImageError> {
        let fed = match &source.place {
            Place::Service(url) => self.feed_url(url, true, source, &to, &received, waits).await,
            Place::Elsewhere(url) => self.feed_url(url, false, source, &to, &received, waits).await,
            Place::File(path) => {
                let (path, to) = (path.clone(), to.clone());
                let read = tokio::task::spawn_blocking(move || feed_file(&path, &to, &received)).await;
                match read {
                    Ok(read) => read.map_err(|error| ImageError::Read {
                        place: source.place.shown(),
                        source: error,
                    }),
                    Err(error) => Err(ImageError::Broken(error.to_string())),
                }
            }
        };
        if fed.is_ok() {
            // The reader is gone if writing failed.
            let _ = to.send(Piece::End).await;
        }
        fed
    }

    async fn feed_url(
        &self,
        url: &Url,
        with_token: bool,
        source: &Source,
        to: &Sender<Piece>,
        received: &Received,
        waits: impl Fn(&str),
    ) -> Result<(), ImageError> {
        let mut known = Known::default();
        let (mut at, mut failures, mut since) = (0_u64, 0_u32, Instant::now());
        loop {
            let before = at;
            let ended = self
                .attempt(url, with_token, source, &mut known, &mut at, to, received)
                .await;
            let failure = match ended {
                Ok(()) | Err(Ended::Unwanted) => return Ok(()),
                Err(Ended::Final(error)) => return Err(error),
                Err(Ended::Failure(failure)) => failure,
            };
            if at > 0 && known.validator.is_none() && !source.has_digest() {
                let place = source.place.shown();
                return Err(ImageError::Unresumable { place, at });
            }
            if at > before {
                (failures, since) = (0, Instant::now());
            }
            failures += 1;
            let pause = self
                .patience
                .pause(&failure, failures, since, Instant::now(), rand::random());
            let Some(pause) = pause else {
                return Err(ImageError::Download {
                    place: source.place.shown(),
                    reason: format!("{} (attempt {failures}, after {at} bytes)", failure.text()),
                });
            };
            warn!(
                failures,
                at,
                "the image's download is repeated: {}",
                failure.text()
            );
            waits(&format!("waiting for the image: {}", failure.text()));
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends one request. Advances `at` as bytes are passed on.
    #[expect(clippy::too_many_arguments, reason = "the state of one download")]
    async fn attempt(
        &self,
        url: &Url,
        with_token: bool,
        source: &Source,
        known: &mut Known,
        at: &mut u64,
        to: &Sender<Piece>,
        received: &Received,
    ) -> Result<(), Ended> {
        let http = if with_token {
            &self.service
        } else {
            &self.elsewhere
        };
        let mut request = http.get(url.clone());
        if with_token {
            request = request.header(self.token.0.clone(), self.token.1.clone());
        }
        if *at > 0 {
            request = request.header(RANGE, format!("bytes={at}-"));
            if let Some(validator) = &known.validator {
                request = request.header(IF_RANGE, validator.clone());
            }
        }
        let transport = |error: reqwest::Error| Ended::Failure(Failure::Transport(why(error)));
        let mut response = request.send().await.map_err(transport)?;
        let mut skip = self.judge(&response, source, known, *at)?;
        if let Some(length) = known.length {
            received.set_total(length);
        }
        while let Some(mut piece) = response.chunk().await.map_err(transport)? {
            if skip > 0 {
                let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(piece.len());
                skip -= skipped as u64;
                piece = piece.split_off(skipped);
            }
            let length = piece.len() as u64;
            to.send(Piece::Bytes(piece)).await.map_err(|_| Ended::Unwanted)?;
            *at += length;
        }
        match known.length.or(source.size) {
            Some(length) if *at < length => Err(Ended::Failure(Failure::Transport(format!(
                "the connection ended after {at} of {length} bytes"
            )))),
            Some(expected) if *at > expected => Err(Ended::Final(ImageError::Size { found: *at, expected })),
            _ => Ok(()),
        }
    }

    /// Checks the head of a response; returns the number of bytes to skip.
    fn judge(&self, response: &Response, source: &Source, known: &mut Known, at: u64) -> Result<u64, Ended> {
        let (status, headers) = (response.status(), response.headers());
        let changed = || {
            Err(Ended::Final(ImageError::Changed {
                place: source.place.shown(),
            }))
        };
        match status {
            StatusCode::OK if at == 0 => {
                *known = Known {
                    validator: validator(headers),
                    length: response.content_length(),
                };
                match (known.length, source.size) {
                    (Some(found), Some(expected)) if found != expected => {
                        Err(Ended::Final(ImageError::Size { found, expected }))
                    }
                    _ => Ok(0),
                }
            }
            // A server without ranges sends the whole again.
            StatusCode::OK => {
                let same = known.validator.is_some() && validator(headers) == known.validator;
                if same && response.content_length() == known.length {
                    Ok(at)
                } else {
                    changed()
                }
            }
            StatusCode::PARTIAL_CONTENT if at > 0 => match content_range(headers) {
                Some((first, total))
                    if first == at
                        && total.is_none_or(|total| known.length.is_none_or(|length| length == total)) =>
                {
                    Ok(0)
                }
                _ => changed(),
            },
            StatusCode::RANGE_NOT_SATISFIABLE => changed(),
            other => Err(Ended::Failure(Failure::Status(
                other.as_u16(),
                other.canonical_reason().unwrap_or_default().to_owned(),
            ))),
        }
    }
}

/// A strong entity tag, else the time of the last change.
fn validator(headers: &HeaderMap) -> Option<HeaderValue> {
    let tag = headers.get(ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/"));
    tag.or_else(|| headers.get(LAST_MODIFIED)).cloned()
}

/// First byte and whole length of `bytes 5-9/10`.
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.trim().parse().ok()?, total.parse().ok()))
}

fn feed_file(path: &std::path::Path, to: &Sender<Piece>, received: &Received) -> std::io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    received.set_total(file.metadata()?.len());
    loop {
        let mut piece = vec![0; FILE_PIECE];
        let length = file.read(&mut piece)?;
        piece.truncate(length);
        if length == 0 || to.blocking_send(Piece::Bytes(Bytes::from(piece))).is_err() {
            return Ok(());
        }
    }
}

/// A server without data for this long is gone.
pub const READ_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_an_answer_is_parsed() {
        let of = |text: &'static str| {
            content_range(&HeaderMap::from_iter([(
                CONTENT_RANGE,
                HeaderValue::from_static(text),
            )]))
        };
        assert_eq!(of("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(of("bytes 5-9/*"), Some((5, None)));
        assert_eq!(of("bytes */10"), None);
        assert_eq!(of("items 1-2/3"), None);
    }

    #[test]
    fn a_weak_tag_proves_nothing() {
        let headers = |tag: &'static str| {
            HeaderMap::from_iter([
                (ETAG, HeaderValue::from_static(tag)),
                (
                    LAST_MODIFIED,
                    HeaderValue::from_static("Sun, 22 Nov 2026 07:00:00 GMT"),
                ),
            ])
        };
        assert_eq!(validator(&headers("\"a\"")).unwrap(), "\"a\"");
        assert_eq!(
            validator(&headers("W/\"a\"")).unwrap(),
            "Sun, 22 Nov 2026 07:00:00 GMT"
        );
    }
}
