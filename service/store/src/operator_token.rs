//! Stores which operator tokens were made, and which of them were revoked.

use muster_api::ids::InfraEnvId;
use muster_api::time::Timestamp;
use sqlx::AnyConnection;
use sqlx::any::AnyRow;

use crate::Result;
use crate::error::failed;
use crate::row::{Reading, micros, row};
use crate::statement::commit;
use crate::store::Store;

row! {
    OperatorTokenRow of "operator_tokens" by [id] {
        id: String,
        name: String,
        read_only: bool,
        infra_env_id: Option<InfraEnvId>,
        created_at: Timestamp,
        expires_at: Option<Timestamp>,
        revoked_at: Option<Timestamp>,
    }
}

/// An operator token, without its text, which is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorToken {
    /// The token's claim `jti`.
    pub id: String,
    /// Who uses it.
    pub name: String,
    /// It allows no changes.
    pub read_only: bool,
    /// The only InfraEnv that the token opens; `None`: everything.
    pub infra_env_id: Option<InfraEnvId>,
    pub created_at: Timestamp,
    /// `None`: it does not expire.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl OperatorToken {
    /// True if it is neither revoked nor expired at that time.
    pub fn is_in_force(&self, at: Timestamp) -> bool {
        let ends = [self.revoked_at, self.expires_at];
        ends.into_iter().flatten().all(|end| end > at)
    }

    /// `good`, `expired` or `revoked` at that time.
    pub fn state(&self, at: Timestamp) -> &'static str {
        if self.revoked_at.is_some() {
            "revoked"
        } else if self.expires_at.is_some_and(|end| end <= at) {
            "expired"
        } else {
            "good"
        }
    }
}

impl Store {
    /// Stores a new token.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn insert_operator_token(&self, token: &OperatorToken) -> Result<()> {
        let values = OperatorTokenRow {
            id: token.id.clone(),
            name: token.name.clone(),
            read_only: token.read_only,
            infra_env_id: token.infra_env_id,
            created_at: token.created_at,
            expires_at: token.expires_at,
            revoked_at: token.revoked_at,
        }
        .values(self.vault())?;
        let sql = values.insert();
        let mut transaction = self.writer().await?;
        values
            .bind(sqlx::query(sqlx::AssertSqlSafe(sql)))
            .execute(&mut *transaction)
            .await
            .map_err(failed("storing a token"))?;
        commit(transaction).await
    }

    /// The token with this id.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn find_operator_token(&self, id: &str) -> Result<Option<OperatorToken>> {
        let mut connection = self.reader().await?;
        find_token(&mut connection, id).await
    }

    /// All tokens, oldest first.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn list_operator_tokens(&self) -> Result<Vec<OperatorToken>> {
        let mut connection = self.reader().await?;
        let sql = format!(
            "SELECT {} FROM operator_tokens ORDER BY created_at, id",
            OperatorTokenRow::COLUMNS
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("listing tokens"))?;
        rows.iter().map(token_from).collect()
    }

    /// Revokes a token; false when it does not exist, or is revoked already.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn revoke_operator_token(&self, id: &str, at: Timestamp) -> Result<bool> {
        let mut transaction = self.writer().await?;
        let revoked =
            sqlx::query("UPDATE operator_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
                .bind(id)
                .bind(micros(at))
                .execute(&mut *transaction)
                .await
                .map_err(failed("revoking a token"))?;
        commit(transaction).await?;
        Ok(revoked.rows_affected() > 0)
    }
}

/// The token with this id.
pub(crate) async fn find_token(connection: &mut AnyConnection, id: &str) -> Result<Option<OperatorToken>> {
    let sql = format!(
        "SELECT {} FROM operator_tokens WHERE id = $1",
        OperatorTokenRow::COLUMNS
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(id)
        .fetch_optional(connection)
        .await
        .map_err(failed("looking for a token"))?;
    row.as_ref().map(token_from).transpose()
}

fn token_from(row: &AnyRow) -> Result<OperatorToken> {
    let row = OperatorTokenRow::read(&Reading::new(row, OperatorTokenRow::TABLE, &["id"]))?;
    Ok(OperatorToken {
        id: row.id,
        name: row.name,
        read_only: row.read_only,
        infra_env_id: row.infra_env_id,
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
    })
}
