//! Does the heavy work of writes one after the other, and without delaying other requests: watches are served on the same threads.

use muster_connections::Turn;

use crate::request::RequestInfo;

/// Bodies above so many bytes take milliseconds to decode, prune and validate.
const LARGE: usize = 64 << 10;

static TURN: Turn = Turn::new();

/// Runs a write. A write with a large body, or of a kind with rules that have loops, waits for its turn; while it computes, other tasks of
/// its thread continue on another thread.
pub async fn in_turn<T>(request: &RequestInfo, body: usize, write: impl Future<Output = T>) -> T {
    let has_loops = request.resource.schema.has_loops;
    if body <= LARGE && !has_loops {
        return write.await;
    }
    TURN.take(write).await
}
