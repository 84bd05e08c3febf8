use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::absent::absent_is_default;
use crate::schema;

/// The network of one host.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "NMStateConfigSpec")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "NMStateConfig",
    plural = "nmstateconfigs",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "Network settings of one host, known by its MAC addresses. They belong to each InfraEnv whose `nmStateConfigLabelSelector` selects this object."
)]
pub struct NMStateConfigSpec {
    /// The interfaces of the host. One of the MAC addresses must be the host's, otherwise the settings do not apply to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub interfaces: Vec<NMStateConfigInterface>,
    /// Desired state in nmstate's language (`interfaces`, `dns-resolver`, `routes` ...), with the names from `interfaces`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_object")]
    pub config: Option<Map<String, Value>>,
}
absent_is_default!(NMStateConfigSpec);

/// Name of an interface in `config`, and its MAC address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NMStateConfigInterface {
    /// Name that `config` uses. On the host the interface may be called otherwise: it is found by its MAC address.
    pub name: String,
    /// MAC address as six pairs of hexadecimal digits with colons between.
    #[schemars(regex(pattern = "^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$"))]
    pub mac_address: String,
}
