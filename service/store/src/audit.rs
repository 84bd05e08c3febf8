//! Stores the newest changes by requests and commands: operator, object and outcome of each.

use muster_api::audit::{AuditObject, AuditedChange};
use muster_api::ids::InfraEnvId;
use muster_api::time::{Timestamp, millis};
use muster_sql::{Kind, in_parts};
use sqlx::any::AnyRow;
use sqlx::{Any, Row, Transaction};

use crate::Result;
use crate::error::failed;
use crate::row::{Reading, readable, row};
use crate::statement::{commit, insert_rows};
use crate::store::Store;

const WRITING: &str = "writing the audit";

/// The key of PostgreSQL's advisory lock of those who add entries. A lock of the table would wait for its maintenance (`VACUUM`).
const NUMBERING: i64 = 0x6d75_7374_6175_6469;

row! {
    AuditRow of "audit_entries" by [number] {
        number: i64,
        at: Timestamp,
        request_id: String,
        who: String,
        token_id: Option<String>,
        session_id: Option<String>,
        method: String,
        operation: String,
        object_kind: String,
        object_id: String,
        infra_env_id: Option<InfraEnvId>,
        object_name: String,
        status: i64,
    }
}

/// A change that was requested, with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When the response was made.
    pub at: Timestamp,
    /// Empty for commands.
    pub request_id: String,
    /// The name of an operator's token, `anybody` or `command line`.
    pub who: String,
    pub token_id: Option<String>,
    pub session_id: Option<String>,
    /// Of HTTP; empty for commands.
    pub method: String,
    /// The id of the REST operation, or the command.
    pub operation: String,
    /// What the request names.
    pub object: AuditedObject,
    /// Of HTTP; 0 for commands.
    pub status: u16,
}

/// The record that a request is about. All is empty if it names none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditedObject {
    /// One of [`kind`].
    pub kind: &'static str,
    pub id: String,
    /// That of a host or BMC.
    pub infra_env_id: Option<InfraEnvId>,
}

/// The kinds of objects.
pub mod kind {
    pub const HOST: &str = "host";
    pub const BMC: &str = "bmc";
    pub const CLUSTER: &str = "cluster";
    pub const INFRA_ENV: &str = "infra-env";
    pub const TOKEN: &str = "token";
    pub const SESSION: &str = "session";
}

/// Which entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditPart {
    Newest,
    /// Those with greater numbers, from the least.
    After(i64),
    /// Those with smaller numbers, from the greatest.
    Before(i64),
}

/// The statements that read the names of objects from their tables, by kind. A host has the name that it reported.
const NAMES: [(&str, &str); 5] = [
    (
        kind::HOST,
        "SELECT hostname FROM hosts WHERE hosts.id = audit_entries.object_id AND hosts.infra_env_id = audit_entries.infra_env_id",
    ),
    (
        kind::BMC,
        "SELECT name FROM bmcs WHERE bmcs.id = audit_entries.object_id",
    ),
    (
        kind::CLUSTER,
        "SELECT name FROM clusters WHERE clusters.id = audit_entries.object_id",
    ),
    (
        kind::INFRA_ENV,
        "SELECT name FROM infra_envs WHERE infra_envs.id = audit_entries.object_id",
    ),
    (
        kind::TOKEN,
        "SELECT name FROM operator_tokens WHERE operator_tokens.id = audit_entries.object_id",
    ),
];

impl Store {
    /// Adds entries in their order, with the present names of their objects, and keeps the `most` newest of all; `None`: all.
    ///
    /// # Errors
    /// Fails if the database does: then none is added.
    pub async fn add_audit_entries(&self, entries: &[AuditEntry], most: Option<u32>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut transaction = self.writer().await?;
        let last = self.last_audit_number(&mut transaction).await?;
        let mut number = last;
        for part in in_parts(entries) {
            let mut rows = Vec::with_capacity(part.len());
            for entry in part {
                number += 1;
                rows.push(AuditRow::of(number, entry).values(self.vault())?);
            }
            let into = (AuditRow::TABLE, AuditRow::COLUMNS);
            insert_rows(&mut transaction, self.kind(), into, rows, WRITING).await?;
        }
        add_names(&mut transaction, entries, last).await?;
        if let Some(most) = most {
            sqlx::query("DELETE FROM audit_entries WHERE number <= $1")
                .bind(number - i64::from(most))
                .execute(&mut *transaction)
                .await
                .map_err(failed("deleting the oldest entries of the audit"))?;
        }
        commit(transaction).await
    }

    /// The greatest number, 0 without entries. Until the end of the transaction no other one adds entries.
    async fn last_audit_number(&self, transaction: &mut Transaction<'static, Any>) -> Result<i64> {
        if self.kind() == Kind::Postgres {
            // As a text, which the driver for all databases reads.
            sqlx::query("SELECT pg_advisory_xact_lock($1)::text")
                .bind(NUMBERING)
                .execute(&mut **transaction)
                .await
                .map_err(failed(WRITING))?;
        }
        sqlx::query("SELECT COALESCE(MAX(number), 0) FROM audit_entries")
            .fetch_one(&mut **transaction)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(failed(WRITING))
    }

    /// The entries of a part, at most `most`, in the order of their numbers; and whether there are more of them.
    ///
    /// A row that cannot be read is left out, logged and counted.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn audit_entries(&self, part: AuditPart, most: usize) -> Result<(Vec<AuditedChange>, bool)> {
        let (condition, order, number) = match part {
            AuditPart::Newest => ("number < $1", "DESC", i64::MAX),
            AuditPart::Before(number) => ("number < $1", "DESC", number),
            AuditPart::After(number) => ("number > $1", "ASC", number),
        };
        let sql = format!(
            "SELECT {} FROM audit_entries WHERE {condition} ORDER BY number {order} LIMIT $2",
            AuditRow::COLUMNS
        );
        let mut connection = self.reader().await?;
        let mut rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(number)
            .bind(i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1))
            .fetch_all(&mut *connection)
            .await
            .map_err(failed("reading the audit"))?;
        let more = rows.len() > most;
        rows.truncate(most);
        let mut entries = readable(&rows, entry_from);
        entries.sort_by_key(|entry| entry.number);
        Ok((entries, more))
    }
}

/// Adds the names of the objects to the entries after this number.
async fn add_names(
    transaction: &mut Transaction<'static, Any>,
    entries: &[AuditEntry],
    after: i64,
) -> Result<()> {
    for (kind, name) in NAMES {
        if !entries.iter().any(|entry| entry.object.kind == kind) {
            continue;
        }
        let sql = format!(
            "UPDATE audit_entries SET object_name = COALESCE(({name}), '') WHERE number > $1 AND object_kind = $2"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(after)
            .bind(kind)
            .execute(&mut **transaction)
            .await
            .map_err(failed("adding names to the audit"))?;
    }
    Ok(())
}

impl AuditRow {
    fn of(number: i64, entry: &AuditEntry) -> Self {
        Self {
            number,
            at: entry.at,
            request_id: entry.request_id.clone(),
            who: entry.who.clone(),
            token_id: entry.token_id.clone(),
            session_id: entry.session_id.clone(),
            method: entry.method.clone(),
            operation: entry.operation.clone(),
            object_kind: entry.object.kind.to_owned(),
            object_id: entry.object.id.clone(),
            infra_env_id: entry.object.infra_env_id,
            object_name: String::new(),
            status: i64::from(entry.status),
        }
    }
}

fn entry_from(row: &AnyRow) -> Result<AuditedChange> {
    let row = AuditRow::read(&Reading::new(row, AuditRow::TABLE, AuditRow::KEY))?;
    let object = (!row.object_kind.is_empty()).then_some(AuditObject {
        kind: row.object_kind,
        id: row.object_id,
        name: row.object_name,
        infra_env_id: row.infra_env_id,
    });
    Ok(AuditedChange {
        number: row.number,
        at: millis(Some(row.at)),
        request_id: row.request_id,
        who: row.who,
        token_id: row.token_id,
        session_id: row.session_id,
        method: row.method,
        operation: row.operation,
        object,
        status: u16::try_from(row.status).unwrap_or_default(),
    })
}
