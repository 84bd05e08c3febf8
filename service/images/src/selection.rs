//! Decides which part of a download a request gets: preconditions and ranges (RFC 9110 sections 13 and 14). Pure.
//!
//! `http-serve` would do all of it, but its stable release is for http 0.2 and never honours an `If-Range` date; so the
//! headers are parsed by `headers` and `http-range-header`, and the decision is here.

use std::ops::Range;

use headers::{
    ETag, HeaderMapExt, IfMatch, IfModifiedSince, IfNoneMatch, IfRange, IfUnmodifiedSince, LastModified,
};
use http::{HeaderMap, Method, header};
use http_range_header::{EndPosition, StartPosition, SyntacticallyCorrectRange, parse_range_header};

/// Parts in one response. Firmware and download managers request a handful; above that the whole is sent, as nginx does with
/// `max_ranges`.
pub const MOST_RANGES: usize = 32;

/// The response to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// 200 with everything.
    Whole,
    /// 206 with one part.
    Part(Range<u64>),
    /// 206 with several parts, in the requested order.
    Parts(Vec<Range<u64>>),
    /// 304.
    NotModified,
    /// 412.
    PreconditionFailed,
    /// 416.
    Unsatisfiable,
}

/// Decides from the request what is sent of `length` bytes with these validators.
pub fn select(
    method: &Method,
    headers: &HeaderMap,
    length: u64,
    etag: &ETag,
    last_modified: LastModified,
) -> Selection {
    let modified_at = last_modified.into();
    let precondition_holds = match headers.typed_get::<IfMatch>() {
        Some(condition) => condition.precondition_passes(etag),
        None => headers
            .typed_get::<IfUnmodifiedSince>()
            .is_none_or(|condition| condition.precondition_passes(modified_at)),
    };
    if !precondition_holds {
        return Selection::PreconditionFailed;
    }
    let is_modified = match headers.typed_get::<IfNoneMatch>() {
        Some(condition) => condition.precondition_passes(etag),
        None => headers
            .typed_get::<IfModifiedSince>()
            .is_none_or(|condition| condition.is_modified(modified_at)),
    };
    if !is_modified {
        return Selection::NotModified;
    }
    if method != Method::GET || !range_applies(headers, etag, last_modified) {
        return Selection::Whole;
    }
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    // A range header that cannot be parsed counts as absent (RFC 9110 section 14.2).
    match range.and_then(|text| parse_range_header(text).ok()) {
        Some(parsed) => resolve(&parsed.ranges, length),
        None => Selection::Whole,
    }
}

/// `If-Range`: a tag must match strongly, a date exactly (RFC 9110 section 13.1.5). One that is neither never matches.
fn range_applies(headers: &HeaderMap, etag: &ETag, last_modified: LastModified) -> bool {
    if !headers.contains_key(header::IF_RANGE) {
        return true;
    }
    headers.typed_get::<IfRange>().is_some_and(|condition| {
        condition == IfRange::date(last_modified.into()) || !condition.is_modified(Some(etag), None)
    })
}

fn resolve(asked: &[SyntacticallyCorrectRange], length: u64) -> Selection {
    let mut ranges: Vec<Range<u64>> = asked
        .iter()
        .filter_map(|range| satisfiable(range, length))
        .collect();
    match ranges.len() {
        0 => Selection::Unsatisfiable,
        1 => Selection::Part(ranges.remove(0)),
        // Overlapping ranges can add up to more than there is.
        2..=MOST_RANGES if total(&ranges) <= length => Selection::Parts(ranges),
        _ => Selection::Whole,
    }
}

fn total(ranges: &[Range<u64>]) -> u64 {
    ranges
        .iter()
        .fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start))
}

fn satisfiable(range: &SyntacticallyCorrectRange, length: u64) -> Option<Range<u64>> {
    let start = match range.start {
        StartPosition::Index(start) => start,
        StartPosition::FromLast(last) => length.saturating_sub(last),
    };
    let end = match range.end {
        EndPosition::Index(end) => end.saturating_add(1).min(length),
        EndPosition::LastByte => length,
    };
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests;
