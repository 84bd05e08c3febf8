//! Configs that an Ignition config holds in `data:` URLs of `ignition.config`: k0smotron writes its own so, and RKE2 with
//! `gzipUserData`. Source: docs/protocol/capi-day1.md (2).

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256, Sha512};

use super::items;
use super::refused::Refused;
use super::version::{is_known, version};
use crate::rules::ignition_spec::{self as spec, data_of_url};

/// Most levels of configs in configs.
const LEVELS: usize = 4;
/// Most bytes of all configs in a config, unpacked.
const BYTES: usize = 8 << 20;

/// The content of a reference to a config.
pub(super) enum Content {
    /// It refers to nothing.
    None,
    /// The host fetches it.
    Remote,
    /// The text of the config.
    Here(Vec<u8>),
}

/// Reads references within the limits.
pub(super) struct Unpacking {
    bytes_left: usize,
    items_left: usize,
}

impl Unpacking {
    pub(super) fn new() -> Self {
        Self {
            bytes_left: BYTES,
            items_left: items::MOST_ITEMS,
        }
    }

    /// Returns the content of a reference, a member of `ignition.config`; its digest is checked. `level`: 0 for references
    /// of the whole config; `path`: of the reference.
    pub(super) fn content(
        &mut self,
        reference: &Value,
        path: &str,
        level: usize,
    ) -> Result<Content, Refused> {
        let source = reference["source"].as_str().unwrap_or_default();
        if source.is_empty() {
            return Ok(Content::None);
        }
        if !source.starts_with("data:") {
            return Ok(Content::Remote);
        }
        let at_source = format!("{path}.source");
        if level >= LEVELS {
            let why = format!("is a config more than {LEVELS} levels deep; give it one level up");
            return Err(Refused::new(at_source, why));
        }
        let data = data_of_url(source).map_err(|why| Refused::new(&at_source, why))?;
        let data = match reference["compression"].as_str().unwrap_or_default() {
            "" => data,
            "gzip" => self.unpacked(&data).ok_or_else(|| {
                Refused::new(&at_source, "does not hold gzip, though compression declares it")
            })?,
            _ => {
                return Err(Refused::new(
                    format!("{path}.compression"),
                    "must be gzip, or empty",
                ));
            }
        };
        self.bytes_left = self.bytes_left.checked_sub(data.len()).ok_or_else(|| {
            let why = format!("makes the configs in this config larger than {BYTES} bytes, unpacked");
            Refused::new(&at_source, why)
        })?;
        if let Some(hash) = reference["verification"]["hash"].as_str()
            && !is_digest(hash, &data)
        {
            return Err(Refused::new(
                format!("{path}.verification.hash"),
                "is not the digest of the source",
            ));
        }
        Ok(Content::Here(data))
    }

    /// Parses the text of a config in a config, which the member `holder` holds.
    pub(super) fn config(&mut self, text: &[u8], holder: &str) -> Result<Value, Refused> {
        let config: Value = serde_json::from_slice(text)
            .map_err(|_| Refused::new(holder, "holds a config that is not JSON"))?;
        let left = self.items_left.checked_sub(items::count(&config));
        self.items_left = left.ok_or_else(|| Refused::new(holder, items::TOO_MANY))?;
        Ok(config)
    }

    /// Unpacks one byte more than is left at most. `None`: the data is damaged.
    fn unpacked(&self, data: &[u8]) -> Option<Vec<u8>> {
        let limit = u64::try_from(self.bytes_left)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let mut text = Vec::new();
        MultiGzDecoder::new(data)
            .take(limit)
            .read_to_end(&mut text)
            .ok()?;
        Some(text)
    }
}

fn is_digest(hash: &str, data: &[u8]) -> bool {
    match hash.split_once('-') {
        Some(("sha512", digest)) => format!("{:x}", Sha512::digest(data)).eq_ignore_ascii_case(digest),
        Some(("sha256", digest)) => format!("{:x}", Sha256::digest(data)).eq_ignore_ascii_case(digest),
        _ => false,
    }
}

/// A config of specification 3, or one in it.
pub(super) struct Part {
    /// The member that holds it; empty for the whole config.
    pub(super) holder: String,
    pub(super) config: Value,
    /// Another config takes its place, so that nothing of it is applied.
    pub(super) is_replaced: bool,
}

/// The parts of a config, in the order in which Ignition merges them.
pub(super) struct Parts {
    pub(super) all: Vec<Part>,
    /// The host fetches further parts, of which nothing is known.
    pub(super) has_remote: bool,
}

impl Parts {
    /// Reads `config` and the configs in it.
    pub(super) fn read(config: &Value) -> Result<Self, Refused> {
        let mut parts = Self {
            all: Vec::new(),
            has_remote: false,
        };
        parts.collect(config.clone(), "", 0, &mut Unpacking::new())?;
        Ok(parts)
    }

    fn collect(
        &mut self,
        config: Value,
        holder: &str,
        level: usize,
        unpacking: &mut Unpacking,
    ) -> Result<(), Refused> {
        let references = config.pointer("/ignition/config").cloned().unwrap_or_default();
        let replace = ("ignition.config.replace".to_owned(), &references["replace"]);
        let is_replaced = replace.1["source"]
            .as_str()
            .is_some_and(|source| !source.is_empty());
        let references: Vec<(String, &Value)> = if is_replaced {
            vec![replace]
        } else {
            let list = references["merge"].as_array().into_iter().flatten();
            list.enumerate()
                .map(|(index, reference)| (format!("ignition.config.merge.{index}"), reference))
                .collect()
        };
        self.all.push(Part {
            holder: holder.to_owned(),
            config,
            is_replaced,
        });
        for (path, reference) in references {
            let content = unpacking
                .content(reference, &path, level)
                .map_err(|refused| refused.held_by(holder))?;
            let text = match content {
                Content::None => continue,
                Content::Remote => {
                    self.has_remote = true;
                    continue;
                }
                Content::Here(text) => text,
            };
            let inner_holder = Refused::new(format!("{path}.source"), "").held_by(holder).member;
            let inner = unpacking.config(&text, &inner_holder)?;
            match version(&inner) {
                Some((3, ..)) => {}
                Some(_) => {
                    return Err(Refused::new(
                        inner_holder,
                        "holds a config of specification 2, and the config that it is in is of 3; give both in one of them",
                    ));
                }
                None => return Err(Refused::new(inner_holder, "holds no Ignition config")),
            }
            self.collect(inner, &inner_holder, level + 1, unpacking)?;
        }
        Ok(())
    }
}

/// Validates the configs in `config`, of specification 3, and the config that all parts make together, by Ignition's own
/// rules. `config` itself is not validated.
///
/// # Errors
/// The first refused member.
pub fn check_nested(config: &Value) -> Result<(), Refused> {
    let parts = Parts::read(config)?;
    if parts.all.len() < 2 {
        return Ok(());
    }
    let is_all_known = parts
        .all
        .iter()
        .all(|part| version(&part.config).is_some_and(is_known));
    for part in parts.all.iter().filter(|part| !part.holder.is_empty()) {
        if version(&part.config).is_some_and(is_known) {
            parsed(&part.config).map_err(|refused| refused.held_by(&part.holder))?;
        }
    }
    if !is_all_known {
        return Ok(());
    }
    let mut whole: Option<spec::Config> = None;
    for part in parts.all.iter().filter(|part| !part.is_replaced) {
        // The whole config is validated by the caller.
        let Ok(part) = spec::read(&part.config.to_string()) else {
            return Ok(());
        };
        whole = Some(match whole {
            Some(whole) => whole.with(part),
            None => part,
        });
    }
    let problems = whole.map(|whole| spec::problems(&whole)).unwrap_or_default();
    match problems.into_iter().next() {
        Some(problem) => Err(Refused::new(
            problem.path,
            format!("{} (in the config that its parts make together)", problem.why),
        )),
        None => Ok(()),
    }
}

/// Validates one config by Ignition's own rules.
pub(super) fn parsed(config: &Value) -> Result<(), Refused> {
    let problems = spec::parse(&config.to_string()).err().unwrap_or_default();
    match problems.into_iter().next() {
        Some(problem) => Err(Refused::new(problem.path, problem.why)),
        None => Ok(()),
    }
}
