//! Defines BMCs: machines that are discovered by booting them through their management controllers. A kind of Muster's own (docs/bmc.md).

mod status;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LocalReference;

pub use status::{BmcCertificateStatus, BmcCheckStatus, BmcDifferenceStatus, BmcInventoryStatus, BmcStatus};

/// The BMC, and what is to be done with its machine.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BMCSpec")]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "BMC",
    root = "Bmc",
    plural = "bmcs",
    namespaced,
    status = "BmcStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "The management controller (Redfish) of a machine. The machine is switched off, booted from the image of its InfraEnv once, and becomes an Agent of it. A new value of the annotation `bmc.muster.dev/discover` does that again; `spec.discover: false` stops it. Deleting the object takes the image out and leaves the Agent.",
    printcolumn(name = "Phase", json_path = ".status.phase", type_ = "string"),
    printcolumn(name = "Address", json_path = ".spec.address", type_ = "string"),
    printcolumn(name = "Agent", json_path = ".status.agentRef.name", type_ = "string"),
    printcolumn(name = "Age", json_path = ".metadata.creationTimestamp", type_ = "date"),
    printcolumn(
        name = "Message",
        json_path = ".status.message",
        type_ = "string",
        priority = 1
    )
)]
pub struct BmcSpec {
    /// InfraEnv in the same namespace; the machine boots its image. Cannot be changed.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "oldSelf == self",
        "message": "a BMC stays with its InfraEnv: delete it and create it again"
    }]))]
    pub infra_env_ref: LocalReference,
    /// `HOST`, `HOST:PORT` or `https://HOST[:PORT]`, without user and path. IPv6 addresses are in brackets.
    pub address: String,
    /// Secret in the same namespace with `username` and `password`. They are tried once; a change of the Secret is tried again.
    pub credentials_name: String,
    /// The certificates that are accepted from the BMC. Without it, the one of the first contact, and no other from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<BmcTrust>,
    /// Id of the Redfish system, where the BMC has several. Without it, the only one.
    #[serde(rename = "systemID", default, skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    /// The way in which the machine gets the image.
    #[serde(default)]
    pub boot: BmcBootWay,
    /// True: the machine is discovered. False: it is not; a discovery in progress is stopped, and the image ejected. True again starts a
    /// new discovery.
    #[serde(default = "yes")]
    pub discover: bool,
}

/// The defaults that the API server fills in.
impl Default for BmcSpec {
    fn default() -> Self {
        Self {
            infra_env_ref: LocalReference::default(),
            address: String::new(),
            credentials_name: String::new(),
            trust: None,
            system_id: None,
            boot: BmcBootWay::default(),
            discover: yes(),
        }
    }
}

fn yes() -> bool {
    true
}

/// The way in which a machine gets an image. The values are those of REST.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BmcBootWay {
    /// The BMC shows it to the machine as a CD.
    #[default]
    VirtualMedia,
    /// The machine's UEFI firmware loads it.
    UefiHttp,
}

/// The certificates that are accepted from a BMC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BmcTrust {
    /// `pin`: the one with `fingerprint`, whatever its name. `system`: signed by an authority that the service's system trusts, for the
    /// name in the address. `bundle`: signed by an authority in `bundleRef`, for the name in the address. `insecure`: any; an attacker in
    /// between can read the password.
    #[serde(default)]
    pub mode: BmcTrustMode,
    /// SHA-256 of the certificate, 64 hexadecimal digits with or without colons. Only for the mode `pin`. Without it, that of the first
    /// contact, which is stored in `status.certificate.fingerprint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// ConfigMap in the same namespace with certificates in PEM under the key `ca-bundle.crt`. Only for the mode `bundle`, which requires
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle_ref: Option<LocalReference>,
}

/// The certificates that are accepted. The values are those of REST.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BmcTrustMode {
    #[default]
    Pin,
    System,
    Bundle,
    Insecure,
}
