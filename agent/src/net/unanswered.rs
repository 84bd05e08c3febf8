//! Gives the reason why a request got no response in a few words, for readers who know no HTTP library.

use std::error::Error;
use std::io;

/// The innermost cause, without the layers of libraries above it: `connection refused`, ``no address for `x`: …``.
/// URLs, which may carry a token, are left out.
pub fn why(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    innermost(&error.without_url())
}

/// True if a certificate is refused for its dates: either it or this machine's clock is wrong.
pub fn is_about_dates(error: &reqwest::Error) -> bool {
    let mut cause: &(dyn Error + 'static) = error;
    loop {
        if let Some(rustls::Error::InvalidCertificate(why)) = cause.downcast_ref() {
            return names_dates(why);
        }
        match inside(cause) {
            Some(next) => cause = next,
            None => return false,
        }
    }
}

fn names_dates(why: &rustls::CertificateError) -> bool {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        why,
        Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
    )
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    loop {
        if let Some(rustls::Error::InvalidCertificate(why)) = cause.downcast_ref() {
            return certificate(why);
        }
        match inside(cause) {
            Some(next) => cause = next,
            None => break,
        }
    }
    let text = cause.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

/// The cause of an error. `source` of an I/O error skips its inner error, which is taken here.
fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inside) => Some(inside as &(dyn Error + 'static)),
        None => error.source(),
    }
}

fn certificate(why: &rustls::CertificateError) -> String {
    match why {
        rustls::CertificateError::UnknownIssuer => {
            "the certificate is signed by nobody who is trusted here".to_owned()
        }
        why => format!("the certificate is refused: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Layer(#[source] io::Error);

    #[test]
    fn the_layers_of_libraries_are_left_out() {
        let of = |inner: io::Error| innermost(&Layer(inner));
        assert_eq!(of(io::Error::from_raw_os_error(111)), "connection refused");
        let name = crate::net::names::NameError::NotFound {
            name: "api.lab.test".into(),
            reason: "the name servers do not answer".into(),
        };
        assert_eq!(
            of(io::Error::other(name)),
            "no address for `api.lab.test`: the name servers do not answer"
        );
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert_eq!(
            of(io::Error::new(io::ErrorKind::InvalidData, unknown)),
            "the certificate is signed by nobody who is trusted here"
        );
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert!(of(io::Error::other(expired)).starts_with("the certificate is refused: "));
        assert!(names_dates(&rustls::CertificateError::NotValidYet));
        assert!(!names_dates(&rustls::CertificateError::UnknownIssuer));
    }
}
