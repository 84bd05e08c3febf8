//! Stores the sessions of operators, and the links by which they begin, by the digests of their secrets.

use muster_api::time::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::failed;
use crate::operator_token::{OperatorToken, find_token};
use crate::row::{Reading, micros, row};
use crate::statement::commit;
use crate::store::Store;

row! {
    OperatorSessionRow of "operator_sessions" by [id] {
        id: String,
        digest: String,
        token_id: String,
        created_at: Timestamp,
        expires_at: Timestamp,
    }
}

/// A session of an operator, without the digest of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorSession {
    pub id: String,
    /// The token by which it began.
    pub token_id: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A link by which one session of a token can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorLink {
    /// Of its secret.
    pub digest: String,
    pub token_id: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Sessions of one token, and its links. Beyond, the oldest are deleted.
const MOST: i64 = 64;

impl Store {
    /// Stores a new session in place of those with the digests `replaced`. If its token has too many, the oldest are deleted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn insert_operator_session(
        &self,
        session: &OperatorSession,
        digest: &str,
        replaced: &[String],
    ) -> Result<()> {
        let values = OperatorSessionRow {
            id: session.id.clone(),
            digest: digest.to_owned(),
            token_id: session.token_id.clone(),
            created_at: session.created_at,
            expires_at: session.expires_at,
        }
        .values(self.vault())?;
        let sql = values.insert();
        let mut transaction = self.writer().await?;
        for former in replaced {
            sqlx::query("DELETE FROM operator_sessions WHERE digest = $1")
                .bind(former)
                .execute(&mut *transaction)
                .await
                .map_err(failed("ending a session"))?;
        }
        values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a session"))?;
        trim(&mut transaction, OperatorSessionRow::TABLE, &session.token_id).await?;
        commit(transaction).await
    }

    /// The session with this digest, and its token as it is now. Either may have ended.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn find_operator_session(
        &self,
        digest: &str,
    ) -> Result<Option<(OperatorSession, OperatorToken)>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM operator_sessions WHERE digest = $1",
            OperatorSessionRow::COLUMNS
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(digest)
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("looking for a session"))?;
        let Some(session) = row.as_ref().map(session_from).transpose()? else {
            return Ok(None);
        };
        let token = find_token(&mut connection, &session.token_id).await?;
        Ok(token.map(|token| (session, token)))
    }

    /// The sessions that end after `at`, oldest first. The tokens of some may have ended.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_operator_sessions(&self, at: Timestamp) -> Result<Vec<OperatorSession>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM operator_sessions WHERE expires_at > $1 ORDER BY created_at, id",
            OperatorSessionRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(micros(at))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing sessions"))?;
        rows.iter().map(session_from).collect()
    }

    /// Deletes a session; false when it does not exist.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn delete_operator_session(&self, id: &str) -> Result<bool> {
        let mut transaction = self.writer().await?;
        let deleted = sqlx::query("DELETE FROM operator_sessions WHERE id = $1")
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(failed("ending a session"))?;
        commit(transaction).await?;
        Ok(deleted.rows_affected() > 0)
    }

    /// Stores a new link. If its token has too many, the oldest are deleted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn insert_operator_link(&self, link: &OperatorLink) -> Result<()> {
        let mut transaction = self.writer().await?;
        sqlx::query(
            "INSERT INTO operator_links (id, token_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        )
        .bind(&link.digest)
        .bind(&link.token_id)
        .bind(micros(link.created_at))
        .bind(micros(link.expires_at))
        .execute(&mut *transaction)
        .await
        .map_err(failed("storing a link"))?;
        trim(&mut transaction, "operator_links", &link.token_id).await?;
        commit(transaction).await
    }

    /// Deletes the link with this digest that ends after `at`, and returns the id of its token: of several callers one gets it.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn take_operator_link(&self, digest: &str, at: Timestamp) -> Result<Option<String>> {
        let mut transaction = self.writer().await?;
        let row =
            sqlx::query("DELETE FROM operator_links WHERE id = $1 AND expires_at > $2 RETURNING token_id")
                .bind(digest)
                .bind(micros(at))
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed("using a link"))?;
        commit(transaction).await?;
        let token_id = row.map(|row| row.try_get(0)).transpose();
        token_id.map_err(failed("reading the token of a link"))
    }
}

async fn trim(transaction: &mut Transaction<'static, Any>, table: &str, token_id: &str) -> Result<()> {
    let sql = format!(
        "DELETE FROM {table} WHERE token_id = $1 AND id NOT IN
             (SELECT id FROM {table} WHERE token_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)"
    );
    sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(token_id)
        .bind(MOST)
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("deleting the oldest sessions or links of a token"))
}

fn session_from(row: &AnyRow) -> Result<OperatorSession> {
    let row = OperatorSessionRow::read(&Reading::new(row, OperatorSessionRow::TABLE, &["id"]))?;
    Ok(OperatorSession {
        id: row.id,
        token_id: row.token_id,
        created_at: row.created_at,
        expires_at: row.expires_at,
    })
}
