//! Who sends a request, by its credential.

use muster_api::session::Session;
use muster_api::time::{Timestamp, millis};
use muster_http::Problem;
use muster_http::gate::SignedIn;

/// The session, or the token, on the wire.
pub fn view(signed_in: SignedIn) -> Session {
    let SignedIn { claims, session } = signed_in;
    let end_of_token = claims.exp.and_then(|exp| Timestamp::from_timestamp(exp, 0));
    let expires_at = session.as_ref().map(|session| session.expires_at);
    Session {
        requires_tokens: true,
        name: Some(claims.name).filter(|name| !name.is_empty()),
        token_id: claims.jti,
        session_id: session.map(|session| session.id),
        read_only: claims.read_only,
        infra_env_id: claims.only,
        expires_at: expires_at.or(end_of_token).map(|at| millis(Some(at))),
    }
}

/// The id of the token of a request.
///
/// # Errors
/// 409 for a token of a version before tokens had ids: nothing could end its sessions.
pub fn token_id(signed_in: &SignedIn) -> Result<&str, Problem> {
    signed_in.claims.jti.as_deref().ok_or_else(|| {
        Problem::conflict("this operator's token is of an older version; get a new one (muster token create)")
    })
}

/// 409: there are no sessions.
pub fn no_tokens() -> Problem {
    Problem::conflict("this service requires no tokens (--auth none), so there are no sessions")
}
