//! Admits to the operation by which an operator signs in, and limits tries.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use muster_connections::{KeyedLimiter, network_of};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use super::caller::{Allowed, Target};
use super::decide::{Gate, by_token, credentials};
use super::leave;
use crate::audit;
use crate::cookie::SessionCookie;
use crate::origin::only_own_pages;
use crate::problem::Problem;

/// Tries of one network at once, and those refused within [`WINDOW`].
const MOST_TRIES: usize = 10;

const WINDOW: Duration = Duration::from_secs(60);

static TRIES: KeyedLimiter<IpAddr> = KeyedLimiter::new(MOST_TRIES);

/// Largest body, bytes: it is read before a token was checked.
const BODY_LIMIT: u64 = 4096;

/// A try to sign in.
pub struct Try(Option<OwnedSemaphorePermit>);

impl Try {
    /// Begins a try of a client; one without an address, which no connection has, is not limited.
    ///
    /// # Errors
    /// 429 if too many tries of the client's network were refused.
    pub async fn begin(client: Option<IpAddr>) -> Result<Self, Problem> {
        let Some(client) = client else {
            return Ok(Self(None));
        };
        let permit = TRIES.acquire_within(Duration::ZERO, &network_of(client)).await;
        let too_many = || {
            let words =
                format!("{MOST_TRIES} tries to sign in from this network were refused; wait a minute");
            Problem::Framework(StatusCode::TOO_MANY_REQUESTS, words)
        };
        permit.map(|permit| Self(Some(permit))).ok_or_else(too_many)
    }

    /// Counts it as refused. Tries that are dropped count no more.
    pub fn refused(self) {
        if let Some(permit) = self.0 {
            tokio::spawn(async move {
                sleep(WINDOW).await;
                drop(permit);
            });
        }
    }
}

/// Middleware in place of [`require`](super::require): lets the holders of an operator's token in, and requests without a credential,
/// which may have a link in their body; leaves [`SignedIn`](super::SignedIn) in the extensions of the former. Sessions are not looked at.
///
/// # Errors
/// Fails for a credential that is not an operator's token in force, for pages of others, for large bodies, and after too many tries.
pub async fn sign_in(
    State(gate): State<Gate>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let operation = audit::operation(&request);
    let refused = |problem: &Problem| audit::refused(&operation, problem.status(), problem.reason());
    check_size(request.headers()).inspect_err(refused)?;
    check_page(request.headers(), gate.cookie).inspect_err(refused)?;
    let asks = gate.auth.asks_for_tokens();
    if asks {
        gate.cookie.check(request.headers()).inspect_err(refused)?;
    }
    let tokens = credentials(request.headers(), request.uri().query());
    if !tokens.is_empty() && asks {
        match by_token(&gate, Allowed::Session, tokens, Target::default()).await {
            Ok(admitted) => leave(&mut request, admitted.signed_in),
            Err(problem) => {
                // The right token is taken however many wrong ones came from the same network.
                let attempt = Try::begin(client_of(&request)).await.inspect_err(refused)?;
                attempt.refused();
                refused(&problem);
                return Err(problem);
            }
        }
    }
    let response = next.run(request).await;
    audit::session_began(&gate.audit, &gate.operation_ids, &operation, &response);
    if let Some(problem) = response.extensions().get::<Problem>() {
        refused(problem);
    }
    Ok(response)
}

/// The address from which a request came.
fn client_of(request: &Request) -> Option<IpAddr> {
    let connected = request.extensions().get::<ConnectInfo<SocketAddr>>();
    connected.map(|info| info.0.ip())
}

/// # Errors
/// 403 for pages that are not the service's. Programs do not send the headers of pages.
fn check_page(headers: &HeaderMap, cookie: SessionCookie) -> Result<(), Problem> {
    if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
        return only_own_pages(headers, cookie.scheme());
    }
    Ok(())
}

/// # Errors
/// 413 for bodies that are large, or may be.
fn check_size(headers: &HeaderMap) -> Result<(), Problem> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.map_or(Some(0), |length| length.to_str().ok()?.parse::<u64>().ok());
    let fits = length.is_some_and(|length| length <= BODY_LIMIT);
    if fits && !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    Err(Problem::Framework(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "this operation reads bodies of at most {BODY_LIMIT} bytes, with their length in Content-Length"
        ),
    ))
}
