//! The response to a download request.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse, Response};
use headers::{AcceptRanges, ContentLength, ContentRange, ETag, HeaderMapExt, LastModified};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use muster_http::Problem;
use muster_image::{Piece, Plan};

use super::body::ImageBody;
use super::download::{Download, Meta};
use super::downloads::Downloads;
use super::selection::{Selection, select};
use super::transport::{FileChannel, Peer};

/// Answers GET and HEAD for `download`, with ranges and preconditions.
///
/// Waits for a slot only when a body will be sent; 503 when none is available in time. On a plain HTTP/1 connection of a
/// [`DownloadListener`](super::DownloadListener) the kernel copies from the page cache to the socket; on any other connection the bytes
/// pass through a small buffer.
pub async fn serve(request: &Parts, download: Download, downloads: &Downloads) -> Response {
    let Download { plan, base, meta } = download;
    let Ok(etag) = meta.etag.parse::<ETag>() else {
        tracing::error!(etag = meta.etag, "an entity tag is malformed");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let last_modified = LastModified::from(meta.last_modified);
    let length = plan.length();
    let selection = select(&request.method, &request.headers, length, &etag, last_modified);

    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.typed_insert(AcceptRanges::bytes());
    // It holds a token: no cache may store it, nor anything that was revoked.
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, no-cache"),
    );
    headers.typed_insert(last_modified);
    let tag = meta.etag.clone();
    headers.typed_insert(etag);

    let (status, body) = match selection {
        Selection::NotModified => (StatusCode::NOT_MODIFIED, None),
        Selection::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, None),
        Selection::Unsatisfiable => {
            headers.typed_insert(ContentRange::unsatisfied_bytes(length));
            (StatusCode::RANGE_NOT_SATISFIABLE, None)
        }
        Selection::Whole => {
            insert_content_headers(headers, &meta);
            (StatusCode::OK, Some((plan, 0..length)))
        }
        Selection::Part(range) => {
            insert_content_headers(headers, &meta);
            let content_range =
                ContentRange::bytes(range.clone(), length).expect("a selected range is not empty");
            headers.typed_insert(content_range);
            (StatusCode::PARTIAL_CONTENT, Some((plan, range)))
        }
        Selection::Parts(ranges) => {
            let boundary = format!("muster-{}", tag.trim_matches('"'));
            insert_content_headers(headers, &meta);
            let content_type = format!("multipart/byteranges; boundary={boundary}");
            let content_type = HeaderValue::from_str(&content_type).expect("the tag is a valid header value");
            headers.insert(header::CONTENT_TYPE, content_type);
            let plan = multipart(&plan, &ranges, &boundary, meta.content_type);
            let length = plan.length();
            (StatusCode::PARTIAL_CONTENT, Some((plan, 0..length)))
        }
    };
    *response.status_mut() = status;
    let Some((plan, range)) = body else {
        return response;
    };
    response
        .headers_mut()
        .typed_insert(ContentLength(range.end - range.start));
    if request.method != Method::HEAD {
        // Clients of unknown address count as one.
        let client = client_of(request).unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        let slot = match downloads.slot(client).await {
            Ok(slot) => slot,
            Err(refused) => return Problem::unavailable(refused.to_string()).into_response(),
        };
        let body = ImageBody::new(
            plan,
            range,
            base,
            downloads.buffers().clone(),
            FileChannel::of(request),
            slot,
        );
        *response.body_mut() = Body::new(body);
    }
    response
}

/// The address of the request's client, where it is known.
pub fn client_of(request: &Parts) -> Option<IpAddr> {
    let extensions = &request.extensions;
    let address = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let of_peer = || extensions.get::<ConnectInfo<Peer>>().map(|info| info.0.address);
    address.or_else(of_peer).map(|address| address.ip())
}

fn insert_content_headers(headers: &mut http::HeaderMap, meta: &Meta) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(meta.content_type));
    let safe = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    let name: String = meta
        .file_name
        .chars()
        .map(|letter| if safe(letter) { letter } else { '_' })
        .collect();
    let disposition = HeaderValue::from_str(&format!("attachment; filename={name}"));
    headers.insert(
        header::CONTENT_DISPOSITION,
        disposition.expect("the name has safe letters only"),
    );
}

/// Several ranges in one body (RFC 9110 section 14.6), as a plan of its own.
fn multipart(plan: &Plan, ranges: &[std::ops::Range<u64>], boundary: &str, content_type: &str) -> Plan {
    let length = plan.length();
    let text = |text: String| Piece::Bytes(text.into());
    let parts = ranges.iter().enumerate().flat_map(|(number, range)| {
        let line_break = if number == 0 { "" } else { "\r\n" };
        let (first, last) = (range.start, range.end - 1);
        let head = format!(
            "{line_break}--{boundary}\r\nContent-Type: {content_type}\r\nContent-Range: bytes {first}-{last}/{length}\r\n\r\n"
        );
        [text(head)].into_iter().chain(plan.range(range.clone()))
    });
    Plan::concatenation(parts.chain([text(format!("\r\n--{boundary}--\r\n"))]))
}
