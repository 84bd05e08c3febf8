use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::error::{ApiError, InfraError};
use muster_api::session::SessionLink;
use muster_api::time::millis;
use muster_http::Problem;
use muster_http::gate::SignedIn;
use muster_operations::auth::Sessions;
use muster_operations::now;

use super::visitor::{no_tokens, token_id};

/// Add a one-time link
///
/// Its secret begins one session of the operator's token, within 60 seconds.
#[utoipa::path(
    post, path = "/sessions/links", operation_id = "MusterAddSessionLink", tag = "sessions",
    responses(
        (status = 201, body = SessionLink),
        (status = 403, body = InfraError, description = "The request is by a session, which makes no others"),
        (status = 409, body = ApiError, description = "The service requires no tokens"),
    )
)]
pub async fn add_session_link(
    State(sessions): State<Sessions>,
    signed_in: Option<Extension<SignedIn>>,
) -> Result<(StatusCode, Json<SessionLink>), Problem> {
    let Extension(signed_in) = signed_in.ok_or_else(no_tokens)?;
    // Else who has a session for a moment would have one for ever.
    if signed_in.session.is_some() {
        return Err(Problem::Framework(
            StatusCode::FORBIDDEN,
            "a session makes no links: request one with the operator's token in Authorization".into(),
        ));
    }
    let link = sessions.link(token_id(&signed_in)?, now()).await?;
    let shown = SessionLink {
        secret: link.secret.reveal().to_owned(),
        expires_at: millis(Some(link.expires_at)),
    };
    Ok((StatusCode::CREATED, Json(shown)))
}
