//! Declares what this crate has to know of the service's list of OS images.

use std::fmt::Debug;

use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::ImageConfiguration;
use muster_core::record::ImageWish;
use muster_core::rules::os_image::NoImage;

/// The operator's list (`--os-images`), as the service that runs these controllers has it.
pub trait OfferedImages: Debug + Send + Sync {
    /// The architectures for which the list has the image, configured by one of the programs `by`; `None`: the wish does not decide about
    /// the image, so hosts of any will do.
    ///
    /// # Errors
    /// Fails if the list has it for none.
    fn architectures(
        &self,
        wish: &ImageWish,
        by: &[ImageConfiguration],
    ) -> Result<Option<Vec<CpuArchitecture>>, NoImage>;
}

/// The list of a service that these controllers do not see: any host is taken, and the service that has it shows what its list lacks.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnknownImages;

impl OfferedImages for UnknownImages {
    fn architectures(
        &self,
        _: &ImageWish,
        _: &[ImageConfiguration],
    ) -> Result<Option<Vec<CpuArchitecture>>, NoImage> {
        Ok(None)
    }
}
