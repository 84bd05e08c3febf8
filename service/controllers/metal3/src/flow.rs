//! The ways in which BareMetalHosts get to the discovery image.

/// The way in which BareMetalHosts get to the discovery image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flow {
    /// None: nothing is done with Metal3's kinds.
    Off,
    /// The discovery ISO is their live ISO.
    #[default]
    LiveIso,
    /// Metal3 boots the image that a PreprovisioningImage names, and the agent of Ironic in it starts the installation.
    Converged,
}
