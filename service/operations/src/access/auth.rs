//! Makes and verifies ES256 tokens: the operator's, for the user API; one per InfraEnv, for its agents and images; and
//! those in URLs of the service, which can be revoked and may expire. Source: docs/protocol/rest-behaviour.md#2.

pub mod keys;
mod operators;
mod sessions;
pub mod token;

pub use keys::Keys;
pub use operators::OperatorTokens;
pub use sessions::{Link, NewSession, Session, Sessions};
pub use token::{Claims, OperatorClaims, TokenError, UrlPurpose};

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::record::{Cluster, InfraEnv};
use sha2::{Digest, Sha256};
use url::Url;

use crate::now;
use crate::random;

/// The tokens of the service.
pub struct Auth {
    asks_for_tokens: bool,
    keys: Keys,
    url_lifetime: Option<Duration>,
    /// By the digest of the token. A signature stays valid, so only the token's expiry is checked again; revocation is
    /// checked by the callers, for each request.
    verified: Cache<[u8; 32], Claims>,
    /// Tokens of InfraEnvs by generation. Each range request for an image needs one, and it is the same each time.
    of_infra_envs: Cache<(InfraEnvId, u32), Arc<str>>,
}

/// Characters of a BMC's code, 35 bits: each guess is a request for an image, and URLs for BMCs are short (docs/protocol/redfish.md#4).
pub const BMC_CODE: usize = 7;

/// Most cached verified tokens. Agents of one InfraEnv share one.
const MAX_VERIFIED: u64 = 10_000;

/// Most InfraEnvs with a cached token.
const MAX_INFRA_ENVS: u64 = 1_000;

/// A credential for a URL.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct UrlToken {
    /// `None` if the service requires no tokens.
    pub token: Option<String>,
    /// `None`: valid until it is revoked.
    pub expires_at: Option<Timestamp>,
}

/// The part of a cluster to which a signed URL gives access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterUrl {
    /// Purpose of the URL.
    pub purpose: UrlPurpose,
    /// The only host to which the URL gives access; `None`: all.
    pub host_id: Option<HostId>,
}

impl Auth {
    /// Creates the signer and verifier of `keys`. Without `asks_for_tokens` all requests are allowed. Signed URLs are
    /// valid for `url_lifetime`, or until they are revoked.
    pub fn new(asks_for_tokens: bool, keys: Keys, url_lifetime: Option<Duration>) -> Self {
        Self {
            asks_for_tokens,
            keys,
            url_lifetime,
            verified: Cache::new(MAX_VERIFIED),
            of_infra_envs: Cache::new(MAX_INFRA_ENVS),
        }
    }

    /// True if the service requires tokens.
    pub fn asks_for_tokens(&self) -> bool {
        self.asks_for_tokens
    }

    /// The token of an InfraEnv's agents, the same text each time; `None` if the service requires no tokens.
    pub fn infra_env_token(&self, infra_env: &InfraEnv) -> Option<String> {
        let (infra_env_id, generation) = (infra_env.id, infra_env.settings.token_generation);
        let sign = || {
            self.keys
                .sign(&Claims::InfraEnv {
                    infra_env_id,
                    generation,
                })
                .into()
        };
        self.asks_for_tokens().then(|| {
            self.of_infra_envs
                .get_with((infra_env_id, generation), sign)
                .to_string()
        })
    }

    /// The secret part of a BMC's image URL: the BMC's id alone is in the kernel arguments, which every machine of the
    /// InfraEnv can read.
    pub fn bmc_code(&self, infra_env: &InfraEnv, bmc_id: BmcId) -> String {
        let text = format!("bmc image\n{}\n{bmc_id}", infra_env.boot_id);
        random::spelled(&self.keys.code(&text).as_ref()[..BMC_CODE])
    }

    /// A token for a URL of an InfraEnv. Without a lifetime it is the same text until it is revoked.
    pub fn url_token(&self, infra_env: &InfraEnv, now: Timestamp) -> UrlToken {
        self.sign_for_url(now, |exp| Claims::InfraEnvUrl {
            infra_env_id: infra_env.id,
            url_key: token::url_key(&infra_env.boot_id),
            exp,
        })
    }

    /// A token for a URL of a cluster that is not deleted.
    pub fn cluster_url_token(&self, cluster: &Cluster, scope: ClusterUrl, now: Timestamp) -> UrlToken {
        self.sign_for_url(now, |exp| Claims::ClusterUrl {
            cluster_id: cluster.id,
            purpose: scope.purpose,
            host_id: scope.host_id,
            url_key: token::url_key(cluster.data.url_key.reveal()),
            exp,
        })
    }

    /// Signs claims that end with the lifetime of signed URLs, in seconds since 1970. Empty if the service requires no
    /// tokens.
    fn sign_for_url(&self, now: Timestamp, claims: impl FnOnce(Option<i64>) -> Claims) -> UrlToken {
        if !self.asks_for_tokens() {
            return UrlToken::default();
        }
        let expires_at = self.url_lifetime.map(|lifetime| now + lifetime);
        let claims = claims(expires_at.map(|at| at.timestamp()));
        UrlToken {
            token: Some(self.keys.sign(&claims)),
            expires_at,
        }
    }

    /// True when [`Self::url_token`] made `token` for the InfraEnv as it is now, and at least half of its lifetime is left.
    pub fn is_fresh(&self, infra_env: &InfraEnv, token: &str, now: Timestamp) -> bool {
        let Ok(Claims::InfraEnvUrl {
            infra_env_id,
            url_key,
            exp,
        }) = self.verify(token)
        else {
            return false;
        };
        self.lasts(exp, now) && infra_env_id == infra_env.id && url_key == token::url_key(&infra_env.boot_id)
    }

    /// True when at least half of the lifetime of signed URLs is left until `exp`.
    fn lasts(&self, exp: Option<i64>, now: Timestamp) -> bool {
        match (exp, self.url_lifetime) {
            (None, None) => true,
            (Some(exp), Some(lifetime)) => {
                let left = exp.saturating_sub(now.timestamp());
                left >= i64::try_from(lifetime.as_secs() / 2).unwrap_or(i64::MAX)
                    && left <= i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX)
            }
            // The option has changed since.
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// The token in `address` while it is fresh, else a new one; `None` if the service requires no tokens.
    pub fn kept_cluster_url_token(
        &self,
        cluster: &Cluster,
        scope: ClusterUrl,
        address: Option<&str>,
        now: Timestamp,
    ) -> Option<String> {
        let is_fresh = |token: &str| match self.verify(token) {
            Ok(Claims::ClusterUrl {
                cluster_id,
                purpose,
                host_id,
                url_key,
                exp,
            }) => {
                cluster_id == cluster.id
                    && ClusterUrl { purpose, host_id } == scope
                    && url_key == token::url_key(cluster.data.url_key.reveal())
                    && self.lasts(exp, now)
            }
            Ok(_) | Err(_) => false,
        };
        let kept = address.and_then(token_of).filter(|token| is_fresh(token));
        kept.or_else(|| self.cluster_url_token(cluster, scope, now).token)
    }

    /// The token in `address` while it is fresh, else a new one; `None` if the service requires no tokens.
    pub fn kept_url_token(
        &self,
        infra_env: &InfraEnv,
        address: Option<&str>,
        now: Timestamp,
    ) -> Option<String> {
        let kept = address
            .and_then(token_of)
            .filter(|token| self.is_fresh(infra_env, token, now));
        kept.or_else(|| self.url_token(infra_env, now).token)
    }

    /// Interval in which signed URLs that are shown have to be checked: twice before half of their lifetime is over,
    /// when a URL is replaced. `None`: they do not expire.
    pub fn url_renewal(&self) -> Option<Duration> {
        let lifetime = self.url_lifetime.filter(|_| self.asks_for_tokens())?;
        Some((lifetime / 4).max(Duration::from_secs(1)))
    }

    /// Reads a token and checks its signature.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        self.verify_at(token, now())
    }

    fn verify_at(&self, token: &str, now: Timestamp) -> Result<Claims, TokenError> {
        let digest = Sha256::digest(token.as_bytes()).into();
        if let Some(claims) = self.verified.get(&digest) {
            if claims.ends_at().is_some_and(|end| end <= now.timestamp()) {
                return Err(TokenError::Expired);
            }
            return Ok(claims);
        }
        let claims = self.keys.verify(token)?;
        self.verified.insert(digest, claims.clone());
        Ok(claims)
    }

    /// Signs a token of the user API.
    pub fn operator_token(&self, claims: OperatorClaims) -> String {
        self.keys.sign(&Claims::Operator(claims))
    }
}

/// The token in a signed URL.
fn token_of(address: &str) -> Option<String> {
    let address = Url::parse(address).ok()?;
    let (_, token) = address.query_pairs().find(|(name, _)| name == "api_key")?;
    Some(token.into_owned())
}

#[cfg(test)]
mod tests {
    use muster_api::ids::ClusterId;
    use muster_core::record::{ClusterData, Secret, Settings};

    use super::*;

    fn infra_env() -> InfraEnv {
        InfraEnv {
            id: InfraEnvId::random(),
            name: "hw".into(),
            cluster_id: None,
            kube: None,
            mirror: None,
            boot_id: "b".repeat(22),
            version: 1,
            created_at: now(),
            updated_at: now(),
            settings: Settings::default(),
        }
    }

    fn auth(lifetime: Option<u64>) -> Auth {
        let keys = Keys::from_pem(&Keys::generate()).unwrap();
        Auth::new(true, keys, lifetime.map(Duration::from_secs))
    }

    #[test]
    fn a_token_is_fresh_for_half_of_its_lifetime() {
        let (auth, infra_env) = (auth(Some(1000)), infra_env());
        let issued = now();
        let token = auth.url_token(&infra_env, issued).token.unwrap();
        let after = |seconds| auth.is_fresh(&infra_env, &token, issued + Duration::from_secs(seconds));
        assert!(after(0) && after(499));
        assert!(!after(501) && !after(999));
    }

    #[test]
    fn a_token_without_an_end_is_fresh_until_its_infra_env_is_another() {
        let (auth, infra_env) = (auth(None), infra_env());
        let token = auth.url_token(&infra_env, now()).token.unwrap();
        assert!(auth.is_fresh(&infra_env, &token, now() + Duration::from_secs(1 << 30)));
        let revoked = InfraEnv {
            boot_id: "c".repeat(22),
            ..infra_env.clone()
        };
        let other = InfraEnv {
            id: InfraEnvId::random(),
            ..infra_env.clone()
        };
        assert!(!auth.is_fresh(&revoked, &token, now()));
        assert!(!auth.is_fresh(&other, &token, now()));
        assert!(!auth.is_fresh(&infra_env, "nonsense", now()));
        let agents = auth.infra_env_token(&infra_env).unwrap();
        assert!(
            !auth.is_fresh(&infra_env, &agents, now()),
            "an agent's token is none for URLs"
        );
    }

    #[test]
    fn a_remembered_signature_does_not_outlive_the_token() {
        let (auth, infra_env) = (auth(Some(1000)), infra_env());
        let issued = now();
        let token = auth.url_token(&infra_env, issued).token.unwrap();
        let at = |seconds| auth.verify_at(&token, issued + Duration::from_secs(seconds));
        assert_eq!(at(0), at(999));
        assert!(at(0).is_ok());
        assert_eq!(at(1001), Err(TokenError::Expired));
        let other = Auth::new(true, Keys::from_pem(&Keys::generate()).unwrap(), None);
        assert_eq!(other.verify(&token), Err(TokenError::BadSignature));
        assert!(auth.verify(&format!("{token}x")).is_err());
    }

    #[test]
    fn the_token_of_an_infra_env_is_signed_once_a_generation() {
        let (auth, mut infra_env) = (auth(None), infra_env());
        let first = auth.infra_env_token(&infra_env).unwrap();
        for _ in 0..10 {
            assert_eq!(auth.infra_env_token(&infra_env), Some(first.clone()));
        }
        infra_env.settings.token_generation += 1;
        assert_ne!(auth.infra_env_token(&infra_env), Some(first));
        auth.of_infra_envs.run_pending_tasks();
        assert_eq!(auth.of_infra_envs.entry_count(), 2);
    }

    #[test]
    fn a_clusters_url_is_kept_while_it_is_fresh_and_fits() {
        let auth = auth(Some(1000));
        let mut cluster = Cluster {
            id: ClusterId::random(),
            kube: None,
            mirror: None,
            version: 1,
            created_at: now(),
            updated_at: now(),
            data: ClusterData::default(),
        };
        let scope = ClusterUrl {
            purpose: UrlPurpose::Logs,
            host_id: Some(HostId(InfraEnvId::random().0)),
        };
        let issued = now();
        let first = auth.cluster_url_token(&cluster, scope, issued);
        assert_eq!(first.expires_at, Some(issued + Duration::from_secs(1000)));
        let address = format!("http://a/logs?api_key={}", first.token.clone().unwrap());
        let kept = |cluster: &Cluster, scope, after| {
            let at = issued + Duration::from_secs(after);
            auth.kept_cluster_url_token(cluster, scope, Some(&address), at) == first.token
        };
        assert!(kept(&cluster, scope, 400));
        assert!(!kept(&cluster, scope, 600));
        let events = ClusterUrl {
            purpose: UrlPurpose::Events,
            ..scope
        };
        assert!(!kept(&cluster, events, 0));
        cluster.data.url_key = Secret::new("another");
        assert!(!kept(&cluster, scope, 0));
    }

    #[test]
    fn a_token_made_with_another_lifetime_is_replaced() {
        let infra_env = infra_env();
        let keys = Keys::generate();
        let auth = |lifetime: Option<u64>| {
            let lifetime = lifetime.map(Duration::from_secs);
            Auth::new(true, Keys::from_pem(&keys).unwrap(), lifetime)
        };
        let endless = auth(None).url_token(&infra_env, now()).token.unwrap();
        assert!(!auth(Some(1000)).is_fresh(&infra_env, &endless, now()));
        let long = auth(Some(100_000)).url_token(&infra_env, now()).token.unwrap();
        assert!(!auth(Some(1000)).is_fresh(&infra_env, &long, now()));
        assert!(!auth(None).is_fresh(&infra_env, &long, now()));
    }
}
