//! Reads hosts that are requested at the same time by one query.
//!
//! A query costs more than the data that it reads of a host: on SQLite it is passed to the thread of a connection and back, on a server it
//! is a round trip. A booting host is read ten times and more.

use std::collections::HashMap;
use std::sync::Arc;

use muster_api::ids::HostId;
use muster_sql::in_parts;
use sqlx::Any;
use sqlx::pool::PoolConnection;
use tokio::sync::oneshot;

use super::queue::{HostRead, Rows};
use super::rows::rows_of_ids;
use crate::Result;
use crate::error::{failed, runtime_ended};
use crate::host::form::HostForm;
use crate::host::row::{HOST_KEY, HostRow};
use crate::row::Reading;
use crate::store::Store;

impl Store {
    /// The rows of the hosts of this id that are not deleted, as [`rows_of_ids`] reads them. Whatever was committed before is seen.
    pub(super) async fn rows_of(&self, id: HostId, form: HostForm) -> Result<Rows> {
        let (answer, answered) = oneshot::channel();
        if self.host_reads(form).add(HostRead { id, answer }) {
            let store = self.clone();
            tokio::spawn(async move { store.read_waiting_hosts(form).await });
        }
        answered.await.map_err(|_| runtime_ended("reading a host"))?
    }

    /// Reads requested hosts until no request waits.
    async fn read_waiting_hosts(&self, form: HostForm) {
        let mut reader = self.host_reads(form).reader();
        let mut connection = None;
        loop {
            let reads = reader.next();
            if reads.is_empty() {
                return;
            }
            let mut ids: Vec<HostId> = reads.iter().map(|read| read.id).collect();
            ids.sort_unstable();
            ids.dedup();
            match self.read_rows(&mut connection, &ids, form).await {
                Ok(rows) => {
                    for read in reads {
                        let found = rows.get(&read.id).cloned().unwrap_or_default();
                        read.answer(Ok(found));
                    }
                }
                Err(error) => {
                    connection = None;
                    let mut reads = reads.into_iter();
                    let first = reads.next();
                    reads.for_each(|read| read.answer(Err(error.of_another())));
                    if let Some(first) = first {
                        first.answer(Err(error));
                    }
                }
            }
        }
    }

    async fn read_rows(
        &self,
        connection: &mut Option<PoolConnection<Any>>,
        ids: &[HostId],
        form: HostForm,
    ) -> Result<HashMap<HostId, Rows>> {
        let connection = match connection {
            Some(connection) => {
                self.count_read();
                connection
            }
            None => connection.insert(self.reader().await?),
        };
        let mut found: HashMap<HostId, Rows> = HashMap::with_capacity(ids.len());
        for part in in_parts(ids) {
            let rows = rows_of_ids(connection, self.kind(), part, self.selection(form)).await;
            for row in rows.map_err(failed("reading hosts"))? {
                // A key that cannot be read belongs to none of the hosts.
                let key: Result<HostId> = Reading::new(&row.row, HostRow::TABLE, HOST_KEY).get("id");
                if let Ok(id) = key {
                    found.entry(id).or_default().push(Arc::new(row));
                }
            }
        }
        Ok(found)
    }
}
