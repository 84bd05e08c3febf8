use std::net::IpAddr;
use std::time::Duration;

use muster_trust::Fingerprint;

use crate::refusal::Refusal;

/// A conversation with a BMC that did not do what it was for. No variant holds a password, a token or a body.
#[derive(Debug, thiserror::Error)]
pub enum BmcError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the certificates given for the BMC: {0}")]
    Certificates(String),
    /// No connection, or one that broke.
    #[error("no answer from the BMC at {address}: {why}")]
    Unreachable { address: String, why: String },
    /// The pinned certificate is not the one that is shown. Nothing was sent.
    #[error(
        "the BMC's certificate has changed: {stored} is trusted, {shown} is shown. BMCs get new certificates by firmware updates and resets: \
         compare the fingerprint with the BMC's own page, then trust it anew; else somebody is in between"
    )]
    CertificateChanged { stored: Fingerprint, shown: Fingerprint },
    /// Authorities are asked for, and none of them signed the certificate, or it is out of date or for another name.
    #[error(
        "the BMC's certificate{} is not trusted: {why}. Give the authority that signed it, or trust it by its fingerprint",
        shown.map(|shown| format!(" {shown}")).unwrap_or_default()
    )]
    CertificateUntrusted { shown: Option<Fingerprint>, why: String },
    /// HTTP 401 or 403 of the login. Nothing is tried again with these credentials: BMCs lock users and addresses out after few
    /// failures (docs/protocol/redfish.md#7).
    #[error("the BMC refuses the user {user:?} with this password{}. Nothing is tried again until other credentials are given", told(.refusal))]
    BadCredentials {
        user: String,
        /// `None`: it was refused before, and the BMC was not asked again.
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
    /// No slot takes media by URL. Says why, for each slot that was looked at.
    #[error("the BMC has no slot that takes this medium: {}", .0.join("; "))]
    NoMediaSlot(Vec<String>),
    /// This firmware cannot do it; says what to do.
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

/// An address that is not connected to.
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
    #[error("the name {name:?} of the BMC has no address: {why}")]
    Unresolved { name: String, why: String },
    #[error("{address} is {what}, where no BMC may be")]
    Refused { address: IpAddr, what: &'static str },
    #[error("{0} is in none of the networks that BMCs may be in here")]
    NotAllowed(IpAddr),
}

impl BmcError {
    /// True when the same call may succeed later although nobody does anything.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Deadline { .. } | Self::Busy(_) => true,
            Self::Address(AddressError::Unresolved { .. }) => true,
            Self::Refused { refusal, .. } => matches!(refusal.status, 0 | 408 | 409 | 429 | 500..),
            _ => false,
        }
    }
}

fn told(refusal: &Option<Refusal>) -> String {
    match refusal {
        Some(refusal) => format!(" ({refusal})"),
        None => ", as it did before".to_owned(),
    }
}
