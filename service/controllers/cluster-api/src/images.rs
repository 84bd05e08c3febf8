//! Declares what this crate has to know of the service's list of OS images.

use std::fmt::Debug;

use muster_api::infra_env::CpuArchitecture;
use muster_core::record::ImageWish;

/// The operator's list (`--os-images`), as the service that runs these controllers has it.
pub trait OfferedImages: Debug + Send + Sync {
    /// The architectures for which the list has the image; `None`: the wish does not decide about the image, so hosts of any will do.
    ///
    /// # Errors
    /// Fails if the list has it for none. The text is for users.
    fn architectures(&self, wish: &ImageWish) -> Result<Option<Vec<CpuArchitecture>>, String>;
}
