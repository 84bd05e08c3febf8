//! `ntp-synchronizer`: how a host sees its time sources.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

/// Argument of `ntp-synchronizer`: a comma list of addresses and names, possibly empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NtpSynchronizationRequest {
    /// `"a,b"`; required, may be `""`.
    pub ntp_source: String,
}

/// Reply of `ntp-synchronizer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NtpSynchronizationResponse {
    /// One entry a source.
    #[serde(deserialize_with = "null_as_default")]
    pub ntp_sources: Vec<NtpSource>,
}

/// A time source as a host sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NtpSource {
    /// Name or address.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub source_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_state: Option<NtpSourceState>,
}

/// The state of a time source, in chrony's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NtpSourceState {
    Synced,
    Combined,
    NotCombined,
    Error,
    Variable,
    Unreachable,
}
