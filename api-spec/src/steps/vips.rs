//! `verify-vips`: whether the addresses of a cluster are still free. The argument is a JSON array of [`VerifyVip`], the reply one of [`VerifiedVip`].

use serde::{Deserialize, Serialize};

use crate::serialize::null_as_default;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifyVip {
    #[serde(deserialize_with = "null_as_default")]
    pub vip: String,
    pub vip_type: VipType,
}

/// The same with the outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifiedVip {
    #[serde(deserialize_with = "null_as_default")]
    pub vip: String,
    pub vip_type: VipType,
    pub verification: VipVerification,
}

/// Use of a virtual address of a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VipType {
    #[default]
    Api,
    Ingress,
}

/// `failed`: the address is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VipVerification {
    #[default]
    Unverified,
    Failed,
    Succeeded,
}
