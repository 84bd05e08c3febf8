//! Sessions of operators in browsers: how they begin and end. They are no part of the v2 protocol, so they have paths of their own.

mod begin;
mod current;
mod link;

use muster_api::session::Session as SessionView;
use muster_api::time::{Timestamp, millis};
use muster_http::Problem;
use muster_http::gate::SignedIn;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The operation that needs no credential but a link.
pub fn sign_in_route() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(begin::begin_session))
}

/// The operations of operators with any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(current::get_session, current::end_session))
        .routes(routes!(link::add_session_link))
}

fn view(signed_in: SignedIn) -> SessionView {
    let SignedIn { claims, session } = signed_in;
    let end_of_token = claims.exp.and_then(|exp| Timestamp::from_timestamp(exp, 0));
    let expires_at = session.as_ref().map(|session| session.expires_at);
    SessionView {
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
fn token_id(signed_in: &SignedIn) -> Result<&str, Problem> {
    signed_in.claims.jti.as_deref().ok_or_else(|| {
        Problem::conflict("this operator's token is of an older version; get a new one (muster token create)")
    })
}

fn no_tokens() -> Problem {
    Problem::conflict("this service requires no tokens (--auth none), so there are no sessions")
}
