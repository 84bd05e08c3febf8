//! Checks that a request in a host's name comes from the machine that registered.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use muster_api::host_key::{Proof, signed_text};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host::key;
use muster_store::StoreError;
use ring::signature::{ED25519, UnparsedPublicKey};

use super::Hosts;

/// Largest difference between a proof's time and ours: requests take time, and replicas' clocks differ a little.
const WINDOW_SECS: u64 = 300;

/// Most stored proofs of one host: an agent needs some hundred in the time in which one is valid. If a host makes more,
/// proofs older than the stored ones are refused.
const MOST_OF_HOST: usize = 2048;

/// Most keys with stored registration proofs: any number of keys can be made by holders of the token.
const MOST_REGISTRATIONS: u64 = 10_000;

/// The recently used proofs, of this replica.
#[derive(Clone)]
pub struct Proofs {
    /// Proofs with the keys of hosts. Silent hosts are dropped, so there are at most as many entries as hosts.
    used: Cache<HostId, Arc<Mutex<Used>>>,
    /// Proofs at registrations: their keys may belong to no host.
    registrations: Cache<(HostId, String), Arc<Mutex<Used>>>,
}

impl Default for Proofs {
    fn default() -> Self {
        Self {
            used: Cache::builder()
                .time_to_idle(Duration::from_secs(2 * WINDOW_SECS))
                .build(),
            registrations: Cache::builder()
                .max_capacity(MOST_REGISTRATIONS)
                .time_to_idle(Duration::from_secs(2 * WINDOW_SECS))
                .build(),
        }
    }
}

/// The proofs that one host used.
#[derive(Default)]
struct Used {
    /// Time and nonce of each.
    proofs: BTreeSet<(i64, String)>,
    /// Proofs of this time and before are not stored.
    forgotten: Option<i64>,
}

impl Used {
    /// Stores a proof; returns false if it was used before, or may have been.
    fn note(&mut self, proof: &Proof, now: Timestamp) -> bool {
        let (time, nonce) = (proof.time, proof.nonce.clone());
        if self.forgotten.is_some_and(|until| time <= until) || !self.proofs.insert((time, nonce)) {
            return false;
        }
        let too_old = |time: i64| now.timestamp().abs_diff(time) > 2 * WINDOW_SECS;
        while let Some((oldest, _)) = self.proofs.first()
            && (self.proofs.len() > MOST_OF_HOST || too_old(*oldest))
        {
            self.forgotten = self.forgotten.max(Some(*oldest));
            self.proofs.pop_first();
        }
        true
    }
}

/// The parts of a request that a proof covers.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// `None`: the request has no readable proof.
    pub proof: Option<&'a Proof>,
}

/// A request is not proved to come from the machine that registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotProved {
    #[error(
        "the host has registered with a key of its own, and the request holds no proof of it; a machine that was restarted registers first"
    )]
    Missing,
    #[error(
        "the InfraEnv takes only hosts with a key of their own (require_host_keys); boot its Muster image"
    )]
    Demanded,
    #[error("the proof was not made with the host's key")]
    Wrong,
    #[error("the proof was made for another time; the time here is in the answer's Date")]
    OutOfTime,
    #[error("the proof was used before")]
    UsedBefore,
}

/// The outcome of a check.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error(transparent)]
    NotProved(#[from] NotProved),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Proofs {
    /// Checks a proof of the holder of `public_key`, the host's key. It can be used once.
    ///
    /// # Errors
    /// [`NotProved`] if the proof is missing, invalid or was used before.
    pub fn check(
        &self,
        public_key: &str,
        host: HostId,
        spoken: Spoken<'_>,
        now: Timestamp,
    ) -> Result<(), NotProved> {
        let proof = verified(public_key, host, spoken, now)?;
        note(&self.used.get_with(host, Arc::default), proof, now)
    }

    /// The same for a machine that registers with a key, which need not be the host's.
    ///
    /// # Errors
    /// [`NotProved`] if the proof is missing, invalid or was used before.
    pub fn check_registration(
        &self,
        public_key: &str,
        claimed: HostId,
        spoken: Spoken<'_>,
        now: Timestamp,
    ) -> Result<(), NotProved> {
        let proof = verified(public_key, claimed, spoken, now)?;
        let key = (claimed, public_key.to_owned());
        note(&self.registrations.get_with(key, Arc::default), proof, now)
    }
}

/// The proof of a request, which the holder of `public_key` made for it.
fn verified<'a>(
    public_key: &str,
    host: HostId,
    spoken: Spoken<'a>,
    now: Timestamp,
) -> Result<&'a Proof, NotProved> {
    let proof = spoken.proof.ok_or(NotProved::Missing)?;
    if now.timestamp().abs_diff(proof.time) > WINDOW_SECS {
        return Err(NotProved::OutOfTime);
    }
    let text = signed_text(spoken.method, spoken.path, host, proof.time, &proof.nonce);
    let (Ok(key), Ok(signature)) = (hex::decode(public_key), hex::decode(&proof.signature)) else {
        return Err(NotProved::Wrong);
    };
    UnparsedPublicKey::new(&ED25519, key)
        .verify(text.as_bytes(), &signature)
        .map_err(|_| NotProved::Wrong)?;
    Ok(proof)
}

/// Of two concurrent requests one is first.
fn note(used: &Mutex<Used>, proof: &Proof, now: Timestamp) -> Result<(), NotProved> {
    let is_new = used
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .note(proof, now);
    is_new.then_some(()).ok_or(NotProved::UsedBefore)
}

impl Hosts {
    /// Checks that the holder of an image's token may act for a host: one without a key, or its own.
    ///
    /// # Errors
    /// [`ProofError`] if the request is not proved, or the database fails.
    pub async fn check_proof(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        spoken: Spoken<'_>,
        now: Timestamp,
    ) -> Result<(), ProofError> {
        let Some(host) = self.store.polled_host(infra_env_id, id).await? else {
            return Ok(());
        };
        if host.data.public_key.is_empty() {
            let infra_env = self.infra_envs.find(infra_env_id).await?;
            if infra_env.is_some_and(|found| found.settings.require_host_keys) {
                return Err(NotProved::Demanded.into());
            }
            return Ok(());
        }
        Ok(self.proofs.check(&host.data.public_key, id, spoken, now)?)
    }

    /// True if the request comes from an installed host, or one on its way there or back, that has a key and proves it:
    /// its agent keeps access though its token was replaced.
    ///
    /// # Errors
    /// If the database fails. An invalid proof counts as none.
    pub async fn outlasts_token(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        spoken: Spoken<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let Some(host) = self.store.polled_host(infra_env_id, id).await? else {
            return Ok(false);
        };
        let key = &host.data.public_key;
        Ok(!key.is_empty()
            && key::outlasts_token(&host.state)
            && self.proofs.check(key, id, spoken, now).is_ok())
    }

    /// The proofs that were used.
    pub fn proofs(&self) -> &Proofs {
        &self.proofs
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    #[test]
    fn a_proof_is_good_once_for_what_it_was_made_for() {
        let (proofs, own, now) = (Proofs::default(), pair(1), crate::now());
        let key = hex::encode(own.public_key());
        let (host, other) = (HostId(InfraEnvId::random().0), HostId(InfraEnvId::random().0));
        let made = |pair: &Ed25519KeyPair, nonce: &str| {
            let text = signed_text("GET", "/a", host, now.timestamp(), nonce);
            Proof {
                time: now.timestamp(),
                nonce: nonce.into(),
                signature: hex::encode(pair.sign(text.as_bytes())),
            }
        };
        let check = |host, method, path, proof: Option<&Proof>, after| {
            let at = now + TimeDelta::seconds(after);
            proofs.check(&key, host, Spoken { method, path, proof }, at)
        };
        let proof = made(&own, "n1");
        assert_eq!(check(host, "GET", "/a", None, 0), Err(NotProved::Missing));
        assert_eq!(check(host, "POST", "/a", Some(&proof), 0), Err(NotProved::Wrong));
        assert_eq!(check(host, "GET", "/b", Some(&proof), 0), Err(NotProved::Wrong));
        assert_eq!(check(other, "GET", "/a", Some(&proof), 0), Err(NotProved::Wrong));
        assert_eq!(
            check(host, "GET", "/a", Some(&made(&pair(2), "n2")), 0),
            Err(NotProved::Wrong)
        );
        assert_eq!(
            check(host, "GET", "/a", Some(&proof), 301),
            Err(NotProved::OutOfTime)
        );
        assert_eq!(
            check(host, "GET", "/a", Some(&proof), -301),
            Err(NotProved::OutOfTime)
        );
        assert_eq!(check(host, "GET", "/a", Some(&proof), 200), Ok(()));
        assert_eq!(
            check(host, "GET", "/a", Some(&proof), 200),
            Err(NotProved::UsedBefore)
        );
        assert_eq!(check(host, "GET", "/a", Some(&made(&own, "n3")), 0), Ok(()));
    }

    #[test]
    fn a_host_that_makes_many_proofs_neither_reuses_one_nor_forgets_those_of_others() {
        let (proofs, own, now) = (Proofs::default(), pair(1), crate::now());
        let key = hex::encode(own.public_key());
        let (busy, other) = (HostId(InfraEnvId::random().0), HostId(InfraEnvId::random().0));
        let use_it = |host, time, nonce: &str| {
            let text = signed_text("GET", "/a", host, time, nonce);
            let proof = Proof {
                time,
                nonce: nonce.into(),
                signature: hex::encode(own.sign(text.as_bytes())),
            };
            let spoken = Spoken {
                method: "GET",
                path: "/a",
                proof: Some(&proof),
            };
            proofs.check(&key, host, spoken, now)
        };
        let time = now.timestamp();
        assert_eq!(use_it(other, time - 10, "n"), Ok(()));
        assert_eq!(use_it(busy, time - 10, "n"), Ok(()));
        for number in 0..MOST_OF_HOST {
            assert_eq!(use_it(busy, time, &number.to_string()), Ok(()));
        }
        for (host, at) in [(busy, time - 10), (other, time - 10)] {
            assert_eq!(use_it(host, at, "n"), Err(NotProved::UsedBefore));
        }
        assert_eq!(use_it(busy, time, "7"), Err(NotProved::UsedBefore));
        assert_eq!(use_it(busy, time + 1, "later"), Ok(()));
        // Another machine that registers with its own key in the name of a host invalidates none of the host's proofs.
        let stranger = pair(2);
        let key_of_stranger = hex::encode(stranger.public_key());
        for number in 0..=MOST_OF_HOST {
            let nonce = number.to_string();
            let text = signed_text("POST", "/hosts", other, time + 200, &nonce);
            let proof = Proof {
                time: time + 200,
                nonce,
                signature: hex::encode(stranger.sign(text.as_bytes())),
            };
            let spoken = Spoken {
                method: "POST",
                path: "/hosts",
                proof: Some(&proof),
            };
            let registers = || proofs.check_registration(&key_of_stranger, other, spoken, now);
            assert_eq!((registers(), registers()), (Ok(()), Err(NotProved::UsedBefore)));
        }
        assert_eq!(use_it(other, time, "next"), Ok(()));
    }
}
