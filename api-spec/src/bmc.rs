//! BMCs through which machines are booted to be discovered. Additions to the protocol.

mod inventory;
mod params;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

use crate::ids::{BmcId, HostId, InfraEnvId};

pub use inventory::{BmcDrive, BmcFirmware, BmcInventory, BmcMemory, BmcNic, BmcProcessor};
pub use params::{BmcCreateParams, BmcImportParams, BmcUpdateParams};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[derive(Display, EnumString, IntoStaticStr, strum::VariantArray)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }
    };
}

mod power;

pub use power::{BmcPower, BmcPowerAction, BmcPowerOutcome, BmcPowerParams, BmcPowerRequest};

words! {
    /// Phase of the discovery of a machine through its BMC.
    BmcPhase {
        /// Waits for its turn.
        Waiting,
        /// The BMC is checked; nothing is changed.
        Checking,
        /// The machine is switched off, and the image is inserted.
        Inserting,
        /// The boot override is set to the image, once, and the machine is switched on.
        Booting,
        /// The machine is on; its agent has not registered.
        WaitingForAgent,
        /// The agent's host is known.
        Discovered,
        /// The discovery failed; see [`BmcFailure`].
        Failed,
        /// A user stopped it, or it was not started.
        Stopped,
    }
}

words! {
    /// The reason why a discovery failed.
    BmcFailure {
        /// The BMC refuses user and password. They are not tried again: BMCs lock users out.
        Credentials,
        /// The BMC presents another certificate than the trusted one, or one that no authority signed.
        Certificate,
        /// The address is not allowed, or has no meaning.
        Address,
        /// Nothing answers, or nothing with Redfish.
        Unreachable,
        /// No system is found, or several; or the firmware cannot do it.
        System,
        /// No slot takes the image.
        Media,
        /// The image's URL does not suit the BMC, or the image is not to be had.
        Image,
        /// The BMC refuses to switch or boot the machine.
        Boot,
        /// The machine is a host already that is installed, or being installed.
        InUse,
        /// The machine was booted, and no agent registered.
        NoAgent,
        /// Another request was refused, or did not end in time.
        Refused,
    }
}

words! {
    /// The way in which a machine gets the image.
    #[derive(Default)]
    BmcBoot {
        /// The BMC shows it to the machine as a CD.
        #[default]
        VirtualMedia,
        /// The machine's UEFI firmware loads it.
        UefiHttp,
    }
}

words! {
    /// The certificates that are accepted from a BMC.
    BmcCertificateMode {
        /// Signed by an authority that the service's system trusts, for the name in the address.
        System,
        /// Signed by one of the authorities in `bundle`, for the name in the address.
        Bundle,
        /// The one with this fingerprint, whatever its name; without one, that of the first contact, which is stored then.
        Pin,
        /// Any: an attacker in between can read the password.
        Insecure,
    }
}

words! {
    /// The outcome of a check.
    BmcOutcome {
        Pass,
        Fail,
        /// A check before it failed, or there is nothing to check.
        Skipped,
    }
}

/// The trust in a BMC's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcCertificate {
    pub mode: BmcCertificateMode,
    /// SHA-256 of the certificate, 64 hexadecimal digits with or without colons. Only for the mode `pin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// PEM certificates. Only for the mode `bundle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

impl Default for BmcCertificate {
    /// Whichever is shown first, and no other then.
    fn default() -> Self {
        Self {
            mode: BmcCertificateMode::Pin,
            fingerprint: None,
            bundle: None,
        }
    }
}

/// A check of the BMC, before anything is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcCheck {
    /// `address`, `certificate`, `credentials`, `system`, `power`, `media` or `image`.
    pub id: String,
    pub outcome: BmcOutcome,
    /// What was seen.
    pub seen: String,
    /// What to do; empty unless it failed.
    pub advice: String,
}

/// A property of the machine that the BMC and the agent report with different values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcDifference {
    /// `MAC address`, `UUID`, `serial number`, `memory`, `processors` or `disks`.
    pub what: String,
    /// The value that the BMC reports.
    pub bmc: String,
    /// The value that the agent reports.
    pub host: String,
}

/// Reads of the image by this BMC's own URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcImageReads {
    /// Number of requests; an ISO is read in many.
    pub requests: i64,
    /// Bytes that were begun to be sent.
    pub bytes: i64,
    /// RFC 3339 with milliseconds; left out: nothing was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_at: Option<String>,
}

/// A BMC and the progress of its machine's discovery. The password is never returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bmc {
    pub id: BmcId,
    pub infra_env_id: InfraEnvId,
    /// Unique in the InfraEnv.
    pub name: String,
    /// `https://HOST[:PORT]`.
    pub address: String,
    pub user_name: String,
    pub certificate: BmcCertificate,
    /// The id of the system, where the BMC has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    pub boot: BmcBoot,
    pub phase: BmcPhase,
    /// Only in the phase `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<BmcFailure>,
    /// What the discovery waits for, or why it failed and what to do.
    pub reason: String,
    /// When this phase began: RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub since: String,
    /// When this phase ends as failed; left out: it has no end of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub deadline: Option<String>,
    /// Attempts of this phase that failed.
    pub attempts: u32,
    /// The image is in a slot of the BMC, or may be: the discovery ended while it was inserted, and the slot was not checked since. It is
    /// ejected later.
    pub medium_inserted: bool,
    /// The last checks, in order.
    #[serde(default)]
    pub checks: Vec<BmcCheck>,
    /// SHA-256 of the certificate that was presented last, trusted or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_shown: Option<String>,
    pub image: BmcImageReads,
    /// The machine as its BMC reports it. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<BmcInventory>,
    /// The host that the machine is, or was before a further discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    /// Properties that BMC and agent report with different values, for operators to check: the host was found all the same.
    #[serde(default)]
    pub differences: Vec<BmcDifference>,
    /// Left out: it was never requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<BmcPower>,
    /// `NAMESPACE/NAME` of the custom resource that holds its settings; left out: REST does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_resource: Option<String>,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
}

/// BMCs of all InfraEnvs, in a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcPage {
    /// Failed ones first, by name; without inventories.
    pub bmcs: Vec<Bmc>,
    /// Names of their InfraEnvs, by id.
    pub infra_envs: BTreeMap<String, String>,
    /// Number of all BMCs by phase, whatever the window.
    pub phases: BTreeMap<String, i64>,
    /// There are more behind the window.
    pub more: bool,
}
