//! Records who changed what, in the log and in the audit, and logs which requests were refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, RawPathParams, Request};
use axum::response::Response;
use http::StatusCode;
use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId};
use muster_operations::audit::Audit;
use muster_operations::records::{AuditEntry, AuditedObject, audit_kind};
use muster_operations::{now, request_id};

use crate::gate::{Admitted, Allowed, Caller, SignedIn, Target};

/// Refusals that are logged in each [`WINDOW`]; further ones are counted.
const MOST_REFUSALS: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// Status of a change whose client closed the connection before the response, as in logs of nginx: the change may have been made.
const CUT_OFF: u16 = 499;

/// Longest id of a token or session. Longer texts in a path are none, and may be a secret.
const LONGEST_ID: usize = 48;

/// The ids of operations, as the description of the API has them, by method and route ([`operation`]).
pub type OperationIds = Arc<HashMap<String, String>>;

/// The record that a request made. In the extensions of the response.
#[derive(Debug, Clone)]
pub struct Made(AuditedObject);

impl Made {
    pub fn infra_env(id: InfraEnvId) -> Self {
        Self(AuditedObject {
            kind: audit_kind::INFRA_ENV,
            id: id.to_string(),
            infra_env_id: None,
        })
    }

    pub fn cluster(id: ClusterId) -> Self {
        Self(AuditedObject {
            kind: audit_kind::CLUSTER,
            id: id.to_string(),
            infra_env_id: None,
        })
    }

    pub fn bmc(infra_env_id: InfraEnvId, id: BmcId) -> Self {
        Self(AuditedObject {
            kind: audit_kind::BMC,
            id: id.to_string(),
            infra_env_id: Some(infra_env_id),
        })
    }
}

/// The author of a change that is in the audit.
struct Author {
    who: String,
    token_id: Option<String>,
    session_id: Option<String>,
}

impl Author {
    /// `None` for agents and for holders of URLs: what they send is in the log alone.
    fn of(admitted: &Admitted, allowed: Allowed) -> Option<Self> {
        let anybody = || {
            // Without tokens agents are admitted so, too.
            let is_person = admitted.caller == Caller::Anybody && allowed != Allowed::Agent;
            is_person.then(|| Self {
                who: "anybody".to_owned(),
                token_id: None,
                session_id: None,
            })
        };
        admitted.signed_in.as_ref().map(Self::signed_in).or_else(anybody)
    }

    fn signed_in(signed_in: &SignedIn) -> Self {
        let SignedIn { claims, session } = signed_in;
        Self {
            who: match claims.name.as_str() {
                "" => "operator".to_owned(),
                name => name.to_owned(),
            },
            token_id: claims.jti.clone(),
            session_id: session.as_ref().map(|session| session.id.clone()),
        }
    }
}

/// A request for a change, until its response.
pub struct Change {
    who: String,
    author: Option<Author>,
    operation: String,
    target: Target,
    host: Option<HostId>,
    object: AuditedObject,
}

impl Change {
    pub fn of(
        request: &Request,
        (admitted, allowed): (&Admitted, Allowed),
        target: Target,
        host: Option<HostId>,
        object: AuditedObject,
    ) -> Self {
        Self {
            who: admitted.with_session(),
            author: Author::of(admitted, allowed),
            operation: operation(request),
            target,
            host,
            object,
        }
    }

    /// Records the change. Every host replies to steps each minute, and no person is behind it: successful replies are logged at debug level.
    fn ended(self, audit: &Audit, ids: &OperationIds, status: u16, made: Option<&Made>) {
        let Self {
            who,
            author,
            operation,
            target,
            host,
            object,
        } = self;
        if let Some(author) = author {
            let object = made.map_or(object, |made| made.0.clone());
            audit.note(author.entry(&operation, ids, object, status));
        }
        let infra_env = target.infra_env.map(|id| id.to_string());
        let cluster = target.cluster.map(|id| id.to_string());
        let host = host.map(|id| id.to_string());
        if operation.ends_with("/instructions") && status < 300 {
            tracing::debug!(who, operation, infra_env, cluster, host, status, "changed");
        } else {
            tracing::info!(who, operation, infra_env, cluster, host, status, "changed");
        }
    }
}

/// A change that is being made. Dropped before its end, it is recorded as one without a response.
pub struct Pending {
    change: Option<Change>,
    audit: Arc<Audit>,
    operation_ids: OperationIds,
}

impl Pending {
    pub fn new(change: Change, audit: Arc<Audit>, operation_ids: OperationIds) -> Self {
        Self {
            change: Some(change),
            audit,
            operation_ids,
        }
    }

    /// Records the change with its outcome.
    pub fn answered(mut self, response: &Response) {
        let made = response.extensions().get::<Made>();
        self.end(response.status().as_u16(), made);
    }

    fn end(&mut self, status: u16, made: Option<&Made>) {
        if let Some(change) = self.change.take() {
            change.ended(&self.audit, &self.operation_ids, status, made);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.end(CUT_OFF, None);
    }
}

impl Author {
    fn entry(self, operation: &str, ids: &OperationIds, object: AuditedObject, status: u16) -> AuditEntry {
        let (method, route) = operation.split_once(' ').unwrap_or_default();
        AuditEntry {
            at: now(),
            request_id: request_id::current().unwrap_or_default(),
            who: self.who,
            token_id: self.token_id,
            session_id: self.session_id,
            method: method.to_owned(),
            operation: ids.get(operation).map_or(route, String::as_str).to_owned(),
            object,
            status,
        }
    }
}

/// Records that a session began, unless the response is a refusal.
pub fn session_began(audit: &Audit, ids: &OperationIds, operation: &str, response: &Response) {
    let Some(signed_in) = response.extensions().get::<SignedIn>() else {
        return;
    };
    let author = Author::signed_in(signed_in);
    let object = AuditedObject {
        kind: audit_kind::SESSION,
        id: author.session_id.clone().unwrap_or_default(),
        infra_env_id: None,
    };
    audit.note(author.entry(operation, ids, object, response.status().as_u16()));
}

/// The record that a path names: the innermost one. What is no id is left out.
pub fn object(params: &RawPathParams) -> AuditedObject {
    let named = |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, id)| id);
    let infra_env_id: Option<InfraEnvId> = named("infra_env_id").and_then(|id| id.parse().ok());
    let of = |kind, id: String, infra_env_id| AuditedObject {
        kind,
        id,
        infra_env_id,
    };
    let short = |id: &str| {
        let is_id = id.len() <= LONGEST_ID
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| id.to_owned())
    };
    if let Some(id) = named("host_id").and_then(|id| id.parse::<HostId>().ok()) {
        return of(audit_kind::HOST, id.to_string(), infra_env_id);
    }
    if let Some(id) = named("bmc_id").and_then(|id| id.parse::<BmcId>().ok()) {
        return of(audit_kind::BMC, id.to_string(), infra_env_id);
    }
    if let Some(id) = named("cluster_id").and_then(|id| id.parse::<ClusterId>().ok()) {
        return of(audit_kind::CLUSTER, id.to_string(), None);
    }
    if let Some(id) = named("token_id").and_then(short) {
        return of(audit_kind::TOKEN, id, None);
    }
    if let Some(id) = named("session_id").and_then(short) {
        return of(audit_kind::SESSION, id, None);
    }
    match infra_env_id {
        Some(id) => of(audit_kind::INFRA_ENV, id.to_string(), None),
        None => AuditedObject::default(),
    }
}

/// Method and route, not the path: paths may hold tokens.
pub fn operation(request: &Request) -> String {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("", MatchedPath::as_str);
    format!("{} {route}", request.method())
}

/// Logs a refusal of the gate, unless too many were logged in this window.
pub fn refused(operation: &str, status: StatusCode, why: &str) {
    static LATELY: Mutex<Option<Lately>> = Mutex::new(None);
    let mut lately = LATELY.lock().unwrap_or_else(PoisonError::into_inner);
    let (logs, unsaid) = lately
        .get_or_insert_with(|| Lately::new(Instant::now()))
        .one_more(Instant::now());
    drop(lately);
    if unsaid > 0 {
        tracing::info!(refusals = unsaid, "further requests were refused");
    }
    if logs {
        tracing::info!(operation, status = status.as_u16(), why, "refused");
    }
}

/// Refusals of the current window.
struct Lately {
    since: Instant,
    refusals: u32,
}

impl Lately {
    fn new(since: Instant) -> Self {
        Self { since, refusals: 0 }
    }

    /// True when this refusal is logged; with the number of refusals of the last window that were not.
    fn one_more(&mut self, now: Instant) -> (bool, u32) {
        let mut unsaid = 0;
        if now.saturating_duration_since(self.since) >= WINDOW {
            unsaid = self.refusals.saturating_sub(MOST_REFUSALS);
            *self = Self::new(now);
        }
        self.refusals = self.refusals.saturating_add(1);
        (self.refusals <= MOST_REFUSALS, unsaid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_of_refusals_is_counted_and_not_written_down_one_by_one() {
        let start = Instant::now();
        let mut lately = Lately::new(start);
        let logged = (0..1000).filter(|_| lately.one_more(start).0).count();
        assert_eq!(logged, MOST_REFUSALS as usize);
        assert_eq!(lately.one_more(start + WINDOW), (true, 1000 - MOST_REFUSALS));
        assert_eq!(lately.one_more(start + WINDOW), (true, 0));
    }
}
