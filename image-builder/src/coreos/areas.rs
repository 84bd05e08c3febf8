//! Finds the areas of an image, full or minimal.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{CoreOsImageError, inconsistent};
use crate::iso9660::{Extent, Iso, IsoError};
use crate::kargs::{Area, KargsAreas, KargsLayout, Reader};
use crate::read_at::ReadAt;

const IGNITION_INFO: &str = "coreos/igninfo.json";
const KARGS_INFO: &str = "coreos/kargs.json";
const IGNITION_FILE: &str = "images/ignition.img";
/// Real ones have some hundred bytes.
const LARGEST_INFO: u64 = 64 * 1024;

/// End of the area that ISO 9660 reserves for systems; the headers of early images are before it.
const SYSTEM_AREA: u64 = 32_768;
const IGNITION_MAGIC: &[u8; 8] = b"coreiso+";
const IGNITION_HEADER: usize = 24;
const KARGS_MAGIC: &[u8; 8] = b"coreKarg";
const KARGS_HEADER: usize = 72;
/// GRUB's configuration is at one of these paths.
const GRUB_FILES: [&str; 4] = [
    "EFI/redhat/grub.cfg",
    "EFI/fedora/grub.cfg",
    "EFI/centos/grub.cfg",
    "boot/grub/grub.cfg",
];

/// The places that are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) ignition: Extent,
    /// `None`: the image reserves none, like those of 2020 and those of s390x before 2023-07.
    pub(super) kargs: Option<KargsAreas>,
}

#[derive(Deserialize)]
struct IgnitionInfo {
    file: String,
    #[serde(default)]
    offset: u64,
    length: Option<u64>,
}

impl Areas {
    /// `None`: the ISO is not CoreOS's.
    pub(super) fn find<R: ReadAt + ?Sized>(
        source: &R,
        iso: &Iso<'_, R>,
    ) -> Result<Option<Self>, CoreOsImageError> {
        let Some(ignition) = ignition(source, iso)? else {
            return Ok(None);
        };
        if ignition.length == 0 || ignition.end() > iso.length() {
            return Err(inconsistent(format!(
                "the ignition area of {} bytes at {} is not within its {} bytes",
                ignition.length,
                ignition.offset,
                iso.length()
            )));
        }
        let kargs = match info::<KargsLayout, R>(iso, KARGS_INFO)? {
            Some(layout) => Some(layout.locate(source, iso)?),
            None => kargs_of_header(source, iso)?,
        };
        Ok(Some(Self { ignition, kargs }))
    }
}

fn ignition<R: ReadAt + ?Sized>(source: &R, iso: &Iso<'_, R>) -> Result<Option<Extent>, CoreOsImageError> {
    if let Some(info) = info::<IgnitionInfo, R>(iso, IGNITION_INFO)? {
        let missing = || CoreOsImageError::Missing {
            path: info.file.clone(),
        };
        let file = iso.find(&info.file)?.ok_or_else(missing)?;
        let length = match info.length {
            Some(length) => Some(length),
            None => file.length.checked_sub(info.offset),
        };
        let end = length.and_then(|length| info.offset.checked_add(length));
        let (Some(length), Some(_)) = (length, end.filter(|&end| end <= file.length)) else {
            return Err(inconsistent(format!(
                "the ignition area at {} is not within /{} of {} bytes",
                info.offset, info.file, file.length
            )));
        };
        return Ok(Some(Extent {
            offset: file.offset + info.offset,
            length,
        }));
    }
    let header = read(source, SYSTEM_AREA - IGNITION_HEADER as u64, IGNITION_HEADER)?;
    if header.starts_with(IGNITION_MAGIC) {
        let area = Extent {
            offset: number(&header, 1),
            length: number(&header, 2),
        };
        if area.offset.checked_add(area.length).is_none() {
            return Err(inconsistent("the ignition area has no end"));
        }
        return Ok(Some(area));
    }
    Ok(iso.find(IGNITION_FILE)?)
}

/// Images of 2021: the same text at up to six places of the ISO, and the default in a separate file.
fn kargs_of_header<R: ReadAt + ?Sized>(
    source: &R,
    iso: &Iso<'_, R>,
) -> Result<Option<KargsAreas>, CoreOsImageError> {
    let at = SYSTEM_AREA - (IGNITION_HEADER + KARGS_HEADER) as u64;
    let header = read(source, at, KARGS_HEADER)?;
    if !header.starts_with(KARGS_MAGIC) {
        return Ok(None);
    }
    let size = usize::try_from(number(&header, 1))
        .ok()
        .filter(|&size| size as u64 <= LARGEST_INFO)
        .ok_or_else(|| inconsistent("a kernel-argument area of impossible size"))?;
    let default = read(source, number(&header, 2), size)?;
    let default = default.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let default = String::from_utf8(default.to_vec())
        .map_err(|_| inconsistent("its default kernel arguments are no text"))?;
    let mut grub = Vec::new();
    for path in GRUB_FILES {
        grub.extend(iso.find(path)?);
    }
    let offsets = (3..9).map(|index| number(&header, index));
    let area = |offset: u64| {
        let of_grub = grub
            .iter()
            .any(|file| (file.offset..file.end()).contains(&offset));
        Area {
            offset,
            end: b'\n',
            pad: b'#',
            reader: if of_grub { Reader::Grub } else { Reader::Plain },
        }
    };
    let areas = offsets.take_while(|&offset| offset != 0).map(area).collect();
    Ok(Some(KargsAreas::checked(source, default, size, areas)?))
}

fn info<T: DeserializeOwned, R: ReadAt + ?Sized>(
    iso: &Iso<'_, R>,
    path: &'static str,
) -> Result<Option<T>, CoreOsImageError> {
    let Some(extent) = iso.find(path)? else {
        return Ok(None);
    };
    let json = iso.read(path, extent, LARGEST_INFO)?;
    let parsed = serde_json::from_slice(&json);
    parsed.map_err(|source| CoreOsImageError::Description { path, source })
}

fn read<R: ReadAt + ?Sized>(source: &R, offset: u64, length: usize) -> Result<Vec<u8>, IsoError> {
    let mut bytes = vec![0; length];
    source.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// The little-endian number at this multiple of eight bytes.
fn number(header: &[u8], index: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[index * 8..index * 8 + 8]);
    u64::from_le_bytes(bytes)
}
