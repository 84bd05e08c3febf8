//! Holds the token that requests carry, and takes its replacement from the service for a host that is installed.

use std::sync::{PoisonError, RwLock};

use muster_api::REPLACING_TOKEN_HEADER;
use reqwest::Response;
use reqwest::header::HeaderValue;
use tracing::info;

/// No token is longer, in bytes.
const LONGEST: usize = 4096;

/// The token, which is never printed.
pub struct Credential(RwLock<HeaderValue>);

impl Credential {
    pub fn new(token: HeaderValue) -> Self {
        Self(RwLock::new(hidden(token)))
    }

    /// The token of the next request.
    pub fn present(&self) -> HeaderValue {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the token of the response, if it has one.
    pub fn take_from(&self, answer: &Response) {
        let brought = answer.headers().get(REPLACING_TOKEN_HEADER);
        if let Some(token) = brought.filter(|token| (1..=LONGEST).contains(&token.len())) {
            info!("the tokens of the InfraEnv were replaced: the service has given this host the new one");
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = hidden(token.clone());
        }
    }
}

fn hidden(mut token: HeaderValue) -> HeaderValue {
    token.set_sensitive(true);
    token
}
