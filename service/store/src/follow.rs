//! Hearing what other replicas change, on PostgreSQL's notifications.
//!
//! A connection can die without a word, and poolers between us and the server may swallow notifications. So the channel is
//! trusted only while a beat of our own comes back on it: hosts that are kept in memory are at most two beats behind then.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::change::{CHANNEL, new_id};
use crate::outbox::Subject;
use crate::store::Store;
use crate::told::Told;

/// Between two beats.
const BEAT: Duration = Duration::from_secs(15);
/// Before the channel is opened again.
const AGAIN: Duration = Duration::from_secs(2);

/// Begins the text of a beat.
const BEAT_WORD: &str = "beat ";

impl Store {
    /// Follows the changes that other replicas make, for as long as it is polled; until then, and while the server cannot be
    /// heard, every poll of a host reads the database. Nothing to do on SQLite.
    pub async fn follow_changes(&self) -> Infallible {
        let Some(url) = self.server() else {
            return std::future::pending().await;
        };
        loop {
            let why = match self.follow_once(url).await {
                Ok(()) => "the channel went silent".to_owned(),
                // The driver's texts hold no password.
                Err(error) => error.to_string(),
            };
            self.polled().distrust();
            tracing::debug!(
                why,
                "changes of other replicas are not heard; hosts are read at every poll"
            );
            sleep(AGAIN).await;
        }
    }

    async fn follow_once(&self, url: &str) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect(url).await?;
        listener.listen(CHANNEL).await?;
        let awaited = Mutex::new(None);
        tokio::select! {
            ended = self.hear(&mut listener, &awaited) => ended,
            ended = self.beat(&awaited) => ended,
        }
    }

    async fn hear(
        &self,
        listener: &mut PgListener,
        awaited: &Mutex<Option<String>>,
    ) -> Result<(), sqlx::Error> {
        // `None`: the connection broke, and what was said meanwhile is lost.
        while let Some(heard) = listener.try_recv().await? {
            let text = heard.payload();
            if let Some(word) = text.strip_prefix(BEAT_WORD) {
                let mut awaited = awaited.lock().unwrap_or_else(PoisonError::into_inner);
                if awaited.as_deref() == Some(word) {
                    *awaited = None;
                    self.polled().trust();
                }
            } else if let Some(told) = told(text) {
                if let Subject::Host { infra_env_id, id } = told.subject {
                    self.polled().changed((infra_env_id, id));
                }
                self.listeners().tell(told);
            }
        }
        Ok(())
    }

    /// Ends when a beat has not come back before the next.
    async fn beat(&self, awaited: &Mutex<Option<String>>) -> Result<(), sqlx::Error> {
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let word = new_id();
            let before = awaited
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .replace(word.clone());
            if before.is_some() {
                return Ok(());
            }
            self.say(&format!("{BEAT_WORD}{word}")).await?;
        }
    }

    async fn say(&self, text: &str) -> Result<(), sqlx::Error> {
        let mut connection = self.server_connection().await?;
        sqlx::query("SELECT CAST(pg_notify($1, $2) AS TEXT)")
            .bind(CHANNEL)
            .bind(text)
            .execute(&mut *connection)
            .await
            .map(drop)
    }
}

/// `KIND KEY VERSION`, as [`note_change`](crate::change::note_change) writes it.
fn told(text: &str) -> Option<Told> {
    let mut words = text.split(' ');
    let subject = Subject::from_columns(words.next()?, words.next()?)?;
    let version = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Some(Told { subject, version })
}
