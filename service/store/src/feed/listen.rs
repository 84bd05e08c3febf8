//! Receives the changes of other replicas from PostgreSQL's notifications.
//!
//! A connection can die silently, and poolers between this process and the server may swallow notifications. So the channel is trusted only
//! while this process receives its own heartbeats on it: cached hosts are at most two heartbeats old then.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::change::CHANNEL;
use super::notify::RecordChange;
use super::subject::Subject;
use crate::statement::new_id;
use crate::store::Store;

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
const RECONNECT_INTERVAL: Duration = Duration::from_secs(2);

/// Begins the payload of a heartbeat. Replicas of earlier versions send it, too.
const HEARTBEAT_PREFIX: &str = "beat ";

impl Store {
    /// Receives the changes of other replicas for as long as it is polled. Until then, and while it fails, every poll of a host
    /// reads the database. Does nothing on SQLite.
    pub async fn receive_notifications(&self) -> Infallible {
        let Some(url) = self.server() else {
            return std::future::pending().await;
        };
        loop {
            let why = match self.listen(url).await {
                Ok(()) => "the channel went silent".to_owned(),
                // The driver's texts hold no password.
                Err(error) => error.to_string(),
            };
            self.polled().distrust();
            tracing::debug!(
                why,
                "changes of other replicas are not received; hosts are read at every poll"
            );
            sleep(RECONNECT_INTERVAL).await;
        }
    }

    async fn listen(&self, url: &str) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect(url).await?;
        listener.listen(CHANNEL).await?;
        let awaited = Mutex::new(None);
        tokio::select! {
            ended = self.receive(&mut listener, &awaited) => ended,
            ended = self.send_heartbeats(&awaited) => ended,
        }
    }

    async fn receive(
        &self,
        listener: &mut PgListener,
        awaited: &Mutex<Option<String>>,
    ) -> Result<(), sqlx::Error> {
        // `None`: the connection broke, and notifications were lost.
        while let Some(notification) = listener.try_recv().await? {
            let payload = notification.payload();
            if let Some(id) = payload.strip_prefix(HEARTBEAT_PREFIX) {
                let mut awaited = awaited.lock().unwrap_or_else(PoisonError::into_inner);
                if awaited.as_deref() == Some(id) {
                    *awaited = None;
                    if !self.polled().is_trusted() {
                        self.polled().trust();
                        self.subscribers().notify_of_gap();
                    }
                }
            } else if let Some(change) = parse(payload) {
                if let Subject::Host { infra_env_id, id } = change.subject {
                    self.polled().changed((infra_env_id, id));
                }
                self.subscribers().notify(change);
            }
        }
        Ok(())
    }

    /// Ends when a heartbeat was not received before the next one is due.
    async fn send_heartbeats(&self, awaited: &Mutex<Option<String>>) -> Result<(), sqlx::Error> {
        let mut ticks = interval(HEARTBEAT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let id = new_id();
            let before = awaited
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .replace(id.clone());
            if before.is_some() {
                return Ok(());
            }
            self.send(&format!("{HEARTBEAT_PREFIX}{id}")).await?;
        }
    }

    async fn send(&self, payload: &str) -> Result<(), sqlx::Error> {
        let mut connection = self.server_connection().await?;
        sqlx::query("SELECT CAST(pg_notify($1, $2) AS TEXT)")
            .bind(CHANNEL)
            .bind(payload)
            .execute(&mut *connection)
            .await
            .map(drop)
    }
}

/// Parses `KIND KEY VERSION`, as [`note_change`](super::change::note_change) writes it.
fn parse(payload: &str) -> Option<RecordChange> {
    let mut words = payload.split(' ');
    let subject = Subject::from_columns(words.next()?, words.next()?)?;
    let version = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Some(RecordChange { subject, version })
}
