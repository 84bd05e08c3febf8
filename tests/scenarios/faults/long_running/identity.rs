//! A certificate that is rotated.

use std::fs;

use muster_tests::certificates::Authority;
use muster_tests::service::Certificate;
use tempfile::TempDir;

/// The certificate of both replicas.
pub(super) struct Identity {
    pub(super) files: Certificate,
    /// The authorities that signed it and will sign the next one, PEM.
    pub(super) present: String,
    pub(super) next: Authority,
}

impl Identity {
    pub(super) fn new(folder: &TempDir) -> Self {
        let (first, next) = (Authority::new("first"), Authority::new("next"));
        let mut identity = Self {
            files: Certificate::in_folder(folder.path()),
            present: String::new(),
            next: first,
        };
        // Clients trust the new authority before the change.
        let both = format!("{}{}", identity.next.certificate(), next.certificate());
        fs::write(&identity.files.authorities, both).unwrap();
        identity.renew();
        identity.next = next;
        identity
    }

    /// A certificate by the next authority takes the place of the present one.
    pub(super) fn renew(&mut self) {
        self.files.issue(&self.next);
        self.next.certificate().clone_into(&mut self.present);
    }
}
