//! Converts a BMC's record for the client.

use muster_api::bmc::{BmcCertificateMode, BmcFailure};
use muster_bmc::{CertificateMode, Credentials, Target};
use muster_core::lifecycle::bmc::Problem;
use muster_core::record::Bmc;

/// # Errors
/// If the stored fingerprint is invalid.
pub(crate) fn target(bmc: &Bmc) -> Result<Target, Problem> {
    let settings = &bmc.settings;
    let stored = &settings.certificate;
    let certificate = match stored.mode {
        BmcCertificateMode::System => CertificateMode::System,
        BmcCertificateMode::Bundle => CertificateMode::Bundle(stored.bundle.clone().unwrap_or_default()),
        BmcCertificateMode::Insecure => CertificateMode::Insecure,
        BmcCertificateMode::Pin => {
            let pinned = stored.fingerprint.as_deref().map(str::parse).transpose();
            CertificateMode::Pin(pinned.map_err(|wrong| Problem {
                failure: BmcFailure::Certificate,
                reason: format!("the stored fingerprint: {wrong}"),
                passing: false,
            })?)
        }
    };
    Ok(Target {
        address: settings.address.clone(),
        credentials: Credentials::new(&settings.user_name, bmc.password.reveal()),
        certificate,
        system: settings.system_id.clone(),
    })
}
