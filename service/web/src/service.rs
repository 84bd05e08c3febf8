//! The service: versions, replicas, database and images, operators' tokens with their sessions, and who requested which change.

mod audit;
mod tokens;

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use muster_api::MUSTER_PATH;
use muster_api::service::{ReplicaState, Service};
use muster_api::session::Session;

use crate::html::{Frame, answer};
use crate::notice::Notice;
use crate::rest::{Form, Path, Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;
use audit::Audit;
use tokens::Tokens;

/// The address of the page.
pub const ADDRESS: &str = "/ui/service";

/// The action that revokes a token.
const REVOKE: &str = "revoke";

/// The action that ends a session.
const END: &str = "end";

#[derive(Template)]
#[template(path = "service.html")]
struct ServicePage {
    frame: Frame,
    done: Option<Done>,
    /// The refusal of what was to be done.
    problem: Option<String>,
    /// `None`: the visitor may not see it.
    parts: Option<Parts>,
}

/// What is shown of the service.
struct Parts {
    facts: Vec<(&'static str, String)>,
    replicas: Vec<Replica>,
    /// CoreOS images by version, with their states.
    images: Vec<(String, String)>,
    tokens: Tokens,
    audit: Audit,
    at: String,
}

struct Replica {
    id: String,
    seen_at: String,
    seen: String,
    what: &'static str,
}

/// Something that was done, and what does the same.
struct Done {
    what: &'static str,
    command: String,
}

pub async fn show(visitor: Visitor) -> Result<Response, Refusal> {
    let session = session(&visitor).await?;
    let done = visitor.notice(ADDRESS).and_then(Done::of);
    let page = page(&visitor, session, done, None).await?;
    Ok(visitor.shown(ADDRESS, answer(&page)))
}

async fn page(
    visitor: &Visitor,
    session: Session,
    done: Option<Done>,
    problem: Option<String>,
) -> Result<ServicePage, Refusal> {
    // With a token for one pool.
    let confined = [StatusCode::FORBIDDEN];
    let path = format!("{MUSTER_PATH}/service");
    let service: Option<Service> = visitor.get_unless(&confined, &path).await?;
    let parts = match service {
        Some(service) => Some(parts(visitor, service).await?),
        None => None,
    };
    Ok(ServicePage {
        frame: frame_of(session),
        done,
        problem,
        parts,
    })
}

async fn parts(visitor: &Visitor, service: Service) -> Result<Parts, Refusal> {
    let tokens = visitor.get(&format!("{MUSTER_PATH}/tokens")).await?;
    let now = service.at.as_str();
    Ok(Parts {
        facts: facts(&service),
        replicas: service.replicas.iter().map(|one| Replica::of(one, now)).collect(),
        images: service.coreos_images.clone().into_iter().collect(),
        tokens: Tokens::of(tokens, now),
        audit: Audit::read(visitor, now).await?,
        at: service.at,
    })
}

fn facts(service: &Service) -> Vec<(&'static str, String)> {
    let size = |bytes: i64| words::size(u64::try_from(bytes).unwrap_or_default());
    let database = &service.database;
    let backlog = &service.backlog;
    let changes = usize::try_from(backlog.changes).unwrap_or_default();
    let oldest = backlog.oldest_change_at.as_deref();
    let oldest = oldest.map(|at| format!(", the oldest of {}", words::relative(at, &service.at)));
    let changes = format!(
        "{}{}",
        words::count(changes, "change"),
        oldest.unwrap_or_default()
    );
    vec![
        ("Version", service.version.clone()),
        ("Agent of machines", service.agent_version.clone()),
        (
            "Database",
            format!(
                "{}, {}, of which logs of hosts {}",
                database.kind,
                size(database.bytes),
                size(database.log_bytes)
            ),
        ),
        ("Still to be worked on", changes),
        ("Jobs", service.jobs.clone()),
        ("Kubernetes API and its controllers", service.kubernetes.clone()),
        ("Live image", service.live_image.clone()),
    ]
}

impl Replica {
    fn of(replica: &ReplicaState, now: &str) -> Self {
        let what = match (replica.is_this, replica.has_left) {
            (true, _) => "this one, which made the page",
            (false, true) => "stopped in order",
            (false, false) => "another one",
        };
        Self {
            id: replica.id.clone(),
            seen_at: replica.seen_at.clone(),
            seen: words::relative(&replica.seen_at, now),
            what,
        }
    }
}

impl Done {
    /// `None` for an unknown action, and for a text that is no id.
    fn of(notice: &Notice) -> Option<Self> {
        let id = notice.details.first().filter(|id| is_id(id))?;
        let what = match notice.action.as_str() {
            REVOKE => "The token is revoked: it opens nothing any more, and its sessions have ended.",
            END => "The session has ended.",
            _ => return None,
        };
        Some(Self {
            what,
            command: format!("muster token revoke --id {id}"),
        })
    }
}

/// True for a text that can be the id of a token or session.
fn is_id(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=48).contains(&text.len()) && text.bytes().all(is_letter)
}

/// Revokes a token, or ends a session.
pub async fn act(visitor: Visitor, Path(action): Path<String>, form: Form) -> Result<Response, Refusal> {
    let visitor = visitor.at(ADDRESS);
    let id = form.field("id");
    let kind = match action.as_str() {
        REVOKE => "tokens",
        END => "sessions",
        _ => {
            let reason = format!("{action} is nothing that the service does");
            return Err(visitor.refusal(StatusCode::NOT_FOUND, reason));
        }
    };
    let wrong = match (is_id(&id), action == END || form.field("sure") == "yes") {
        (false, _) => Some("nothing was changed: this is no id"),
        (true, false) => Some("the token was not revoked: tick that you are sure"),
        (true, true) => None,
    };
    if let Some(why) = wrong {
        let refusal = visitor.refusal(StatusCode::BAD_REQUEST, why.to_owned());
        return refused(&visitor, refusal).await;
    }
    let path = format!("{MUSTER_PATH}/{kind}/{id}");
    match visitor.send(Method::DELETE, &path, None).await {
        Ok(_) => Ok(visitor.lead_to(ADDRESS, &Notice::new(ADDRESS, &action, vec![id]))),
        Err(refusal) => refused(&visitor, refusal).await,
    }
}

/// The page with a refusal.
async fn refused(visitor: &Visitor, refusal: Refusal) -> Result<Response, Refusal> {
    if refusal.status == StatusCode::UNAUTHORIZED {
        return Err(refusal);
    }
    let session = session(visitor).await?;
    let page = page(visitor, session, None, Some(refusal.reason)).await?;
    Ok((refusal.status, answer(&page)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_shows_ids_alone() {
        let of = |action: &str, id: &str| {
            let notice = Notice::new(ADDRESS, action, vec![id.to_owned()]);
            Done::of(&notice).map(|done| done.command)
        };
        let revoked = "muster token revoke --id abcd2345".to_owned();
        assert_eq!(of(REVOKE, "abcd2345"), Some(revoked.clone()));
        assert_eq!(of(END, "abcd2345"), Some(revoked));
        assert_eq!(of(REVOKE, "<b>"), None);
        assert_eq!(of(REVOKE, ""), None);
        assert_eq!(of("explode", "abcd2345"), None);
    }

    #[test]
    fn facts_name_the_backlog_and_sizes() {
        let mut service = Service {
            at: "2026-12-01T12:00:00.000Z".to_owned(),
            ..Service::default()
        };
        service.database.kind = "sqlite".to_owned();
        service.database.bytes = 12_345_678;
        service.backlog.changes = 2;
        service.backlog.oldest_change_at = Some("2026-12-01T11:59:55.000Z".to_owned());
        let facts = facts(&service);
        let of = |wanted: &str| {
            let found = facts.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(
            of("Database"),
            Some("sqlite, 12.3 MB, of which logs of hosts 0 bytes")
        );
        assert_eq!(
            of("Still to be worked on"),
            Some("2 changes, the oldest of 5 s ago")
        );
    }
}
