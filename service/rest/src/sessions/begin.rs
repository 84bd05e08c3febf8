use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{HeaderMap, StatusCode, header};
use muster_api::error::{ApiError, InfraError};
use muster_api::session::{Session, SessionCreateParams};
use muster_http::body::Body;
use muster_http::gate::{self, SignedIn, Try};
use muster_http::{Problem, SessionCookie};
use muster_operations::auth::{Auth, NewSession, Sessions};
use muster_operations::now;

use super::visitor::{no_tokens, token_id, view};

/// Begin a session
///
/// By the operator's token in `Authorization`, or by the secret of a link. The session is in the cookie of the answer; it opens what its
/// token opens, and ends with it, after twelve hours at the latest. A session in the cookie of the request ends: the new one replaces it.
#[utoipa::path(
    post, path = "/sessions", operation_id = "MusterBeginSession", tag = "sessions",
    request_body = SessionCreateParams,
    responses(
        (status = 201, body = Session, headers(("Set-Cookie" = String, description = "The session; no body has its secret"))),
        (status = 409, body = ApiError, description = "The service requires no tokens, or a browser would not keep the cookie"),
        (status = 429, body = InfraError, description = "Too many tries were refused"),
    )
)]
pub async fn begin_session(
    State(auth): State<Arc<Auth>>,
    State(sessions): State<Sessions>,
    State(cookie): State<SessionCookie>,
    signed_in: Option<Extension<SignedIn>>,
    client: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    Body(params): Body<SessionCreateParams>,
) -> Result<Response, Problem> {
    if !auth.asks_for_tokens() {
        return Err(no_tokens());
    }
    let former = cookie.find(&headers);
    let new = match (signed_in, params.link) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad_request(
                "give a token in Authorization or a link in the body, not both",
            ));
        }
        (Some(Extension(signed_in)), None) => {
            let begun = sessions.begin(token_id(&signed_in)?, &former, now()).await?;
            begun.ok_or_else(gate::no_credential)?
        }
        (None, Some(link)) => {
            let client = client.map(|Extension(ConnectInfo(client))| client.ip());
            by_link(&sessions, &link, &former, client).await?
        }
        (None, None) => return Err(gate::no_credential()),
    };
    let set_cookie = [(header::SET_COOKIE, cookie.set(&new.secret))];
    let signed_in = SignedIn {
        claims: new.claims,
        session: Some(new.session),
    };
    // For the audit.
    let author = Extension(signed_in.clone());
    Ok((StatusCode::CREATED, set_cookie, author, Json(view(signed_in))).into_response())
}

async fn by_link(
    sessions: &Sessions,
    link: &str,
    former: &[&str],
    client: Option<IpAddr>,
) -> Result<NewSession, Problem> {
    let attempt = Try::begin(client).await?;
    let Some(begun) = sessions.begin_by_link(link, former, now()).await? else {
        attempt.refused();
        return Err(Problem::unauthenticated(
            "this link was used, has expired, or is none of this service; get a new one",
        ));
    };
    Ok(begun)
}
