//! The requester of a job, by its credential.

use muster_api::time::Timestamp;
use muster_http::gate::SignedIn;
use muster_operations::host_jobs::JobRequester;

/// The token of a request; `None`: the service requires none.
pub fn requester(signed_in: Option<SignedIn>) -> JobRequester {
    let Some(SignedIn { claims, .. }) = signed_in else {
        return JobRequester::default();
    };
    // The row of a token with an id has its end.
    let end = claims.exp.filter(|_| claims.jti.is_none());
    JobRequester {
        scope: claims.only,
        token_id: claims.jti,
        token_name: Some(claims.name).filter(|name| !name.is_empty()),
        token_expires_at: end.and_then(|exp| Timestamp::from_timestamp(exp, 0)),
    }
}
