//! Identifiers. Each is a UUID on the wire; they are kept apart here so that one cannot be passed for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = "uuid"))]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

id! {
    /// A host. Computed by the agent from the board serial, so its version bits mean nothing
    /// (docs/protocol/agent-inventory.md#14): parsers must not insist on an RFC 4122 version.
    HostId
}
id! {
    /// An InfraEnv: a discovery image and the hosts that booted it.
    InfraEnvId
}
id! {
    /// A cluster that hosts are bound to.
    ClusterId
}
id! {
    /// A BMC through which a machine is discovered.
    BmcId
}
id! {
    /// A job over many hosts.
    JobId
}
id! {
    /// An event. Of version 7: it begins with the time at which it was made.
    EventId
}
