//! Names of other objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ClusterDeployment, by namespace and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ClusterReference {
    /// Name of the ClusterDeployment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the ClusterDeployment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// An object of a known kind in any namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NamespacedReference {
    /// Name of the object.
    pub name: String,
    /// Namespace of the object.
    pub namespace: String,
}

/// An object of a known kind in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalReference {
    /// Name of the object; empty for none.
    #[serde(default)]
    pub name: String,
}

/// An object of a known kind and namespace; its name is required.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NameReference {
    /// Name of the object.
    pub name: String,
}
