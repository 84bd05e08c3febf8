//! Customises the image for one InfraEnv, as byte plans.

use bytes::Bytes;

use super::archive::{InitrdFile, archive};
use super::areas::Areas;
use super::error::NoMinimal;
use super::minimal::without_live_iso;
use super::open::CoreOsImage;
use crate::customise::ImageBytes;
use crate::etag::etag;
use crate::iso9660::Extent;
use crate::kargs::KargsError;
use crate::overlay::{OutOfImage, Piece, Plan};

/// Settings of an InfraEnv that its images hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreOsCustomisation {
    /// The discovery configuration, as JSON.
    pub ignition: String,
    /// Files for the initramfs, in addition to the configuration.
    pub initrd_files: Vec<InitrdFile>,
    /// Arguments after the image's own, unescaped.
    pub kernel_arguments: Vec<String>,
}

/// An image cannot be made for an InfraEnv. The user can act on each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoreOsCustomiseError {
    /// The archive is larger than its area.
    #[error(
        "the discovery configuration needs {needed} bytes compressed, the CoreOS image reserves {limit}: {} too many; shorten the ignition override, certificates, pull secret or static networks",
        needed - limit
    )]
    IgnitionTooBig { needed: u64, limit: u64 },
    #[error(transparent)]
    KernelArguments(#[from] KargsError),
    /// The image is older than the areas, or for s390x.
    #[error("the CoreOS image reserves no area for kernel arguments; boot it with iPXE, or leave them out")]
    NoKernelArguments,
    #[error(transparent)]
    NoMinimal(#[from] NoMinimal),
    /// Areas were checked when the image was opened, so this is a defect of the image.
    #[error(transparent)]
    OutOfImage(#[from] OutOfImage),
}

impl CoreOsImage {
    /// The full ISO: the base with its areas written.
    pub fn full_iso(&self, wanted: &CoreOsCustomisation) -> Result<ImageBytes, CoreOsCustomiseError> {
        let base = Plan::of_base(Extent {
            offset: 0,
            length: self.length,
        });
        let plan = write(base, &self.areas, wanted, &wanted.kernel_arguments)?;
        Ok(self.tagged(plan))
    }

    /// The vendor's minimal ISO, which fetches its root file system from `rootfs_url`.
    pub fn minimal_iso(
        &self,
        wanted: &CoreOsCustomisation,
        rootfs_url: &str,
    ) -> Result<ImageBytes, CoreOsCustomiseError> {
        let minimal = self.minimal.as_ref().map_err(Clone::clone)?;
        let mut arguments = vec![format!("coreos.live.rootfs_url={rootfs_url}")];
        arguments.extend_from_slice(&wanted.kernel_arguments);
        let plan = write(minimal.plan.clone(), &minimal.areas, wanted, &arguments)?;
        Ok(self.tagged(plan))
    }

    /// A full or minimal ISO with one more kernel argument of letters, digits, `.`, `-` and `=`; `None`: there is no room, or no area.
    pub fn iso_with_argument(
        &self,
        made: &ImageBytes,
        is_minimal: bool,
        argument: &str,
    ) -> Option<ImageBytes> {
        let areas = match (is_minimal, &self.minimal) {
            (true, Ok(minimal)) => &minimal.areas,
            (true, Err(_)) => return None,
            (false, _) => &self.areas,
        };
        made.with_argument(areas.kargs.as_ref()?, argument)
    }

    /// The initramfs followed by the configuration.
    pub fn pxe_initrd(&self, wanted: &CoreOsCustomisation) -> Result<ImageBytes, CoreOsCustomiseError> {
        let archive = checked_archive(&self.areas, wanted)?;
        Ok(self.tagged(Plan::initrd_with(self.initrd, archive)))
    }

    /// The arguments of a kernel that is started without the ISO, before the user's.
    pub fn netboot_arguments(&self, rootfs_url: &str) -> Vec<String> {
        let own = self.areas.kargs.as_ref().map(|kargs| kargs.default_arguments());
        let own = own.unwrap_or("ignition.firstboot ignition.platform.id=metal");
        let own = without_live_iso(own).map(str::to_owned);
        own.chain([format!("coreos.live.rootfs_url={rootfs_url}")])
            .collect()
    }

    /// The kernel, the same for every InfraEnv.
    pub fn pxe_kernel(&self) -> ImageBytes {
        self.tagged(Plan::of_base(self.kernel))
    }

    /// The root file system, the same for every InfraEnv.
    pub fn pxe_rootfs(&self) -> ImageBytes {
        self.tagged(Plan::of_base(self.rootfs))
    }

    pub(super) fn tagged(&self, plan: Plan) -> ImageBytes {
        ImageBytes {
            etag: etag(&self.digest, &plan),
            plan,
        }
    }
}

fn write(
    base: Plan,
    areas: &Areas,
    wanted: &CoreOsCustomisation,
    arguments: &[String],
) -> Result<Plan, CoreOsCustomiseError> {
    let archive = checked_archive(areas, wanted)?;
    let mut plan = base.filled(areas.ignition, archive)?;
    match &areas.kargs {
        Some(kargs) => {
            for (offset, bytes) in kargs.written(arguments)? {
                plan = plan.overlaid(offset, Piece::Bytes(bytes))?;
            }
        }
        None if arguments.is_empty() => {}
        None => return Err(CoreOsCustomiseError::NoKernelArguments),
    }
    Ok(plan)
}

/// Checks the archive. The limit is that of the full ISO for all forms, so that an InfraEnv that fits one form fits the others.
fn checked_archive(areas: &Areas, wanted: &CoreOsCustomisation) -> Result<Bytes, CoreOsCustomiseError> {
    let archive = archive(&wanted.ignition, &wanted.initrd_files);
    let (needed, limit) = (archive.len() as u64, areas.ignition.length);
    if needed > limit {
        return Err(CoreOsCustomiseError::IgnitionTooBig { needed, limit });
    }
    Ok(archive)
}
