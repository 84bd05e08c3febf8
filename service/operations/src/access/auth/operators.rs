//! The operators' tokens that were made, of which some are revoked.

use muster_api::service::{OperatorSessionState, OperatorTokenState};
use muster_api::time::{Timestamp, millis};
use muster_store::{OperatorSession, OperatorToken, Store};

use crate::records::StoreError;

/// Cloning is cheap.
#[derive(Clone)]
pub struct OperatorTokens {
    store: Store,
}

impl OperatorTokens {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// True if a token with this id was made, and is neither revoked nor expired at that time.
    pub async fn is_in_force(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        let made = self.store.find_operator_token(id).await?;
        Ok(made.is_some_and(|made| made.is_in_force(at)))
    }

    /// All tokens that were made, oldest first, with their sessions at that time.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list(&self, at: Timestamp) -> Result<Vec<OperatorTokenState>, StoreError> {
        let tokens = self.store.list_operator_tokens().await?;
        let sessions = self.store.list_operator_sessions(at).await?;
        let shown = tokens.into_iter().map(|token| shown(token, &sessions, at));
        Ok(shown.collect())
    }

    /// Revokes a token, and with it its sessions; false if none has this id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn revoke(&self, id: &str, at: Timestamp) -> Result<bool, StoreError> {
        if self.store.revoke_operator_token(id, at).await? {
            return Ok(true);
        }
        Ok(self.store.find_operator_token(id).await?.is_some())
    }

    /// Ends a session; false if none has this id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn end_session(&self, id: &str) -> Result<bool, StoreError> {
        self.store.delete_operator_session(id).await
    }
}

/// A token with those of these sessions that are its own. Those of one that has ended have ended, too.
fn shown(token: OperatorToken, sessions: &[OperatorSession], at: Timestamp) -> OperatorTokenState {
    let in_force = token.is_in_force(at);
    let own = sessions
        .iter()
        .filter(|session| in_force && session.token_id == token.id);
    let own = own.map(|session| OperatorSessionState {
        id: session.id.clone(),
        created_at: millis(Some(session.created_at)),
        expires_at: millis(Some(session.expires_at)),
    });
    OperatorTokenState {
        sessions: own.collect(),
        state: token.state(at).to_owned(),
        read_only: token.read_only,
        infra_env_id: token.infra_env_id,
        created_at: millis(Some(token.created_at)),
        expires_at: token.expires_at.map(|end| millis(Some(end))),
        revoked_at: token.revoked_at.map(|end| millis(Some(end))),
        id: token.id,
        name: token.name,
    }
}
