//! What images for s390x hold for machines that load kernel and initramfs by a list of addresses. Source:
//! docs/protocol/image-service.md#13.

use bytes::Bytes;

use super::error::CoreOsImageError;
use super::open::CoreOsImage;
use crate::customise::ImageBytes;
use crate::iso9660::{Extent, Iso, IsoError};
use crate::overlay::{Piece, Plan};
use crate::read_at::ReadAt;

const LIST: &str = "generic.ins";
const ADDRESS_AND_LENGTH: &str = "images/initrd.addrsize";

/// Places of the files of s390x.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct S390x {
    /// The list of files and their addresses.
    list: Extent,
    /// Address of the initramfs, big-endian.
    load_address: [u8; 8],
}

impl S390x {
    /// `None`: the image is for another architecture.
    pub(super) fn find<R: ReadAt + ?Sized>(
        source: &R,
        iso: &Iso<'_, R>,
    ) -> Result<Option<Self>, CoreOsImageError> {
        let (Some(list), Some(address)) = (iso.find(LIST)?, iso.find(ADDRESS_AND_LENGTH)?) else {
            return Ok(None);
        };
        if address.length != 16 {
            return Err(CoreOsImageError::Inconsistent {
                what: format!("/{ADDRESS_AND_LENGTH} has {} bytes, not 16", address.length),
            });
        }
        let mut load_address = [0; 8];
        source
            .read_exact_at(&mut load_address, address.offset)
            .map_err(IsoError::Read)?;
        Ok(Some(Self { list, load_address }))
    }
}

impl CoreOsImage {
    /// `generic.ins`, the same for every InfraEnv; `None`: the image is not for s390x.
    pub fn generic_ins(&self) -> Option<ImageBytes> {
        let s390x = self.s390x.as_ref()?;
        Some(self.tagged(Plan::of_base(s390x.list)))
    }

    /// `initrd.addrsize` of an initramfs that was made of this image: its address and its length, 8 bytes each, big-endian; `None`: the
    /// image is not for s390x.
    pub fn initrd_addrsize(&self, initrd: &ImageBytes) -> Option<ImageBytes> {
        let s390x = self.s390x.as_ref()?;
        let bytes = [s390x.load_address, initrd.plan.length().to_be_bytes()].concat();
        Some(self.tagged(Plan::concatenation([Piece::Bytes(Bytes::from(bytes))])))
    }
}
