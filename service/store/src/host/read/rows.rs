//! Finds the rows of hosts by their ids, by one statement.

use std::collections::HashMap;

use muster_api::ids::HostId;
use muster_sql::{Kind, push_tuples};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row as _};

use super::select::{DOCUMENTS_KNOWN, select_briefs, select_hosts, select_listed};
use crate::host::document_cache::{DocumentCache, KnownDocuments};
use crate::host::form::HostForm;
use crate::host::found_row::FoundRow;
use crate::store::Store;

/// Selects the columns that are read of hosts.
#[derive(Clone, Copy)]
pub(super) enum Selection<'a> {
    /// Everything, except documents that are known.
    Whole(&'a DocumentCache),
    /// No documents.
    Brief,
    /// Inventory and reports as texts.
    Listed,
}

impl Store {
    pub(super) fn selection(&self, form: HostForm) -> Selection<'_> {
        match form {
            HostForm::Whole => Selection::Whole(self.documents()),
            HostForm::Brief => Selection::Brief,
        }
    }
}

/// The rows of the hosts of these ids that are not deleted, in any order.
pub(super) async fn rows_of_ids(
    connection: &mut AnyConnection,
    kind: Kind,
    ids: &[HostId],
    selection: Selection<'_>,
) -> sqlx::Result<Vec<FoundRow>> {
    match selection {
        Selection::Whole(cache) => whole_rows(connection, kind, ids, cache).await,
        Selection::Brief => rows(connection, kind, ids, select_briefs).await,
        Selection::Listed => rows(connection, kind, ids, select_listed).await,
    }
}

async fn rows(
    connection: &mut AnyConnection,
    kind: Kind,
    ids: &[HostId],
    select: fn(&str) -> String,
) -> sqlx::Result<Vec<FoundRow>> {
    let mut condition = String::from("WHERE id IN ");
    push_tuples(&mut condition, kind, 1, ids.len());
    condition.push_str(" AND deleted_at IS NULL");
    let query = sqlx::query(sqlx::AssertSqlSafe(select(&condition)));
    let query = ids.iter().fold(query, |query, id| query.bind(id.to_string()));
    let rows = query.fetch_all(connection).await?.into_iter();
    Ok(rows.map(|row| FoundRow { row, known: None }).collect())
}

async fn whole_rows(
    connection: &mut AnyConnection,
    kind: Kind,
    ids: &[HostId],
    cache: &DocumentCache,
) -> sqlx::Result<Vec<FoundRow>> {
    let known = ids.iter().filter_map(|id| Some((*id, cache.of(*id)?)));
    let known: HashMap<HostId, KnownDocuments> = known.collect();
    let mut tuples = String::new();
    push_tuples(&mut tuples, kind, ids.len(), 3);
    let mut query = sqlx::query(sqlx::AssertSqlSafe(select_hosts(&tuples)));
    for id in ids {
        let known = known.get(id);
        query = query
            .bind(id.to_string())
            .bind(known.map_or_else(String::new, |known| known.infra_env_id.to_string()))
            .bind(known.map_or(0, |known| known.version));
    }
    let found = |row: AnyRow| -> sqlx::Result<FoundRow> {
        let is_known = row.try_get::<i64, _>(DOCUMENTS_KNOWN)? == 1;
        let id = row.try_get::<&str, _>("id").ok().filter(|_| is_known);
        let id: Option<HostId> = id.and_then(|id| id.parse().ok());
        let known = id.and_then(|id| known.get(&id).cloned());
        Ok(FoundRow { row, known })
    };
    query
        .fetch_all(connection)
        .await?
        .into_iter()
        .map(found)
        .collect()
}
