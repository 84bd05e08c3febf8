//! Reads the recipe for the vendor's own minimal ISO, which is the full one without its root file system.
//!
//! The recipe lists the runs of the full image with their places in the minimal one, and holds all other bytes, packed; integers are of
//! variable length, as bincode 1 writes them. Source: docs/protocol/image-service.md#8.

use std::io::Read as _;

use bytes::Bytes;
use liblzma::read::XzDecoder;

use super::areas::Areas;
use super::error::NoMinimal;
use crate::iso9660::{Extent, Iso, SECTOR};
use crate::overlay::{Piece, Plan};
use crate::read_at::{Planned, ReadAt, digest};

const RECIPE: &str = "coreos/miniso.dat";
const MAGIC: &[u8; 8] = b"MINISO\0\0";
const VERSION: u64 = 1;
/// Largest recipe in bytes, the limit of the program that writes it.
const LARGEST_RECIPE: u64 = 1 << 20;
/// Bytes that a recipe may hold unpacked: directories and padding.
const LARGEST_REST: u64 = 16 << 20;
/// The argument that names the medium with the root file system.
const LIVE_ISO: &str = "coreos.liveiso=";

/// The minimal ISO, as a plan over the full one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Minimal {
    pub(super) plan: Plan,
    /// Its areas; those of kernel arguments lack the argument that names the medium.
    pub(super) areas: Areas,
}

struct Recipe {
    runs: Vec<Run>,
    digest: [u8; 32],
    /// The bytes between the runs.
    rest: Bytes,
}

struct Run {
    minimal: u64,
    full: u64,
    length: u64,
}

impl Minimal {
    pub(super) fn open<R: ReadAt + ?Sized>(source: &R, iso: &Iso<'_, R>) -> Result<Self, NoMinimal> {
        let unusable = |error: &dyn std::fmt::Display| NoMinimal::Unusable(error.to_string());
        let extent = iso.find(RECIPE).map_err(|error| unusable(&error))?;
        let extent = extent.ok_or(NoMinimal::NoRecipe)?;
        let bytes = iso
            .read(RECIPE, extent, LARGEST_RECIPE)
            .map_err(|error| unusable(&error))?;
        let recipe = Recipe::parse(&bytes).map_err(NoMinimal::Unusable)?;
        let plan = recipe.plan(iso.length()).map_err(NoMinimal::Unusable)?;
        let view = Planned {
            base: source,
            plan: &plan,
        };
        let found = digest(&view, plan.length()).map_err(|error| unusable(&error))?;
        if found != recipe.digest {
            return Err(unusable(&"what it makes does not have the digest that it names"));
        }
        let minimal = Iso::open(&view).map_err(|error| unusable(&error))?;
        let areas = Areas::find(&view, &minimal).map_err(|error| unusable(&error))?;
        let mut areas = areas.ok_or_else(|| unusable(&"what it makes has no ignition area"))?;
        let kargs = areas
            .kargs
            .as_ref()
            .ok_or_else(|| unusable(&"what it makes has no area for kernel arguments"))?;
        let default: Vec<&str> = without_live_iso(kargs.default_arguments()).collect();
        areas.kargs = Some(kargs.with_default(default.join(" ")));
        Ok(Self { plan, areas })
    }
}

/// The arguments except the one that names the medium.
pub(super) fn without_live_iso(arguments: &str) -> impl Iterator<Item = &str> {
    arguments
        .split_ascii_whitespace()
        .filter(|argument| !argument.starts_with(LIVE_ISO))
}

impl Recipe {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut fields = Fields(bytes);
        if fields.take(MAGIC.len())? != MAGIC {
            return Err("it is none".into());
        }
        let version = fields.integer()?;
        if version != VERSION {
            return Err(format!("its version is {version}, and {VERSION} is known"));
        }
        let program = fields.integer()?;
        fields.take(program.try_into().map_err(|_| "it ends early")?)?;
        let count = fields.integer()?;
        let mut runs = Vec::new();
        for _ in 0..count {
            runs.push(Run {
                minimal: fields.sector()?,
                full: fields.sector()?,
                length: fields.integer()?,
            });
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(fields.take(32)?);
        let packed = fields.integer()?;
        let packed = fields.take(packed.try_into().map_err(|_| "it ends early")?)?;
        let mut rest = Vec::new();
        let unpacked = XzDecoder::new(packed)
            .take(LARGEST_REST + 1)
            .read_to_end(&mut rest);
        unpacked.map_err(|error| format!("its packed part is damaged: {error}"))?;
        if rest.len() as u64 > LARGEST_REST {
            return Err("its packed part is too large".into());
        }
        Ok(Self {
            runs,
            digest,
            rest: rest.into(),
        })
    }

    fn plan(&self, full_length: u64) -> Result<Plan, String> {
        let mut pieces = Vec::new();
        let (mut at, mut used) = (0, 0);
        for run in &self.runs {
            let between = run.minimal.checked_sub(at).ok_or("its runs overlap")?;
            let end = used + usize::try_from(between).map_err(|_| "a run lies too far away")?;
            if end > self.rest.len() {
                return Err("its packed part ends early".into());
            }
            if run
                .full
                .checked_add(run.length)
                .is_none_or(|end| end > full_length)
            {
                return Err("a run lies beyond the end of the full image".into());
            }
            pieces.push(Piece::Bytes(self.rest.slice(used..end)));
            pieces.push(Piece::Base(Extent {
                offset: run.full,
                length: run.length,
            }));
            used = end;
            at = run.minimal + run.length;
        }
        pieces.push(Piece::Bytes(self.rest.slice(used..)));
        Ok(Plan::concatenation(pieces))
    }
}

/// The rest of the recipe.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it ends early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// Up to 250 in one byte; after 251, 252 and 253, 2, 4 and 8 bytes follow, little-endian.
    fn integer(&mut self) -> Result<u64, String> {
        let first = self.take(1)?[0];
        let length = match first {
            0..=250 => return Ok(first.into()),
            251 => 2,
            252 => 4,
            253 => 8,
            _ => return Err("a number in it is too large".into()),
        };
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(self.take(length)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// The place of a sector, in bytes.
    fn sector(&mut self) -> Result<u64, String> {
        let sector = u32::try_from(self.integer()?).map_err(|_| "a sector in it is impossible")?;
        Ok(u64::from(sector) * SECTOR)
    }
}
