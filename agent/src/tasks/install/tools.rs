//! Gathers the parts of the agent and of the machine that an installation uses.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_api::live::LiveProxy;
use reqwest::header::HeaderName;

use super::boot::efi::Variables;
use super::error::{InstallError, Step};
use super::image::download::{Downloads, READ_TIMEOUT};
use super::retry::Patience;
use crate::client::Client;
use crate::config::Settings;
use crate::drivers::devices::Devices;
use crate::net::http::{self, HttpError};
use crate::net::names::Names;

/// Longest download of an image; it ends earlier when nothing comes in.
const LONGEST_DOWNLOAD: Duration = Duration::from_secs(12 * 60 * 60);

#[derive(Clone)]
pub struct Tools {
    pub client: Client,
    pub settings: Arc<Settings>,
    pub names: Names,
    pub devices: Devices,
    pub patience: Patience,
    /// The firmware's variables, if it is UEFI.
    pub firmware: Option<Variables>,
    /// Set the battery-backed clock.
    pub sets_clock: bool,
    /// The live system's program, if it has one.
    pub coreos_installer: Option<PathBuf>,
}

impl Tools {
    /// The clients for images; images elsewhere are downloaded through `proxy` if the cluster has one.
    ///
    /// # Errors
    /// [`InstallError::Unprepared`]: the settings give no HTTP client.
    pub fn downloads(&self, proxy: Option<&LiveProxy>) -> Result<Downloads, InstallError> {
        let refused = |error: HttpError| InstallError::Unprepared {
            step: Step::Downloads,
            reason: error.to_string(),
        };
        let service = http::service_client(&self.settings, &self.names)
            .map_err(refused)?
            .timeout(LONGEST_DOWNLOAD)
            .read_timeout(READ_TIMEOUT)
            .no_gzip()
            .build()
            .map_err(|error| refused(HttpError::client(error)))?;
        let settings = Settings {
            proxy: proxy.unwrap_or(&self.settings.proxy).clone(),
            ..(*self.settings).clone()
        };
        let elsewhere = http::file_client(&settings, &self.names, READ_TIMEOUT)
            .map_err(refused)?
            .build()
            .map_err(|error| refused(HttpError::client(error)))?;
        Ok(Downloads {
            service,
            token: (
                HeaderName::from_static(muster_api::AGENT_TOKEN_HEADER),
                self.client.token(),
            ),
            elsewhere,
            patience: self.patience,
        })
    }
}
