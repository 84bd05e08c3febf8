//! Operators' tokens with their sessions.

use muster_api::service::{OperatorSessionState, OperatorTokenState};

use crate::words;

/// Tokens that are shown.
const SHOWN: usize = 100;

/// The tokens, those in force first.
pub struct Tokens {
    pub rows: Vec<TokenRow>,
    /// Number of further ones.
    pub left_out: usize,
}

pub struct TokenRow {
    pub id: String,
    pub name: String,
    pub state: String,
    /// `good` or `bad`.
    pub mood: &'static str,
    pub may: String,
    pub created_at: String,
    pub created: String,
    /// `None`: when it is revoked.
    pub expires_at: Option<String>,
    pub expires: String,
    pub is_in_force: bool,
    pub sessions: Vec<SessionRow>,
}

pub struct SessionRow {
    pub id: String,
    pub began_at: String,
    pub began: String,
    pub ends: String,
}

impl Tokens {
    /// `now`: the time from which ages count.
    pub fn of(mut all: Vec<OperatorTokenState>, now: &str) -> Self {
        // By age within each.
        all.sort_by_key(|token| token.state != "good");
        let left_out = all.len().saturating_sub(SHOWN);
        let rows = all.into_iter().take(SHOWN);
        Self {
            rows: rows.map(|token| TokenRow::of(token, now)).collect(),
            left_out,
        }
    }
}

impl TokenRow {
    fn of(token: OperatorTokenState, now: &str) -> Self {
        let is_in_force = token.state == "good";
        let what = if token.read_only { "reads" } else { "changes" };
        let sessions = token.sessions.iter();
        let expires = token.expires_at.as_deref();
        Self {
            mood: if is_in_force { "good" } else { "bad" },
            is_in_force,
            may: match token.infra_env_id {
                Some(id) => format!("{what} pool {id}"),
                None => format!("{what} everything"),
            },
            created: words::relative(&token.created_at, now),
            expires: expires.map(|at| words::relative(at, now)).unwrap_or_default(),
            sessions: sessions.map(|session| SessionRow::of(session, now)).collect(),
            created_at: token.created_at,
            expires_at: token.expires_at,
            id: token.id,
            name: token.name,
            state: token.state,
        }
    }
}

impl SessionRow {
    fn of(session: &OperatorSessionState, now: &str) -> Self {
        Self {
            id: session.id.clone(),
            began_at: session.created_at.clone(),
            began: words::relative(&session.created_at, now),
            ends: words::relative(&session.expires_at, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_ages() {
        let at = |time: &str| format!("2026-12-01T{time}.000Z");
        let token = OperatorTokenState {
            id: "abcd2345".to_owned(),
            name: "ci".to_owned(),
            state: "good".to_owned(),
            read_only: true,
            infra_env_id: None,
            created_at: at("09:00:00"),
            expires_at: Some(at("14:00:00")),
            revoked_at: None,
            sessions: vec![OperatorSessionState {
                id: "s".to_owned(),
                created_at: at("11:00:00"),
                expires_at: at("13:00:00"),
            }],
        };
        let lasting = OperatorTokenState {
            expires_at: None,
            ..token.clone()
        };
        let shown = Tokens::of(vec![token, lasting], &at("12:00:00"));
        let row = &shown.rows[0];
        assert_eq!(
            (row.created.as_str(), row.expires.as_str()),
            ("3 h ago", "in 2 h")
        );
        let session = &row.sessions[0];
        assert_eq!(
            (session.began.as_str(), session.ends.as_str()),
            ("60 min ago", "in 60 min")
        );
        assert_eq!(
            (&shown.rows[1].expires_at, shown.rows[1].expires.as_str()),
            (&None, "")
        );
    }
}
