//! Defines the settings of a BMC that may be given and changed.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_api::bmc::{BmcBoot, BmcCertificate, BmcCertificateMode};

use crate::cli::failure::Failure;

/// The options that `add` and `set` have in common.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Its name, unique in the InfraEnv [default: the address]
    #[arg(long)]
    pub name: Option<String>,

    /// User on the BMC; one that may use virtual media, power and boot settings
    #[arg(long, short, value_name = "USER")]
    pub user: Option<String>,

    /// Certificates that are taken: pin (one alone), system (authorities of the service's computer), bundle (--bundle), or
    /// insecure (any: a machine in between can read the password) [default: pin the first that is shown]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    certificate: Option<BmcCertificateMode>,

    /// SHA-256 of the one certificate that is taken, as the BMC's own page shows it; accepts one that has changed
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<String>,

    /// PEM file with the authorities that sign the BMC's certificate
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,

    /// Id of the system, where the BMC has several
    #[arg(long, value_name = "ID")]
    pub system: Option<String>,

    /// virtual-media (the image as a CD) or uefi-http (the machine's firmware loads it) [default: virtual-media]
    #[arg(long, value_name = "WAY", value_parser = boot)]
    pub boot: Option<BmcBoot>,
}

impl SettingsArgs {
    /// The trust that the options set; `None`: no option is given.
    pub fn certificate(&self) -> Result<Option<BmcCertificate>> {
        let bundle = self.bundle.as_ref().map(|file| {
            let text = std::fs::read_to_string(file);
            text.with_context(|| format!("--bundle {} cannot be read", file.display()))
        });
        trust(self.certificate, self.fingerprint.clone(), bundle.transpose()?)
            .map_err(|why| Failure::usage(why).into())
    }

    /// True when nothing is given.
    pub fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.user.is_none()
            && self.certificate.is_none()
            && self.fingerprint.is_none()
            && self.bundle.is_none()
            && self.system.is_none()
            && self.boot.is_none()
    }
}

/// The trust in a certificate; a fingerprint or a bundle implies its mode.
///
/// # Errors
/// Fails if the options do not fit together.
pub fn trust(
    mode: Option<BmcCertificateMode>,
    fingerprint: Option<String>,
    bundle: Option<String>,
) -> Result<Option<BmcCertificate>, String> {
    let mode = match (mode, &fingerprint, &bundle) {
        (None, None, None) => return Ok(None),
        (Some(mode), ..) => mode,
        (None, Some(_), _) => BmcCertificateMode::Pin,
        (None, None, Some(_)) => BmcCertificateMode::Bundle,
    };
    if fingerprint.is_some() && mode != BmcCertificateMode::Pin {
        return Err(format!("a fingerprint is for the certificates pin, not {mode}"));
    }
    if bundle.is_some() != (mode == BmcCertificateMode::Bundle) {
        return Err("the certificates bundle need --bundle, and no others have it".to_owned());
    }
    Ok(Some(BmcCertificate {
        mode,
        fingerprint,
        bundle,
    }))
}

/// Reads the word of an option or a cell.
pub fn mode(text: &str) -> Result<BmcCertificateMode, String> {
    text.parse()
        .map_err(|_| "write pin, system, bundle or insecure".to_owned())
}

/// Reads the word of an option or a cell.
pub fn boot(text: &str) -> Result<BmcBoot, String> {
    text.parse()
        .map_err(|_| "write virtual-media or uefi-http".to_owned())
}
