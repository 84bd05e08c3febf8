//! Names of objects in a Kubernetes API.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The custom resource that a record belongs to. Which kind it is follows from the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KubeRef {
    pub namespace: String,
    pub name: String,
}

impl KubeRef {
    /// The object `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// `namespace/name`.
impl fmt::Display for KubeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
