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
        let in_folder = |name: &str| folder.path().join(name);
        let (first, next) = (Authority::new("first"), Authority::new("next"));
        let mut identity = Self {
            files: Certificate {
                chain: in_folder("cert.pem"),
                key: in_folder("key.pem"),
                authorities: in_folder("authorities.pem"),
            },
            present: String::new(),
            next: first,
        };
        // Clients know of the change before it comes.
        let both = format!("{}{}", identity.next.certificate(), next.certificate());
        fs::write(&identity.files.authorities, both).unwrap();
        identity.renew();
        identity.next = next;
        identity
    }

    /// A certificate by the next authority takes the place of the present one.
    pub(super) fn renew(&mut self) {
        let signed = self.next.server(&["127.0.0.1"]);
        fs::write(&self.files.chain, signed.certificate).unwrap();
        fs::write(&self.files.key, signed.key).unwrap();
        self.next.certificate().clone_into(&mut self.present);
    }
}
