//! Writes the large documents of a host to tables of their own: its reports, about itself and about others, the summary of the former, and
//! its bootstrap data.

use std::sync::Arc;

use muster_api::inventory::Inventory;
use muster_core::record::{Host, HostReports};
use muster_sql::{Kind, in_parts, push_tuples};
use sqlx::{Any, Row as _, Transaction};

use crate::Result;
use crate::error::failed;
use crate::host::change::{Document, Documents, HostKey, HostWrite};
use crate::host::document_cache::{KnownDocuments, Sizes};
use crate::host::row::{BOOTSTRAP_DATA, DOCUMENT};
use crate::host::summaries;
use crate::row::{document, storable};
use crate::store::Store;
use crate::vault::Place;

impl Documents {
    /// `known`: the stored documents of the version that is changed, if they are cached.
    ///
    /// # Errors
    /// `Encode` when one cannot be written as JSON.
    pub(super) fn of(host: &Host, known: Option<&KnownDocuments>) -> Result<Self> {
        let place = |inventory: &Option<Arc<Inventory>>| inventory.as_ref().map(Arc::as_ptr);
        let inventory = match &host.inventory {
            inventory if known.is_some_and(|known| place(&known.inventory) == place(inventory)) => {
                Document::Unchanged
            }
            Some(inventory) => Document::Text(document(INVENTORIES.name, DOCUMENT, &**inventory)?),
            None => Document::None,
        };
        let reports = if known.is_some_and(|known| Arc::ptr_eq(&host.reports, &known.reports)) {
            Document::Unchanged
        } else if *host.reports == HostReports::default() {
            Document::None
        } else {
            Document::Text(document(REPORTS.name, DOCUMENT, &*host.reports)?)
        };
        Ok(Self {
            summary: match (&inventory, &host.inventory) {
                (Document::Text(_), Some(inventory)) => Document::Text(summaries::text(inventory)?),
                (Document::Unchanged, _) => Document::Unchanged,
                (Document::None | Document::Text(_), _) => Document::None,
            },
            inventory,
            reports,
            bootstrap: match host.bootstrap_ignition.is_empty() {
                true if known.is_some_and(|known| !known.has_bootstrap) => Document::Unchanged,
                true => Document::None,
                false => Document::Text(storable(host.bootstrap_ignition.reveal())),
            },
        })
    }

    /// The lengths of inventory and reports, as stored after this write.
    pub(super) fn sizes(&self, known: Option<&KnownDocuments>) -> Sizes {
        let before = known.map(|known| known.sizes).unwrap_or_default();
        Sizes {
            inventory: self.inventory.size(before.inventory),
            reports: self.reports.size(before.reports),
        }
    }
}

/// Removes those of a host that is deleted: its row stays.
pub(super) async fn remove(
    transaction: &mut Transaction<'static, Any>,
    kind: Kind,
    key: HostKey,
) -> Result<()> {
    for table in [INVENTORIES, SUMMARIES, REPORTS, BOOTSTRAP] {
        table.remove(transaction, kind, vec![key]).await?;
    }
    Ok(())
}

/// Finds one document among those of a host.
type Of = fn(&Documents) -> &Document;

/// Writes or removes the documents of hosts. One that is not known to be unchanged costs a read.
pub(super) async fn write(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    hosts: &[&HostWrite],
) -> Result<()> {
    let kind = store.kind();
    let tables: [(Table, Of); 3] = [
        (INVENTORIES, |documents| &documents.inventory),
        (SUMMARIES, |documents| &documents.summary),
        (REPORTS, |documents| &documents.reports),
    ];
    for (table, of) in tables {
        let there = hosts
            .iter()
            .filter_map(|host| Some((host.key, of(&host.documents).text()?)));
        table.write(transaction, kind, there.collect()).await?;
        table.remove(transaction, kind, gone(hosts, of)).await?;
    }
    for host in hosts {
        if let Some(text) = host.documents.bootstrap.text() {
            write_bootstrap_data(transaction, store, host.key, text).await?;
        }
    }
    BOOTSTRAP
        .remove(transaction, kind, gone(hosts, |documents| &documents.bootstrap))
        .await
}

/// The hosts that may have had a document and have none any more.
fn gone(hosts: &[&HostWrite], of: Of) -> Vec<HostKey> {
    hosts
        .iter()
        .filter(|host| !host.is_new && matches!(of(&host.documents), Document::None))
        .map(|host| host.key)
        .collect()
}

/// A sealed text differs each time, so the stored value is opened and compared.
async fn write_bootstrap_data(
    transaction: &mut Transaction<'static, Any>,
    store: &Store,
    (infra_env_id, id): HostKey,
    text: &str,
) -> Result<()> {
    let vault = store.vault();
    let name = format!("{infra_env_id}/{id}");
    let place = Place {
        table: BOOTSTRAP_DATA,
        column: DOCUMENT,
        id: &name,
    };
    if vault.seals() {
        let row =
            sqlx::query("SELECT document FROM host_bootstrap_data WHERE host_id = $1 AND infra_env_id = $2")
                .bind(id.to_string())
                .bind(infra_env_id.to_string())
                .fetch_optional(&mut **transaction)
                .await
                .map_err(failed("reading bootstrap data"))?;
        let stored = row.and_then(|row| row.try_get::<String, _>(0).ok());
        if stored.is_some_and(|stored| vault.open(&place, stored).is_ok_and(|known| known == text)) {
            return Ok(());
        }
    }
    let sealed = vault.seal(&place, text.to_owned())?;
    BOOTSTRAP
        .write(transaction, store.kind(), vec![((infra_env_id, id), &sealed)])
        .await
}

/// The table of one kind of document.
#[derive(Clone, Copy)]
struct Table {
    name: &'static str,
    /// For errors.
    doing: &'static str,
}

const INVENTORIES: Table = Table {
    name: "host_inventories",
    doing: "storing an inventory",
};
const SUMMARIES: Table = Table {
    name: summaries::TABLE,
    doing: "storing the summary of an inventory",
};
const REPORTS: Table = Table {
    name: "host_reports",
    doing: "storing what a host reports of others",
};
const BOOTSTRAP: Table = Table {
    name: BOOTSTRAP_DATA,
    doing: "storing bootstrap data",
};

impl Table {
    async fn write(
        self,
        transaction: &mut Transaction<'static, Any>,
        kind: Kind,
        documents: Vec<(HostKey, &str)>,
    ) -> Result<()> {
        let name = self.name;
        for part in in_parts(&documents) {
            let mut sql = format!("INSERT INTO {name} (host_id, infra_env_id, document) VALUES ");
            push_tuples(&mut sql, kind, part.len(), 3);
            sql.push_str(&format!(
                " ON CONFLICT (host_id, infra_env_id) DO UPDATE SET document = excluded.document \
                 WHERE {name}.document <> excluded.document"
            ));
            let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
            for ((infra_env_id, id), document) in part {
                query = query
                    .bind(id.to_string())
                    .bind(infra_env_id.to_string())
                    .bind(*document);
            }
            query
                .execute(&mut **transaction)
                .await
                .map_err(failed(self.doing))?;
        }
        Ok(())
    }

    async fn remove(
        self,
        transaction: &mut Transaction<'static, Any>,
        kind: Kind,
        keys: Vec<HostKey>,
    ) -> Result<()> {
        for part in in_parts(&keys) {
            let mut sql = format!(
                "DELETE FROM {} WHERE (host_id, infra_env_id) IN (VALUES ",
                self.name
            );
            push_tuples(&mut sql, kind, part.len(), 2);
            sql.push(')');
            let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
            for (infra_env_id, id) in part {
                query = query.bind(id.to_string()).bind(infra_env_id.to_string());
            }
            query
                .execute(&mut **transaction)
                .await
                .map_err(failed(self.doing))?;
        }
        Ok(())
    }
}
