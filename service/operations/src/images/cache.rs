//! Caches made discovery images: firmware and BMCs read an image in thousands of ranges, and each response needs the
//! computed parts.

use moka::sync::Cache;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::ImageType;
use muster_api::time::Timestamp;
use muster_core::record::InfraEnv;
use muster_core::rules::ignition::AgentProgram;
use muster_image::ImageBytes;

/// Most cached images; each has its configuration in memory, at most some 300 KB.
const MOST: u64 = 64;

/// A form in which an InfraEnv's image is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageForm {
    FullIso,
    /// Without the root file system, if the image has one; it is downloaded.
    MinimalIso,
    /// The initramfs, followed by the configuration.
    Initrd,
}

impl ImageForm {
    /// The ISO that users chose.
    pub fn iso_of(infra_env: &InfraEnv) -> Self {
        match infra_env.settings.image_type {
            ImageType::FullIso | ImageType::DisconnectedIso => Self::FullIso,
            ImageType::MinimalIso => Self::MinimalIso,
        }
    }
}

/// The cached images.
pub(crate) struct MadeImages(pub(crate) Cache<Made, ImageBytes>);

/// Everything that determines the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    pub(crate) infra_env: InfraEnvId,
    pub(crate) version: i64,
    pub(crate) options_since: Timestamp,
    pub(crate) base: [u8; 32],
    /// The agents whose digests are in it.
    pub(crate) agents: Vec<AgentProgram>,
    pub(crate) form: ImageForm,
}

impl Default for MadeImages {
    fn default() -> Self {
        Self(Cache::new(MOST))
    }
}
