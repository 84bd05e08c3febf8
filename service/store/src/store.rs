//! Provides connections for reads and transactions for writes, and counts both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use muster_core::record::EventLimits;
use muster_sql::Kind;
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool, Transaction};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::Result;
use crate::error::failed;
use crate::event::StoredEvents;
use crate::feed::Subscribers;
use crate::host::{DocumentCache, HostForm, HostQueue, HostReads, Polled, ReadQueue};
use crate::vault::Vault;

/// Time that an operation waits for a free connection. SQLite has a single writing one, so under load writes queue here.
pub(crate) const CONNECTION_PATIENCE: Duration = Duration::from_secs(30);

/// The open database. Cloning is cheap; clones share connections.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    request_id: Option<Arc<str>>,
    event_limits: Arc<EventLimits>,
    vault: Arc<Vault>,
}

struct Shared {
    kind: Kind,
    readers: AnyPool,
    writers: AnyPool,
    reads: AtomicU64,
    writes: AtomicU64,
    polled: Arc<Polled>,
    subscribers: Subscribers,
    stored_events: StoredEvents,
    host_queue: HostQueue,
    host_reads: HostReads,
    documents: Arc<DocumentCache>,
    /// Permits for the readers of lists of hosts: the other readers are left for boots and for hosts that are not known yet.
    list_readers: Semaphore,
    /// The URL of PostgreSQL, for a connection outside the pools.
    server: Option<String>,
}

/// Number of uses of the database since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementCounts {
    /// Operations that only read.
    pub reads: u64,
    /// Write transactions begun.
    pub writes: u64,
}

impl Store {
    pub(crate) fn new(kind: Kind, readers: AnyPool, writers: AnyPool, url: &str, vault: Vault) -> Self {
        let most_readers = usize::try_from(readers.options().get_max_connections()).unwrap_or(1);
        let shared = Shared {
            kind,
            readers,
            writers,
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            polled: Arc::new(Polled::new(kind == Kind::Sqlite)),
            subscribers: Subscribers::default(),
            stored_events: StoredEvents::default(),
            host_queue: HostQueue::new(kind),
            host_reads: HostReads::default(),
            documents: Arc::default(),
            list_readers: Semaphore::new(most_readers.div_ceil(2)),
            server: (kind == Kind::Postgres).then(|| url.to_owned()),
        };
        Self {
            shared: Arc::new(shared),
            request_id: None,
            event_limits: Arc::default(),
            vault: Arc::new(vault),
        }
    }

    /// The same store, writing this request id to the events that it stores.
    pub fn on_behalf_of(&self, request_id: impl Into<Arc<str>>) -> Self {
        Self {
            request_id: Some(request_id.into()),
            ..self.clone()
        }
    }

    /// The same store with other limits of events.
    pub fn with_event_limits(&self, limits: EventLimits) -> Self {
        Self {
            event_limits: Arc::new(limits),
            ..self.clone()
        }
    }

    pub(crate) fn stored_events(&self) -> &StoredEvents {
        &self.shared.stored_events
    }

    pub(crate) fn event_limits(&self) -> &EventLimits {
        &self.event_limits
    }

    pub(crate) fn shared_event_limits(&self) -> Arc<EventLimits> {
        Arc::clone(&self.event_limits)
    }

    pub(crate) fn host_queue(&self) -> &HostQueue {
        &self.shared.host_queue
    }

    pub(crate) fn host_reads(&self, form: HostForm) -> &ReadQueue {
        self.shared.host_reads.of(form)
    }

    /// The documents of hosts that were used lately.
    pub(crate) fn documents(&self) -> &Arc<DocumentCache> {
        &self.shared.documents
    }

    /// The keys of the secrets in it.
    pub fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    pub fn kind(&self) -> Kind {
        self.shared.kind
    }

    /// The pools of connections that read and that write, for parts of the service that keep their own tables in the same database. On
    /// PostgreSQL both are the same pool.
    pub fn pools(&self) -> (AnyPool, AnyPool) {
        (self.shared.readers.clone(), self.shared.writers.clone())
    }

    /// Reads a row: fails when the database is connected but does not respond.
    ///
    /// # Errors
    /// `Unavailable` then.
    pub async fn ping(&self) -> Result<()> {
        let mut connection = self.reader().await?;
        sqlx::query("SELECT version FROM infra_envs LIMIT 1")
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed("checking whether the database answers"))?;
        Ok(())
    }

    /// Waits for running operations and closes all connections. SQLite's log is folded into its file.
    pub async fn close(&self) {
        self.shared.readers.close().await;
        self.shared.writers.close().await;
    }

    /// For metrics, and for tests that assert how often the database is used.
    pub fn statement_counts(&self) -> StatementCounts {
        StatementCounts {
            reads: self.shared.reads.load(Ordering::Relaxed),
            writes: self.shared.writes.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn polled(&self) -> &Arc<Polled> {
        &self.shared.polled
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.shared.subscribers
    }

    /// The URL of the server, if there is one.
    pub(crate) fn server(&self) -> Option<&str> {
        self.shared.server.as_deref()
    }

    /// A connection for statements that neither read nor write records.
    pub(crate) async fn server_connection(&self) -> sqlx::Result<PoolConnection<Any>> {
        self.shared.readers.acquire().await
    }

    pub(crate) fn request_id(&self) -> Option<String> {
        self.request_id.as_deref().map(str::to_owned)
    }

    /// Counts an operation that only reads.
    pub(crate) fn count_read(&self) {
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection for one such operation.
    pub(crate) async fn reader(&self) -> Result<PoolConnection<Any>> {
        self.count_read();
        self.shared
            .readers
            .acquire()
            .await
            .map_err(failed("waiting for a connection"))
    }

    /// Waits for the permit to read a part of a list of hosts.
    ///
    /// # Errors
    /// Fails if none is free within [`CONNECTION_PATIENCE`].
    pub(crate) async fn list_turn(&self) -> Result<SemaphorePermit<'_>> {
        let turn = timeout(CONNECTION_PATIENCE, self.shared.list_readers.acquire()).await;
        let turn = turn.ok().and_then(|acquired| acquired.ok());
        turn.ok_or(sqlx::Error::PoolTimedOut)
            .map_err(failed("waiting for the turn of a list"))
    }

    /// Begins a write transaction ([`Kind::begin_write`]).
    pub(crate) async fn writer(&self) -> Result<Transaction<'static, Any>> {
        self.shared.writes.fetch_add(1, Ordering::Relaxed);
        let begun = self.shared.kind.begin_write(&self.shared.writers).await;
        begun.map_err(failed("beginning a write"))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("kind", &self.kind())
            .finish_non_exhaustive()
    }
}
