//! Opens a live image: checks that it is one and finds the files and areas that others need.

use serde::Deserialize;

use super::description::{AgentArea, DESCRIPTION_PATH, Description, FORMAT, VERSION};
use super::error::{LiveImageError, inconsistent};
use crate::iso9660::{Extent, Iso, IsoError};
use crate::kargs::KargsAreas;
use crate::read_at::{ReadAt, digest};

/// A description larger than this is not ours.
const LARGEST_DESCRIPTION: u64 = 64 * 1024;

/// The part of the description that all versions share.
#[derive(Debug, Deserialize)]
struct Header {
    format: String,
    version: u32,
}

/// A base live image: where its parts lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveImage {
    /// Bytes of the whole ISO.
    pub length: u64,
    /// `x86_64`.
    pub architecture: String,
    /// Version of the agent inside.
    pub agent_version: String,
    pub kernel: Extent,
    pub initrd: Extent,
    pub config: Extent,
    pub kargs: KargsAreas,
    /// The agent on its own, if the image describes its place.
    pub agent: Option<PackedAgent>,
    /// SHA-256 of the whole ISO, so that replicas with the same file give the same validators.
    pub digest: [u8; 32],
}

/// The agent's archive in the image, and the program in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedAgent {
    /// One frame of zstd with a newc archive, in which the program is `init`; then zeros, perhaps.
    pub packed: Extent,
    /// Bytes of the program.
    pub size: u64,
    /// SHA-256 of the program, hexadecimal.
    pub sha256: String,
}

impl LiveImage {
    /// Opens and checks an image. Reads it once as a whole, for the digest.
    pub fn open<R: ReadAt + ?Sized>(source: &R) -> Result<Self, LiveImageError> {
        let iso = Iso::open(source)?;
        let description = read_description(&iso)?;
        let kargs = description.kargs.locate(source, &iso)?;
        let config_file = find(&iso, &description.config.file)?;
        if description.config.length == 0 || description.config.length > config_file.length {
            return Err(inconsistent(format!(
                "the configuration area has {} bytes, its file /{} {}",
                description.config.length, description.config.file, config_file.length
            )));
        }
        let initrd = find(&iso, &description.initrd)?;
        Ok(Self {
            length: iso.length(),
            kernel: find(&iso, &description.kernel)?,
            agent: description
                .agent
                .map(|area| packed_agent(area, initrd))
                .transpose()?,
            initrd,
            config: Extent {
                offset: config_file.offset,
                length: description.config.length,
            },
            architecture: description.architecture,
            agent_version: description.agent_version,
            kargs,
            digest: digest(source, iso.length()).map_err(IsoError::Read)?,
        })
    }
}

/// Reads the description of an image; its files and areas are not checked yet.
pub fn read_description<R: ReadAt + ?Sized>(iso: &Iso<'_, R>) -> Result<Description, LiveImageError> {
    let extent = iso.find(DESCRIPTION_PATH)?.ok_or(LiveImageError::NotMuster)?;
    let json = iso.read(DESCRIPTION_PATH, extent, LARGEST_DESCRIPTION)?;
    let header: Header = serde_json::from_slice(&json).map_err(|_| LiveImageError::NotMuster)?;
    if header.format != FORMAT {
        return Err(LiveImageError::NotMuster);
    }
    match header.version {
        VERSION => Ok(serde_json::from_slice(&json)?),
        0 => Err(inconsistent("format version 0 does not exist")),
        found => Err(LiveImageError::NewerFormat { found }),
    }
}

fn packed_agent(area: AgentArea, initrd: Extent) -> Result<PackedAgent, LiveImageError> {
    let end = area.offset.checked_add(area.length);
    if area.length == 0 || end.is_none_or(|end| end > initrd.length) {
        return Err(inconsistent(format!(
            "the agent's {} bytes at {} are not within the initramfs of {} bytes",
            area.length, area.offset, initrd.length
        )));
    }
    if area.sha256.len() != 64 || !area.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(inconsistent("the agent's SHA-256 has not 64 hexadecimal digits"));
    }
    Ok(PackedAgent {
        packed: Extent {
            offset: initrd.offset + area.offset,
            length: area.length,
        },
        size: area.size,
        sha256: area.sha256.to_ascii_lowercase(),
    })
}

fn find<R: ReadAt + ?Sized>(iso: &Iso<'_, R>, path: &str) -> Result<Extent, LiveImageError> {
    iso.find(path)?
        .ok_or_else(|| LiveImageError::Missing { path: path.into() })
}
