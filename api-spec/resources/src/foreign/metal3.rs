//! BareMetalHosts and PreprovisioningImages of Metal3 (`metal3.io/v1alpha1`): the members that are used here (docs/protocol/metal3.md).
//! Objects are changed by merge patches of single members, so that all others stay as they are written.

mod bare_metal_host;
pub mod names;
mod preprovisioning_image;

pub use bare_metal_host::{
    BareMetalHost, BareMetalHostSpec, BareMetalHostStatus, Bmc, CustomDeploy, HardwareSummary, HostImage,
    Operation, OperationHistory, Provisioning, RootDeviceHints,
};
pub use preprovisioning_image::{
    NetworkDataStatus, PreprovisioningImage, PreprovisioningImageSpec, PreprovisioningImageStatus,
};
