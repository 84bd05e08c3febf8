//! Operators' tokens and their sessions: which there are, and how they end. No operation makes a token: `muster token create` does, on the
//! service's database.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::service::OperatorTokenState;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::auth::OperatorTokens;
use muster_operations::now;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// All operations, for operators with tokens for everything.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(list_tokens))
        .routes(routes!(revoke_token))
        .routes(routes!(end_other_session))
}

/// List the operators' tokens
///
/// With their sessions in force, oldest first; their texts are stored nowhere. Tokens of versions before tokens had ids are not known. A token
/// for one InfraEnv is refused.
#[utoipa::path(
    get, path = "/tokens", operation_id = "MusterListTokens", tag = "sessions",
    responses((status = 200, body = Vec<OperatorTokenState>))
)]
pub async fn list_tokens(
    State(tokens): State<OperatorTokens>,
) -> Result<Json<Vec<OperatorTokenState>>, Problem> {
    Ok(Json(tokens.list(now()).await?))
}

/// Revoke an operator's token
///
/// It opens nothing from then on, and its sessions end. This cannot be undone.
#[utoipa::path(
    delete, path = "/tokens/{token_id}", operation_id = "MusterRevokeToken", tag = "sessions",
    params(("token_id" = String, Path)),
    responses((status = 204), (status = 404, body = ApiError))
)]
pub async fn revoke_token(
    State(tokens): State<OperatorTokens>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    match tokens.revoke(&id, now()).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::absent(
            "no operator's token has this id; GET /tokens lists them",
        )),
    }
}

/// End the session with an id
#[utoipa::path(
    delete, path = "/sessions/{session_id}", operation_id = "MusterEndOtherSession", tag = "sessions",
    params(("session_id" = String, Path)),
    responses((status = 204), (status = 404, body = ApiError))
)]
pub async fn end_other_session(
    State(tokens): State<OperatorTokens>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    match tokens.end_session(&id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::absent(
            "no session has this id, or it has ended; GET /tokens lists them",
        )),
    }
}
