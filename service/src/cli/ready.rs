//! Reads `/ready`: how the parts of a service are.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::client::Client;

/// The parts, each as a sentence.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Ready {
    /// `ready` or `not ready`.
    pub status: String,
    /// `ok`, or what is wrong.
    pub database: String,
    /// The path of the image, or why there is none.
    pub live_image: String,
    /// Of the operator's list: the build of each, or what is wrong, by version and architecture.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coreos_images: BTreeMap<String, String>,
    /// Of the custom resources.
    pub kubernetes: String,
    /// `ok`, or which hang; empty: an older service.
    #[serde(default)]
    pub jobs: String,
}

impl Ready {
    /// True when machines can be given an image.
    pub fn has_image(&self) -> bool {
        self.live_image.contains("(agent ") || !self.coreos_images.is_empty()
    }
}

/// Asks.
pub async fn read(client: &Client) -> Result<Ready> {
    client.outside("/ready").await
}
