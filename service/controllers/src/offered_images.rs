//! Reads the operator's list of OS images for the controllers of Cluster API's kinds.

use std::fmt;
use std::sync::Arc;

use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::ImageConfiguration;
use muster_cluster_api::OfferedImages;
use muster_core::record::ImageWish;
use muster_core::rules::os_image::{self, NoImage};
use muster_operations::images::os::OsImages;

/// The list, with the present availability of its files.
pub struct ServiceImages(pub Arc<OsImages>);

impl OfferedImages for ServiceImages {
    fn architectures(
        &self,
        wish: &ImageWish,
        by: &[ImageConfiguration],
    ) -> Result<Option<Vec<CpuArchitecture>>, NoImage> {
        os_image::architectures(&self.0.list(), wish, by)
    }
}

impl fmt::Debug for ServiceImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceImages")
            .field(&self.0.list().len())
            .finish()
    }
}
