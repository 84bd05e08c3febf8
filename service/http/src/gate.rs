//! Admits callers to operations by their tokens, each for its own InfraEnv or cluster.
//!
//! Unlike upstream, a token of one InfraEnv opens nothing of another, whichever way it is carried.

mod caller;
mod decide;
mod sign_in;
mod speaker;

pub use caller::{Admitted, Allowed, Caller, SignedIn, Target};
pub use decide::{Gate, admit, infra_env_of, no_credential};
pub use sign_in::{Try, sign_in};

use std::sync::Arc;

use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, Method};
use muster_api::ids::HostId;

use self::speaker::Said;
use crate::audit;
use crate::problem::Problem;

/// A request that was admitted and lasts, such as a stream. In the extensions of [`Allowed::Scoped`] requests.
pub struct Admission {
    gate: Gate,
    headers: HeaderMap,
    who: String,
}

impl Admission {
    /// The caller, for the log and for limits.
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Admits the request again.
    ///
    /// # Errors
    /// Fails when its credential has expired or was revoked.
    pub async fn check(&self) -> Result<(), Problem> {
        let target = Target::default();
        admit(&self.gate, Allowed::Scoped, &self.headers, None, target).await?;
        Ok(())
    }
}

/// Middleware: lets `allowed` callers in, scoped to the InfraEnv or cluster that the path names, and leaves a [`Caller`] in the extensions.
pub async fn require(
    State((gate, allowed)): State<(Gate, Allowed)>,
    params: RawPathParams,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let named = |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, id)| id);
    let target = Target {
        infra_env: named("infra_env_id").and_then(|id| id.parse().ok()),
        cluster: named("cluster_id").and_then(|id| id.parse().ok()),
        changes: !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS),
    };
    let host = named("host_id").and_then(|id| id.parse().ok());
    let host = host.or_else(|| uploader(&request, target));
    let mut admitted = admit(&gate, allowed, request.headers(), request.uri().query(), target).await;
    let mut replacing = None;
    if let Some(host) = host {
        let said = Said::of(&request);
        (admitted, replacing) = speaker::admit(&gate, allowed, target, host, said, admitted).await;
    }
    let admitted = admitted.inspect_err(|problem| {
        audit::refused(&audit::operation(&request), problem.status(), problem.reason());
    })?;
    let change = target.changes.then(|| {
        let object = audit::object(&params);
        let change = audit::Change::of(&request, (&admitted, allowed), target, host, object);
        audit::Pending::new(change, gate.audit.clone(), gate.operation_ids.clone())
    });
    request.extensions_mut().insert(admitted.caller);
    if allowed == Allowed::Scoped {
        let admission = Admission {
            gate,
            headers: request.headers().clone(),
            who: admitted.who,
        };
        request.extensions_mut().insert(Arc::new(admission));
        leave(&mut request, admitted.signed_in);
    } else if allowed == Allowed::Session {
        leave(&mut request, admitted.signed_in);
    }
    let mut response = next.run(request).await;
    if let Some(change) = change {
        change.answered(&response);
    }
    if let Some(token) = replacing {
        speaker::hand_out(&mut response, &token);
    }
    Ok(response)
}

/// Leaves the operator in the extensions of a request.
fn leave(request: &mut Request, signed_in: Option<SignedIn>) {
    if let Some(signed_in) = signed_in {
        request.extensions_mut().insert(signed_in);
    }
}

/// The host that sends its logs, which the path does not name.
fn uploader(request: &Request, target: Target) -> Option<HostId> {
    if !target.changes || target.cluster.is_none() {
        return None;
    }
    let mut pairs = url::form_urlencoded::parse(request.uri().query()?.as_bytes());
    pairs
        .find(|(name, _)| name == "host_id")
        .and_then(|(_, id)| id.parse().ok())
}
