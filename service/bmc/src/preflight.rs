//! Reports, in order, what would keep a machine from being booted, before anything is changed.

mod image;
mod run;

use muster_trust::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::error::{BmcError, NEW_CERTIFICATE, OTHER_TLS};

/// The checks, in their order.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CheckId {
    /// The address is allowed, and something with Redfish answers there.
    Address,
    Certificate,
    Credentials,
    /// One system is found, and its firmware can do what is needed.
    System,
    /// The power state is reported.
    Power,
    /// A slot takes media by URL.
    Media,
    /// The image's URL suits this BMC, and is answered as BMCs need it.
    Image,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    Pass,
    Fail,
    /// A check before it failed, or there is nothing to look at.
    Skipped,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub id: CheckId,
    pub outcome: Outcome,
    /// What was seen.
    pub seen: String,
    /// What to do; empty unless it failed.
    pub advice: String,
}

/// All checks, each once and in order.
#[derive(Debug)]
pub struct Preflight {
    pub checks: Vec<Check>,
    /// The certificate that was shown, trusted or not.
    pub certificate: Option<Fingerprint>,
    /// The first failure, for callers that act on its kind, such as [`BmcError::BadCredentials`].
    pub error: Option<BmcError>,
}

impl Preflight {
    pub fn passes(&self) -> bool {
        self.checks.iter().all(|check| check.outcome != Outcome::Fail)
    }

    fn pass(&mut self, id: CheckId, seen: impl Into<String>) {
        self.push(id, Outcome::Pass, seen.into(), "");
    }

    fn skip(&mut self, id: CheckId, seen: &str) {
        self.push(id, Outcome::Skipped, seen.to_owned(), "");
    }

    fn push(&mut self, id: CheckId, outcome: Outcome, seen: String, advice: &str) {
        let advice = advice.to_owned();
        self.checks.push(Check {
            id,
            outcome,
            seen,
            advice,
        });
    }

    fn fail(&mut self, id: CheckId, error: BmcError) {
        let advice = match error {
            BmcError::Busy(_) => "Try again when the other operation on this BMC is over",
            BmcError::CertificateUntrusted { advice, .. } => advice,
            BmcError::CertificateUnusable { .. } => NEW_CERTIFICATE,
            BmcError::Tls { .. } => OTHER_TLS,
            _ => advice(id),
        };
        self.push(id, Outcome::Fail, error.to_string(), advice);
        self.error.get_or_insert(error);
    }
}

/// Advice when a check fails, in addition to its error.
fn advice(id: CheckId) -> &'static str {
    match id {
        CheckId::Address => {
            "Check the BMC's address, and that this service may and can reach it: a firewall in between, the networks that are allowed for BMCs"
        }
        CheckId::Certificate => "Store the authority of the BMC's certificate, or its fingerprint",
        CheckId::Credentials => {
            "Correct the user and the password; the BMC may also have locked the user out for some minutes"
        }
        CheckId::System => "Name the system that is meant, or update the BMC's firmware",
        CheckId::Power => "Look at the BMC's own page: it may be starting. Restart it if it stays so",
        CheckId::Media => "Enable virtual media by URL on the BMC, with its licence where it needs one",
        CheckId::Image => {
            "Give BMCs a short plain URL of this service that ends in .iso, and no proxy in between that takes Content-Length away"
        }
    }
}
