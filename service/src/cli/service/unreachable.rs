//! Explains why a service gave no response, or one that is not a service's.

use std::error::Error as StdError;
use std::io;

use muster_trust::is_authority_that_serves;
use reqwest::StatusCode;
use rustls::{CertificateError, InvalidMessage};

use crate::cli::failure::{Failure, Kind};

/// The failure of a request without a response.
pub fn no_answer(base: &str, error: reqwest::Error) -> Failure {
    // A URL may carry a token.
    let error = &error.without_url();
    if let Some(tls) = find::<rustls::Error>(error) {
        return tls_refused(base, tls);
    }
    let words = words_of(error);
    let other = |wrong: &str, right: &str| base.replacen(wrong, right, 1);
    if words.contains("invalid HTTP version") || words.contains("HTTP/0.9") {
        return Failure::unreachable(format!("{base} answers, but not in plain HTTP")).hint(format!(
            "if the service has a certificate (--tls-cert): --url {}",
            other("http:", "https:")
        ));
    }
    if error.is_timeout() {
        return Failure::unreachable(format!("no answer from {base} in time"))
            .hint("is a firewall in between, is the address right? (--url)");
    }
    if let Some(io) = find::<io::Error>(error) {
        if io.kind() == io::ErrorKind::ConnectionRefused {
            return Failure::unreachable(format!("no answer from {base}: nothing listens there"))
                .hint("is the service running (muster serve), and is --url (MUSTER_URL) what it printed as \"listening on\"?");
        }
        if words.contains("lookup address") || words.contains("dns error") {
            return Failure::unreachable(format!(
                "no answer from {base}: its name is not known here ({io})"
            ))
            .hint("check the name in --url (MUSTER_URL)");
        }
    }
    let cause = root(error).to_string();
    Failure::unreachable(format!("no answer from {base}: {cause}"))
        .hint("is the service running there? (--url, MUSTER_URL)")
}

fn tls_refused(base: &str, error: &rustls::Error) -> Failure {
    let plain = base.replacen("https:", "http:", 1);
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            Failure::unreachable(format!("{base} answers, but not in TLS"))
                .hint(format!("if the service has no certificate: --url {plain}"))
        }
        rustls::Error::InvalidCertificate(certificate) => refused_certificate(base, error, certificate),
        error => Failure::unreachable(format!("{base} answers, but TLS fails: {error}")),
    }
}

fn refused_certificate(base: &str, error: &rustls::Error, certificate: &CertificateError) -> Failure {
    let give = "give it, or the authority that signed it, as --ca FILE (MUSTER_CA): where the service made its own, muster-ca.crt in its data directory; else what `muster serve` knows as --tls-cert";
    match certificate {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Failure::unreachable(format!("the certificate of {base} is for another name: {certificate}"))
                .hint("write a name that is in the certificate into --url, or make one with this name (subjectAltName)")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            Failure::unreachable(format!("the certificate of {base} has expired: {certificate}"))
                .hint("renew it on the service (--tls-cert), or set this computer's clock right")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Failure::unreachable(format!("the certificate of {base} is not valid yet: {certificate}"))
                .hint("is this computer's clock right?")
        }
        _ if is_authority_that_serves(error) => {
            Failure::unreachable(format!("the certificate of {base} is signed by itself, and not known here"))
                .hint(give)
        }
        CertificateError::UnknownIssuer => {
            Failure::unreachable(format!("nobody known here has signed the certificate of {base}")).hint(give)
        }
        other => Failure::unreachable(format!("the certificate of {base} is refused: {other}")).hint(give),
    }
}

/// The failure of a request with an error as its response.
pub fn refusal(base: &str, status: StatusCode, body: &str, has_token: bool) -> Failure {
    let parsed: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let Some(words) = parsed["reason"].as_str().or_else(|| parsed["message"].as_str()) else {
        return not_muster(base, &format!("status {status}"));
    };
    let kind = match status.as_u16() {
        401 => Kind::Unreachable,
        404 => Kind::NotFound,
        400..500 => Kind::Refused,
        _ => Kind::Failed,
    };
    let failure = |words: &str| Failure::new(kind, words);
    match status {
        StatusCode::UNAUTHORIZED if !has_token => failure(&format!("{base} requires a token (401), and none was given")).hint(
            "on the service's computer: export MUSTER_TOKEN=$(muster token create --operator --expires 30d --data-dir DIR), with the --data-dir of `muster serve`",
        ),
        StatusCode::UNAUTHORIZED => failure(&format!("{base} does not take this token (401): {words}"))
            .hint("make one there: muster token create --operator --expires 30d --data-dir DIR, with the --data-dir of `muster serve`"),
        StatusCode::NOT_FOUND if words.starts_with("path ") => {
            Failure::unreachable(format!("{base} answers, but not with the API (404: {words})"))
                .hint("is it the boot listener (--boot-listen, usually port 8091)? The API is at --listen, usually port 8090")
        }
        // The words are for users, except those of a failure: there the status helps.
        _ if kind == Kind::Failed => failure(&format!("the service answered {}: {words}", status.as_u16())),
        _ => failure(words),
    }
}

/// The failure of a response that is not from a Muster service.
pub fn not_muster(base: &str, what: &str) -> Failure {
    Failure::unreachable(format!(
        "{base} answers ({what}), but not as a Muster service does"
    ))
    .hint(
        "is another program there? `muster serve` prints its address as \"listening on\" (--url, MUSTER_URL)",
    )
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |&cause| cause_of(cause))
}

fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    // `source` of an I/O error skips its inner error, which is taken here.
    let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inside {
        Some(inside) => Some(inside as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

fn find<T: StdError + 'static>(error: &reqwest::Error) -> Option<&T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn words_of(error: &reqwest::Error) -> String {
    causes(error)
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

fn root(error: &reqwest::Error) -> &(dyn StdError + 'static) {
    causes(error).last().unwrap_or(error)
}
