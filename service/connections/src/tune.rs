//! Limits of the memory and time that a connection may take from its server.

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;

/// Time that a client gets to send its request's head.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Time between pings to a silent peer of HTTP/2, and for its reply.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Requests of one connection of HTTP/2 at once.
const MOST_STREAMS: u32 = 250;

/// For listeners of HTTP/1 only: deadlines, and the bytes that the head of a request may have.
pub(crate) fn http1(longest_head: usize) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(longest_head);
    builder
}

/// Sets deadlines, and the bytes that the head of a request may have (hyper's own limit is 400 kB a connection, before any credential).
pub fn tune(builder: &mut Builder<TokioExecutor>, longest_head: usize) {
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(longest_head);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(u32::try_from(longest_head).unwrap_or(u32::MAX));
}
