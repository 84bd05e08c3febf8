//! Opens an image: checks that it is one and finds the files and areas that others need.

use super::areas::Areas;
use super::error::{CoreOsImageError, NoMinimal};
use super::minimal::Minimal;
use super::s390x::S390x;
use crate::iso9660::{Extent, Iso, IsoError};
use crate::read_at::{ReadAt, digest};

const INITRD: &str = "images/pxeboot/initrd.img";
const ROOTFS: &str = "images/pxeboot/rootfs.img";
/// s390x has the second.
const KERNELS: [&str; 2] = ["images/pxeboot/vmlinuz", "images/pxeboot/kernel.img"];

/// A live image of CoreOS: where its parts lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreOsImage {
    /// Bytes of the whole ISO.
    pub length: u64,
    /// Name of the volume: product and build.
    pub volume_id: String,
    pub kernel: Extent,
    pub initrd: Extent,
    /// The root file system, as an archive for the kernel.
    pub rootfs: Extent,
    /// SHA-256 of the whole ISO.
    pub digest: [u8; 32],
    pub(super) areas: Areas,
    pub(super) minimal: Result<Minimal, NoMinimal>,
    pub(super) s390x: Option<S390x>,
}

impl CoreOsImage {
    /// Opens and checks an image. Reads it once as a whole, for the digest.
    pub fn open<R: ReadAt + ?Sized>(source: &R) -> Result<Self, CoreOsImageError> {
        let iso = Iso::open(source)?;
        let areas = Areas::find(source, &iso)?.ok_or(CoreOsImageError::NotCoreOs)?;
        let find = |path: &str| {
            let missing = || CoreOsImageError::Missing { path: path.into() };
            iso.find(path)?.ok_or_else(missing)
        };
        let kernel = match iso.find(KERNELS[1])? {
            Some(kernel) => kernel,
            None => find(KERNELS[0])?,
        };
        Ok(Self {
            length: iso.length(),
            volume_id: iso.volume_id().to_owned(),
            kernel,
            initrd: find(INITRD)?,
            rootfs: find(ROOTFS)?,
            digest: digest(source, iso.length()).map_err(IsoError::Read)?,
            minimal: Minimal::open(source, &iso),
            s390x: S390x::find(source, &iso)?,
            areas,
        })
    }

    /// Whether a minimal ISO can be made.
    pub fn check_minimal(&self) -> Result<(), NoMinimal> {
        self.minimal.as_ref().map(drop).map_err(Clone::clone)
    }
}
