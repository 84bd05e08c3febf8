use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{StatusCode, header};
use muster_api::error::{ApiError, InfraError};
use muster_api::session::Session;
use muster_http::gate::SignedIn;
use muster_http::{Problem, SessionCookie};
use muster_operations::auth::Sessions;

use super::visitor::{no_tokens, view};

/// Get the session of a request
///
/// Or the operator's token that the request carries: its name, what it opens, and when it ends.
#[utoipa::path(
    get, path = "/session", operation_id = "MusterGetSession", tag = "sessions",
    responses((status = 200, body = Session))
)]
pub async fn get_session(signed_in: Option<Extension<SignedIn>>) -> Json<Session> {
    let shown = signed_in.map(|Extension(signed_in)| view(signed_in));
    Json(shown.unwrap_or_default())
}

/// End the session of a request
#[utoipa::path(
    delete, path = "/session", operation_id = "MusterEndSession", tag = "sessions",
    responses(
        (status = 204, headers(("Set-Cookie" = String, description = "By which the browser forgets the session"))),
        (status = 403, body = InfraError, description = "No page of this service sends the request"),
        (status = 409, body = ApiError, description = "The request carries a token in place of a session, or none is required"),
    )
)]
pub async fn end_session(
    State(sessions): State<Sessions>,
    State(cookie): State<SessionCookie>,
    signed_in: Option<Extension<SignedIn>>,
) -> Result<Response, Problem> {
    let Extension(signed_in) = signed_in.ok_or_else(no_tokens)?;
    let no_session = || {
        Problem::conflict(
            "this request carries an operator's token and no session (muster token revoke ends either)",
        )
    };
    let session = signed_in.session.ok_or_else(no_session)?;
    sessions.end(&session.id).await?;
    let set_cookie = [(header::SET_COOKIE, cookie.cleared())];
    Ok((StatusCode::NO_CONTENT, set_cookie).into_response())
}
