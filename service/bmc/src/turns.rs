//! One operation at a time on each BMC, a shortest time between power calls, and the memory of refused credentials, for all
//! conversations of one [`crate::Client`] (docs/protocol/redfish.md#7).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};

use crate::connection::Credentials;
use crate::error::BmcError;

/// Most BMCs that are remembered; those in use are kept beyond that.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Turns {
    bmcs: Mutex<HashMap<SocketAddr, Arc<tokio::sync::Mutex<Remembered>>>>,
    hasher: RandomState,
}

/// State that outlives a conversation.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    last_power_call: Option<Instant>,
    /// Hash of credentials that were refused.
    refused: Option<u64>,
}

/// The exclusive right to a conversation with a BMC, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    memory: OwnedMutexGuard<Remembered>,
    credentials: u64,
}

/// Held during a conversation with a BMC.
#[derive(Debug)]
pub(crate) struct Held {
    pub turn: Turn,
    /// One of the permits for conversations with all BMCs.
    pub permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl Turns {
    /// Waits until no other conversation uses the BMC at an address.
    ///
    /// # Errors
    /// [`BmcError::Busy`] after `longest`.
    pub async fn take(
        &self,
        address: SocketAddr,
        credentials: &Credentials,
        longest: Duration,
    ) -> Result<Turn, BmcError> {
        let memory = self.of(address);
        let memory = tokio::time::timeout(longest, memory.lock_owned()).await;
        Ok(Turn {
            memory: memory.map_err(|_| BmcError::Busy(longest))?,
            credentials: self.hasher.hash_one(credentials),
        })
    }

    fn of(&self, address: SocketAddr) -> Arc<tokio::sync::Mutex<Remembered>> {
        let mut bmcs = self.bmcs.lock().unwrap_or_else(PoisonError::into_inner);
        if bmcs.len() >= MOST && !bmcs.contains_key(&address) {
            bmcs.retain(|_, memory| Arc::strong_count(memory) > 1);
        }
        Arc::clone(bmcs.entry(address).or_default())
    }
}

impl Turn {
    /// # Errors
    /// [`BmcError::BadCredentials`] when the BMC refused these credentials before.
    pub fn check(&self, credentials: &Credentials) -> Result<(), BmcError> {
        match self.memory.refused == Some(self.credentials) {
            true => Err(BmcError::BadCredentials {
                user: credentials.user.clone(),
                refusal: None,
            }),
            false => Ok(()),
        }
    }

    /// Remembers whether the BMC refused the credentials; other errors do not show that.
    pub fn note<T>(&mut self, answered: &Result<T, BmcError>) {
        match answered {
            Ok(_) => self.memory.refused = None,
            Err(BmcError::BadCredentials { .. }) => self.memory.refused = Some(self.credentials),
            Err(_) => {}
        }
    }

    /// Allows refused credentials to be tried again.
    pub fn forgive(&mut self) {
        self.memory.refused = None;
    }

    /// Waits until `interval` has passed since the last power call, and records a new one.
    pub async fn before_power_call(&mut self, interval: Duration) {
        if let Some(last) = self.memory.last_power_call {
            tokio::time::sleep(interval.saturating_sub(last.elapsed())).await;
        }
        self.memory.last_power_call = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn bmc() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], 443))
    }

    #[tokio::test]
    async fn one_at_a_time_talks_to_a_bmc() {
        let (turns, who) = (Turns::default(), Credentials::new("a", "b"));
        let first = turns.take(bmc(), &who, SOON).await.unwrap();
        let other = SocketAddr::from(([192, 0, 2, 2], 443));
        assert!(turns.take(other, &who, SOON).await.is_ok());
        assert!(matches!(
            turns.take(bmc(), &who, SOON).await,
            Err(BmcError::Busy(_))
        ));
        drop(first);
        assert!(turns.take(bmc(), &who, SOON).await.is_ok());
    }

    #[tokio::test]
    async fn refused_credentials_are_remembered_until_others_come() {
        let (turns, bad, good) = (
            Turns::default(),
            Credentials::new("a", "bad"),
            Credentials::new("a", "good"),
        );
        let mut turn = turns.take(bmc(), &bad, SOON).await.unwrap();
        turn.check(&bad).unwrap();
        turn.note::<()>(&Err(BmcError::BadCredentials {
            user: "a".into(),
            refusal: None,
        }));
        drop(turn);
        let mut again = turns.take(bmc(), &bad, SOON).await.unwrap();
        assert!(matches!(again.check(&bad), Err(BmcError::BadCredentials { .. })));
        again.note::<()>(&Err(BmcError::Busy(SOON)));
        assert!(again.check(&bad).is_err());
        drop(again);
        let other = turns.take(bmc(), &good, SOON).await.unwrap();
        other.check(&good).unwrap();
        drop(other);
        let mut again = turns.take(bmc(), &bad, SOON).await.unwrap();
        again.forgive();
        again.check(&bad).unwrap();
    }

    #[tokio::test]
    async fn power_calls_keep_their_distance() {
        let turns = Turns::default();
        let who = Credentials::new("a", "b");
        let started = Instant::now();
        let interval = Duration::from_millis(50);
        for _ in 0..2 {
            let mut turn = turns.take(bmc(), &who, SOON).await.unwrap();
            turn.before_power_call(interval).await;
        }
        assert!(started.elapsed() >= interval);
    }
}
