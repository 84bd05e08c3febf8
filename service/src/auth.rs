//! Who is calling. Source: rest-behaviour.md §2.
//!
//! Mode `none` looks at nothing. Mode `local` knows two tokens, both ES256: the operator's, for the user API, and
//! one an InfraEnv, for its agents, images and signed URLs. Unlike the service that we are compatible with, a token
//! of one InfraEnv opens nothing of another, whichever way it is carried.

pub mod gate;
pub mod keys;
pub mod token;

pub use gate::{Allowed, Caller};
pub use keys::Keys;
pub use token::{Claims, TokenError};

use crate::settings::AuthMode;

/// The service's side of authentication.
pub struct Auth {
    mode: AuthMode,
    keys: Keys,
}

impl Auth {
    /// Tokens are signed and checked with `keys`.
    pub fn new(mode: AuthMode, keys: Keys) -> Self {
        Self { mode, keys }
    }

    /// True when tokens are asked for.
    pub fn asks_for_tokens(&self) -> bool {
        match self.mode {
            AuthMode::None => false,
            AuthMode::Local => true,
        }
    }

    /// The token of an InfraEnv's agents and URLs; `None` in mode `none`. The same text each time.
    pub fn infra_env_token(&self, infra_env: &muster_core::infra_env::InfraEnv) -> Option<String> {
        self.asks_for_tokens().then(|| {
            self.keys.sign(&Claims::InfraEnv {
                infra_env_id: infra_env.id,
            })
        })
    }

    /// Reads a token and checks its signature.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        self.keys.verify(token)
    }
}
