//! Sessions of operators in browsers, and one-time links by which they begin. What a session opens is what its token opens at that time.

use std::sync::Arc;
use std::time::Duration;

use muster_api::time::Timestamp;
use muster_core::record::Secret;
use muster_store::{OperatorLink, OperatorSession, OperatorToken, Store};

use super::{Auth, OperatorClaims};
use crate::random;
use crate::records::StoreError;

/// Longest life of a session.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// Life of a link that is not used.
const LINK_LIFETIME: Duration = Duration::from_secs(60);

/// Cloning is cheap.
#[derive(Clone)]
pub struct Sessions {
    store: Store,
    auth: Arc<Auth>,
}

/// A session in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// For lists and logs; it opens nothing.
    pub id: String,
    /// Not after the end of its token.
    pub expires_at: Timestamp,
}

/// A session that has just begun.
#[derive(Debug)]
pub struct NewSession {
    /// What a client proves the session with.
    pub secret: Secret,
    pub session: Session,
    /// Those of its token.
    pub claims: OperatorClaims,
}

/// A secret with which one session can begin.
#[derive(Debug)]
pub struct Link {
    pub secret: Secret,
    pub expires_at: Timestamp,
}

impl Sessions {
    pub(crate) fn new(store: Store, auth: Arc<Auth>) -> Self {
        Self { store, auth }
    }

    /// Begins a session by the token with this id, in place of those with the secrets `former`; `None` if the token is not in force: they
    /// stay then.
    ///
    /// # Errors
    /// Fails if the database does: then nothing has changed.
    pub async fn begin(
        &self,
        token_id: &str,
        former: &[&str],
        at: Timestamp,
    ) -> Result<Option<NewSession>, StoreError> {
        let token = self.store.find_operator_token(token_id).await?;
        let Some(token) = token.filter(|token| token.is_in_force(at)) else {
            return Ok(None);
        };
        let secret = Secret::new(random::token());
        let session = Session {
            id: random::short_id(),
            expires_at: until(&token, at + LIFETIME),
        };
        let stored = OperatorSession {
            id: session.id.clone(),
            token_id: token.id.clone(),
            created_at: at,
            expires_at: session.expires_at,
        };
        let digest = self.digest("session", secret.reveal());
        let former = former.iter().map(|secret| self.digest("session", secret));
        let former: Vec<String> = former.collect();
        self.store
            .insert_operator_session(&stored, &digest, &former)
            .await?;
        tracing::info!(
            operator = token.name,
            token = token.id,
            session = session.id,
            "a session began"
        );
        Ok(Some(NewSession {
            secret,
            session,
            claims: claims_of(token),
        }))
    }

    /// The same by the secret of a link, which is used up; `None` if it is none that can still be used.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn begin_by_link(
        &self,
        link: &str,
        former: &[&str],
        at: Timestamp,
    ) -> Result<Option<NewSession>, StoreError> {
        let digest = self.digest("link", link);
        match self.store.take_operator_link(&digest, at).await? {
            Some(token_id) => self.begin(&token_id, former, at).await,
            None => Ok(None),
        }
    }

    /// Makes a link for the token with this id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn link(&self, token_id: &str, at: Timestamp) -> Result<Link, StoreError> {
        let secret = Secret::new(random::token());
        let expires_at = at + LINK_LIFETIME;
        let stored = OperatorLink {
            digest: self.digest("link", secret.reveal()),
            token_id: token_id.to_owned(),
            created_at: at,
            expires_at,
        };
        self.store.insert_operator_link(&stored).await?;
        Ok(Link { secret, expires_at })
    }

    /// The session with this secret and the claims of its token, if both are in force.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn find(
        &self,
        secret: &str,
        at: Timestamp,
    ) -> Result<Option<(Session, OperatorClaims)>, StoreError> {
        let digest = self.digest("session", secret);
        let found = self.store.find_operator_session(&digest).await?;
        let in_force = found.filter(|(session, token)| session.expires_at > at && token.is_in_force(at));
        Ok(in_force.map(|(session, token)| {
            let session = Session {
                id: session.id,
                expires_at: session.expires_at,
            };
            (session, claims_of(token))
        }))
    }

    /// Ends the session with this id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn end(&self, id: &str) -> Result<(), StoreError> {
        self.store.delete_operator_session(id).await?;
        Ok(())
    }

    /// What is stored in place of a secret, in hex. It needs the key of tokens: like them, sessions end when that is replaced.
    fn digest(&self, what: &str, secret: &str) -> String {
        hex::encode(self.auth.keys.code(&format!("{what}\n{secret}")))
    }
}

/// `at`, or the end of the token before.
fn until(token: &OperatorToken, at: Timestamp) -> Timestamp {
    token.expires_at.map_or(at, |end| end.min(at))
}

/// The claims in the token's text.
fn claims_of(token: OperatorToken) -> OperatorClaims {
    OperatorClaims {
        operator: true,
        jti: Some(token.id),
        name: token.name,
        read_only: token.read_only,
        only: token.infra_env_id,
        exp: token.expires_at.map(|at| at.timestamp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Keys;
    use crate::{now, testing};

    async fn sessions(pem: &str, folder: &tempfile::TempDir) -> Sessions {
        let auth = Auth::new(true, Keys::from_pem(pem).unwrap(), None);
        Sessions::new(testing::store(folder.path()).await, Arc::new(auth))
    }

    async fn token(sessions: &Sessions, lifetime: Option<Duration>) -> String {
        let token = OperatorToken {
            id: random::short_id(),
            name: "ci".into(),
            read_only: true,
            infra_env_id: None,
            created_at: now(),
            expires_at: lifetime.map(|lifetime| now() + lifetime),
            revoked_at: None,
        };
        sessions.store.insert_operator_token(&token).await.unwrap();
        token.id
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_session_ends_after_twelve_hours_and_with_its_token() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&Keys::generate(), &folder).await;
        let begun = now();
        for (lifetime, ends) in [(None, LIFETIME), (Some(MINUTE * 30), MINUTE * 30)] {
            let id = token(&sessions, lifetime).await;
            let new = sessions.begin(&id, &[], begun).await.unwrap().unwrap();
            assert!(new.claims.read_only && new.claims.jti == Some(id));
            let secret = new.secret.reveal();
            let at = async |after: Duration| sessions.find(secret, begun + after).await.unwrap();
            let found = at(ends - MINUTE).await;
            assert_eq!(found, Some((new.session.clone(), new.claims.clone())));
            assert_eq!(at(ends + MINUTE).await, None);
        }
    }

    #[tokio::test]
    async fn no_session_begins_by_a_token_that_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&Keys::generate(), &folder).await;
        let id = token(&sessions, None).await;
        let link = sessions.link(&id, now()).await.unwrap();
        sessions.store.revoke_operator_token(&id, now()).await.unwrap();
        let later = now() + Duration::from_secs(1);
        assert!(sessions.begin(&id, &[], later).await.unwrap().is_none());
        let by_link = sessions.begin_by_link(link.secret.reveal(), &[], later).await;
        assert!(by_link.unwrap().is_none());
        assert!(sessions.begin("unknown", &[], later).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_session_takes_the_place_of_former_ones_if_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&Keys::generate(), &folder).await;
        let id = token(&sessions, None).await;
        let first = sessions.begin(&id, &[], now()).await.unwrap().unwrap();
        let other = sessions.begin(&id, &[], now()).await.unwrap().unwrap();
        let former = [first.secret.reveal(), "unknown"];
        let is_there = async |secret: &str| sessions.find(secret, now()).await.unwrap().is_some();
        let none = sessions.begin("unknown", &former, now()).await.unwrap();
        assert!(none.is_none() && is_there(former[0]).await);
        let next = sessions.begin(&id, &former, now()).await.unwrap().unwrap();
        assert!(!is_there(former[0]).await);
        assert!(is_there(other.secret.reveal()).await && is_there(next.secret.reveal()).await);
    }

    #[tokio::test]
    async fn another_key_ends_all_sessions_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let before = sessions(&Keys::generate(), &folder).await;
        let id = token(&before, None).await;
        let new = before.begin(&id, &[], now()).await.unwrap().unwrap();
        let link = before.link(&id, now()).await.unwrap();
        let after = sessions(&Keys::generate(), &folder).await;
        assert_eq!(after.find(new.secret.reveal(), now()).await.unwrap(), None);
        let by_link = after.begin_by_link(link.secret.reveal(), &[], now()).await;
        assert!(by_link.unwrap().is_none());
        assert!(before.find(link.secret.reveal(), now()).await.unwrap().is_none());
    }
}
