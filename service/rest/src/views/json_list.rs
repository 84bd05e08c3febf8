//! Returns JSON lists as their entries are read, so that a list of any length needs the memory of one part.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use http::header;
use muster_http::Problem;
use muster_operations::chain;
use muster_operations::records::StoreError;
use serde::Serialize;

/// The list as a response.
///
/// # Errors
/// Fails if the first part does.
pub async fn answer<T: Serialize + Send + 'static>(
    parts: impl Stream<Item = Result<Vec<T>, StoreError>> + Send + 'static,
) -> Result<Response, Problem> {
    whole("[", entries(parts), "]").await
}

/// The response of `texts` between `before` and `after`. The first text is read before the response begins, so that a database that is
/// away is a 503. A later failure ends the connection, which the client notices.
///
/// # Errors
/// Fails if the first text does.
pub async fn whole(
    before: &'static str,
    texts: impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static,
    after: &'static str,
) -> Result<Response, Problem> {
    let mut texts = texts.boxed();
    let first = texts.next().await.transpose()?.unwrap_or_default();
    let texts = stream::once(async { Ok(first) })
        .chain(texts)
        .inspect_err(|error| tracing::warn!(error = %chain(error), "a list ends in the middle"));
    let fixed = |text: &'static str| stream::once(async move { Ok(Bytes::from_static(text.as_bytes())) });
    let body = Body::from_stream(fixed(before).chain(texts).chain(fixed(after)));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The entries of a list, without its brackets.
pub fn entries<T: Serialize + Send + 'static>(
    parts: impl Stream<Item = Result<Vec<T>, StoreError>> + Send + 'static,
) -> impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static {
    let mut has_entries = false;
    parts.map(move |part| text(&part?, &mut has_entries))
}

/// The entries of a part; `has_entries`: the list has earlier ones.
fn text<T: Serialize>(part: &[T], has_entries: &mut bool) -> Result<Bytes, StoreError> {
    let mut text = Vec::new();
    for entry in part {
        if *has_entries {
            text.push(b',');
        }
        *has_entries = true;
        serde_json::to_writer(&mut text, entry).map_err(unwritable)?;
    }
    Ok(text.into())
}

/// The error of an entry that cannot be written as JSON.
pub fn unwritable(source: serde_json::Error) -> StoreError {
    StoreError::Encode {
        table: "a list",
        column: "entry",
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> StoreError {
        StoreError::Address {
            reason: "made up".into(),
        }
    }

    async fn told(parts: Vec<Result<Vec<u32>, StoreError>>) -> Result<String, axum::Error> {
        let answer = answer(stream::iter(parts)).await.unwrap();
        let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await?;
        Ok(String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn parts_make_one_list_whatever_is_in_them() {
        assert_eq!(told(Vec::new()).await.unwrap(), "[]");
        let parts = [vec![], vec![1, 2], vec![], vec![3], vec![]];
        assert_eq!(
            told(parts.into_iter().map(Ok).collect()).await.unwrap(),
            "[1,2,3]"
        );
    }

    #[tokio::test]
    async fn a_failure_is_refused_before_the_list_begins_and_ends_it_later() {
        let refused = answer(stream::iter([Err::<Vec<u32>, _>(failure())])).await;
        assert!(refused.unwrap_err().status().is_server_error());
        assert!(told(vec![Ok(vec![1]), Err(failure())]).await.is_err());
    }
}
