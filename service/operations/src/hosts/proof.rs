//! Checks that a request which speaks for a host comes from the machine that registered.

use std::time::Duration;

use moka::sync::Cache;
use muster_api::host_key::{Proof, signed_text};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host::key;
use muster_store::StoreError;
use ring::signature::{ED25519, UnparsedPublicKey};

use super::Hosts;

/// Largest difference between a proof's time and ours: answers are on the way, and replicas' clocks differ a little.
const WINDOW_SECS: u64 = 300;

/// Most proofs that are remembered; one is for longer than it could be used again.
const MAX_REMEMBERED: u64 = 1_000_000;

/// The proofs that were used lately, of this replica.
#[derive(Clone)]
pub struct Proofs {
    used: Cache<(HostId, String), ()>,
}

impl Default for Proofs {
    fn default() -> Self {
        Self {
            used: Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .time_to_live(Duration::from_secs(2 * WINDOW_SECS))
                .build(),
        }
    }
}

/// A request as far as a proof covers it.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// `None`: the request has none that can be read.
    pub proof: Option<&'a Proof>,
}

/// A request does not come from the machine that registered, as far as can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotProved {
    #[error(
        "the host has registered with a key of its own, and the request holds no proof of it; a machine that was started anew registers first"
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
    /// Checks a proof of the holder of `public_key`, which can be used once.
    ///
    /// # Errors
    /// [`NotProved`]
    pub fn check(
        &self,
        public_key: &str,
        host: HostId,
        spoken: Spoken<'_>,
        now: Timestamp,
    ) -> Result<(), NotProved> {
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
        // Two at once: one of them is the first.
        let entry = self.used.entry((host, proof.nonce.clone())).or_insert(());
        if entry.is_fresh() {
            Ok(())
        } else {
            Err(NotProved::UsedBefore)
        }
    }
}

impl Hosts {
    /// Checks that the holder of an image's token speaks for a host that it may speak for: one without a key, or its own.
    ///
    /// # Errors
    /// [`ProofError`]
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

    /// True when the request comes from an installed host, or one on its way there or back, that has a key and proves it: its agent goes on
    /// though its token was replaced.
    ///
    /// # Errors
    /// Those of the database. A proof that is not good is none.
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
        let (proofs, own, now) = (Proofs::default(), pair(1), crate::clock::now());
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
}
