use std::time::Duration;

use muster_outgoing::NetworkError;
use muster_trust::Fingerprint;

use crate::refusal::Refusal;

pub(crate) const NEW_CERTIFICATE: &str =
    "Give the BMC another certificate on its own page, with an RSA key of 2048 bits or a key on P-256";
pub(crate) const OTHER_TLS: &str = "Change its settings for TLS, or update its firmware";

/// A failed conversation with a BMC. No variant holds a password, a token or a body.
#[derive(Debug, thiserror::Error)]
pub enum BmcError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the certificates given for the BMC: {0}")]
    Certificates(String),
    /// No connection, or a broken one.
    #[error("no answer from the BMC at {address}: {why}")]
    Unreachable { address: String, why: String },
    /// The pinned certificate is not the one that is shown. Nothing was sent.
    #[error(
        "the BMC's certificate has changed: {stored} is trusted, {shown} is shown. BMCs get new certificates by firmware updates and resets: \
         compare the fingerprint with the BMC's own page, then trust it again; if they differ, somebody intercepts the connection"
    )]
    CertificateChanged { stored: Fingerprint, shown: Fingerprint },
    /// Verification by authorities, and none of them signed the certificate, or it is out of date or for another name.
    #[error("the BMC's certificate{} is not trusted: {why}. {advice}", named(.shown))]
    CertificateUntrusted {
        shown: Option<Fingerprint>,
        why: String,
        advice: &'static str,
    },
    /// The handshake cannot be verified by the key of the certificate, even if the certificate is trusted.
    #[error(
        "the BMC's certificate{} cannot be used, whether it is trusted or not: {why}. {NEW_CERTIFICATE}",
        named(.shown)
    )]
    CertificateUnusable { shown: Option<Fingerprint>, why: String },
    /// The BMC responds, but supports no version of TLS that this client supports.
    #[error("no TLS with the BMC at {address}: {why}. {OTHER_TLS}")]
    Tls { address: String, why: String },
    /// HTTP 401 or 403 of the login. These credentials are not used again: BMCs lock users and addresses out after few failures
    /// (docs/protocol/redfish.md#7).
    #[error("the BMC refuses the user {user:?} with this password{}. Nothing is tried again until other credentials are given", told(.refusal))]
    BadCredentials {
        user: String,
        /// `None`: it was refused before, and no request was sent to the BMC.
        refusal: Option<Refusal>,
    },
    #[error("{doing}: the BMC refuses: {refusal}")]
    Refused { doing: String, refusal: Refusal },
    #[error("{0}: is this a BMC with Redfish?")]
    NotRedfish(String),
    /// A link or redirect to another scheme, host or port.
    #[error("the BMC leads to another place, which is not followed: {0}")]
    ForeignLink(String),
    #[error("{what} of the BMC is larger than the limit of {limit}")]
    TooLarge { what: String, limit: usize },
    #[error("the BMC has no system{0}")]
    NoSystem(String),
    #[error("the BMC has several systems; name the one that is meant: {}", .0.join(", "))]
    SeveralSystems(Vec<String>),
    /// No slot takes media by URL. Gives the reason for each slot that was checked.
    #[error("the BMC has no slot that takes this medium: {}", .0.join("; "))]
    NoMediaSlot(Vec<String>),
    /// This firmware does not support it; the text gives advice.
    #[error("{0}")]
    Unsupported(String),
    #[error("the media URL does not suit this BMC: {}", .0.join("; "))]
    MediaUrl(Vec<String>),
    /// A deadline passed.
    #[error("{awaited} did not happen within {} s; last seen: {seen}", .after.as_secs())]
    Deadline {
        awaited: String,
        seen: String,
        after: Duration,
    },
    #[error("another operation on this BMC runs for longer than {} s", .0.as_secs())]
    Busy(Duration),
}

/// An address that must not be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "{0:?} is no address of a BMC: https://HOST or https://HOST:PORT is expected, without user, path or query"
    )]
    NotAnAddress(String),
    #[error("http is not allowed for BMCs here, since it shows the password to the network: use https")]
    PlainHttp,
    #[error("port {0} is not among the ports that BMCs may have here")]
    Port(u16),
    #[error("the address of the BMC: {0}")]
    Network(#[from] NetworkError),
}

impl BmcError {
    /// True when the same call may succeed later without any intervention.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Deadline { .. } | Self::Busy(_) => true,
            Self::Address(AddressError::Network(NetworkError::Unresolved { .. })) => true,
            Self::Refused { refusal, .. } => matches!(refusal.status, 0 | 408 | 409 | 429 | 500..),
            _ => false,
        }
    }
}

fn named(shown: &Option<Fingerprint>) -> String {
    shown.map(|shown| format!(" {shown}")).unwrap_or_default()
}

fn told(refusal: &Option<Refusal>) -> String {
    match refusal {
        Some(refusal) => format!(" ({refusal})"),
        None => ", as it did before".to_owned(),
    }
}
