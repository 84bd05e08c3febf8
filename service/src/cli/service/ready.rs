//! Reads `/ready`: the state of a service's parts.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Client;

/// The parts, each as a sentence.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Ready {
    /// `ready` or `not ready`.
    pub status: String,
    /// `ok`, or the problem.
    pub database: String,
    /// The path of the image, or why there is no image.
    pub live_image: String,
    /// Of the operator's list: the build or the problem of each, by version and architecture.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coreos_images: BTreeMap<String, String>,
    /// State of the custom resources.
    pub kubernetes: String,
    /// `ok`, or the jobs that hang; empty: an older service.
    #[serde(default)]
    pub jobs: String,
}

impl Ready {
    /// True if machines can get an image.
    pub fn has_image(&self) -> bool {
        self.live_image.contains("(agent ") || !self.coreos_images.is_empty()
    }
}

/// Requests `/ready`.
pub async fn read(client: &Client) -> Result<Ready> {
    client.outside("/ready").await
}
