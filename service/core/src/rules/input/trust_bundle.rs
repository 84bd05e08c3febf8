use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::Invalid;

/// Longest bundle, characters.
const MAX_CHARS: usize = 65_535;

/// PEM certificates and nothing else between BEGIN and END; empty is fine.
pub(crate) fn trust_bundle(text: &str) -> Result<(), Invalid> {
    let wrong = |reason: String| Err(Invalid::new("additional_trust_bundle", reason));
    if text.is_empty() {
        return Ok(());
    }
    let chars = text.chars().count();
    if chars > MAX_CHARS {
        return wrong(format!("has {chars} characters; at most {MAX_CHARS} are taken"));
    }
    let sections = text.matches("-----BEGIN ").count();
    let mut certificates = 0;
    for der in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let Ok(der) = der else {
            return wrong("is not PEM: a section is cut short or is not base64".into());
        };
        certificates += 1;
        let whole = X509Certificate::from_der(&der).is_ok_and(|(rest, _)| rest.is_empty());
        if !whole {
            return wrong(format!(
                "certificate number {certificates} is not an X.509 certificate"
            ));
        }
    }
    if certificates == 0 || certificates != sections {
        return wrong(
            "must be PEM certificates only (-----BEGIN CERTIFICATE-----); leave out keys and other things"
                .into(),
        );
    }
    Ok(())
}
