//! Parameters of users for BMCs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BmcBoot, BmcCertificate};

/// A BMC to be added.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BmcCreateParams {
    /// Unique in the InfraEnv. Left out: the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `HOST`, `HOST:PORT` or `https://HOST[:PORT]`.
    pub address: String,
    pub user_name: String,
    /// Never returned.
    #[cfg_attr(feature = "openapi", schema(write_only, format = Password))]
    pub password: String,
    /// Left out: the one of the first contact, and no other from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<BmcCertificate>,
    /// The id of the system, where the BMC has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    /// Left out: `virtual-media`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<BmcBoot>,
    /// `false`: the machine is not discovered until a user requests it. Left out: it is discovered immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<bool>,
}

/// BMCs to be added together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BmcImportParams {
    pub bmcs: Vec<BmcCreateParams>,
}

/// Changes of a BMC. What is left out stays.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct BmcUpdateParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    /// If the same password is sent, it is tried again: the user may have been unlocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(write_only, format = Password))]
    pub password: Option<String>,
    /// Accepts a changed certificate, by its fingerprint or by another mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<BmcCertificate>,
    /// Empty: the one system that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BmcBoot>,
}

impl fmt::Debug for BmcCreateParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BmcCreateParams")
            .field("name", &self.name)
            .field("address", &self.address)
            .field("user_name", &self.user_name)
            .field("certificate", &self.certificate)
            .field("system_id", &self.system_id)
            .field("boot", &self.boot)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for BmcUpdateParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BmcUpdateParams")
            .field("name", &self.name)
            .field("address", &self.address)
            .field("user_name", &self.user_name)
            .field("password", &self.password.is_some())
            .field("certificate", &self.certificate)
            .field("system_id", &self.system_id)
            .field("boot", &self.boot)
            .finish()
    }
}
