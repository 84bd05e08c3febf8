//! Reads the operator's list of OS images.

use std::fmt;

use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::{ImageConfiguration, ImageFormat};
use serde::Deserialize;
use thiserror::Error;
use url::Url;

use crate::text::is_sha256;

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsImage {
    /// As the operator wrote it: `4.19`, or `4.19.3`.
    pub openshift_version: String,
    /// `aarch64` is `arm64`.
    pub cpu_architecture: CpuArchitecture,
    /// Build id of the operating system.
    pub version: String,
    /// For clusters that name no version.
    pub is_default: bool,
    /// `None`: hosts cannot be installed with this entry.
    pub metal: Option<MetalImage>,
    /// The CoreOS live ISO that hosts of this version are discovered with; `None`: the Muster live image.
    pub live: Option<LiveSource>,
}

/// A CoreOS live ISO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSource {
    /// The service downloads a URL, and uses a file in place.
    pub source: Source,
    pub sha256: Option<Digest>,
}

/// The image that is written to disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetalImage {
    pub source: Source,
    pub format: ImageFormat,
    /// The program that configures it at its first boot.
    pub configuration: ImageConfiguration,
    /// Of the file as it is stored.
    pub sha256: Option<Digest>,
    /// Of its decompressed content.
    pub uncompressed_sha256: Option<Digest>,
    pub availability: Availability,
}

/// The place of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Another server; hosts download images for disks directly from it.
    Url(String),
    /// A file of the service.
    Path(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(text) | Self::Path(text) => f.write_str(text),
        }
    }
}

/// True readiness of an image: a file is served only after its digest was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// `size`: bytes, where known.
    Ready { size: Option<u64> },
    /// The file is being read.
    Checking,
    /// It cannot be served: the reason and the remedy.
    Unusable(String),
}

/// A SHA-256 in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    /// `None` for anything but 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("sha256:").unwrap_or(text);
        is_sha256(text).then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadList(String);

/// An entry in the operator's form. Fields of upstream's that are of no use here are accepted and ignored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    openshift_version: String,
    cpu_architecture: String,
    version: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    sha256: Option<String>,
    #[serde(default)]
    rootfs_url: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    metal_url: Option<String>,
    #[serde(default)]
    metal_sha256: Option<String>,
    #[serde(default)]
    metal_uncompressed_sha256: Option<String>,
    #[serde(default)]
    configuration: Option<String>,
    #[serde(default)]
    default: bool,
}

/// Reads a list in JSON or YAML. An empty text is an empty list.
///
/// # Errors
/// The first entry that cannot be used, by its number and field, with the remedy.
pub fn parse(text: &str) -> Result<Vec<OsImage>, BadList> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let form = "a list of {openshift_version, cpu_architecture, version, url, sha256, metal_url, metal_sha256} is expected";
    let entries: Vec<Entry> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| BadList(format!("{form}: {error}")))?
    } else {
        serde_saphyr::from_str(text).map_err(|error| BadList(format!("{form}: {error}")))?
    };
    let mut images: Vec<OsImage> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let image = read(entry).map_err(|why| BadList(format!("entry {}: {why}", index + 1)))?;
        if let Some(other) = images.iter().position(|known| is_same(known, &image)) {
            return Err(BadList(format!(
                "entries {} and {} are both for the version {} on {}; leave one out",
                other + 1,
                index + 1,
                image.openshift_version,
                image.cpu_architecture.name()
            )));
        }
        let has_default = |known: &OsImage| {
            known.is_default && image.is_default && known.cpu_architecture == image.cpu_architecture
        };
        if let Some(other) = images.iter().position(has_default) {
            return Err(BadList(format!(
                "entries {} and {} are both the default of {}; one can be",
                other + 1,
                index + 1,
                image.cpu_architecture.name()
            )));
        }
        images.push(image);
    }
    Ok(images)
}

fn is_same(one: &OsImage, other: &OsImage) -> bool {
    one.cpu_architecture == other.cpu_architecture && one.openshift_version == other.openshift_version
}

fn read(entry: Entry) -> Result<OsImage, String> {
    let word = |field: &str, text: &str| {
        let text = text.trim();
        if text.is_empty() || text.len() > 256 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(format!("{field}: {text:?} is none; write one word"));
        }
        Ok(text.to_owned())
    };
    let openshift_version = word("openshift_version", &entry.openshift_version)?;
    let version = word("version", &entry.version)?;
    let cpu_architecture: CpuArchitecture = entry.cpu_architecture.trim().parse().map_err(|_| {
        format!(
            "cpu_architecture: {:?} is none; write x86_64, arm64, ppc64le or s390x",
            entry.cpu_architecture
        )
    })?;
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    // The root file system is taken from the live ISO.
    let _ = entry.rootfs_url;
    let live = match (given(entry.url), given(entry.sha256)) {
        // Made by an upstream program for a cluster that it installs without a service.
        _ if entry.kind.as_deref() == Some("disconnected-iso") => None,
        (None, None) => None,
        (None, Some(_)) => return Err("sha256 without url; set url to the place of the live ISO".into()),
        (Some(url), sha256) => Some(LiveSource {
            source: source("url", url.trim())?.0,
            sha256: digest("sha256", sha256)?,
        }),
    };
    let configuration = configuration(given(entry.configuration))?;
    let metal = match given(entry.metal_url) {
        None if configuration.is_some() => {
            return Err("configuration without metal_url; set metal_url to the place of the image".into());
        }
        None => {
            if given(entry.metal_sha256)
                .or(given(entry.metal_uncompressed_sha256))
                .is_some()
            {
                return Err("a digest without metal_url; set metal_url to the place of the image".into());
            }
            None
        }
        Some(url) => Some(MetalImage {
            configuration: configuration.unwrap_or_default(),
            ..metal(
                url.trim(),
                given(entry.metal_sha256),
                given(entry.metal_uncompressed_sha256),
            )?
        }),
    };
    Ok(OsImage {
        openshift_version,
        cpu_architecture: cpu_architecture.normalized(),
        version,
        is_default: entry.default,
        metal,
        live,
    })
}

/// `None`: the entry does not name it.
fn configuration(text: Option<String>) -> Result<Option<ImageConfiguration>, String> {
    let parse = |text: String| {
        text.trim()
            .parse::<ImageConfiguration>()
            .map_err(|_| format!("configuration: {text:?} is none; write ignition or cloud-init"))
    };
    text.map(parse).transpose()
}

fn digest(field: &str, text: Option<String>) -> Result<Option<Digest>, String> {
    let parse = |text: String| {
        Digest::parse(&text)
            .ok_or_else(|| format!("{field}: 64 hexadecimal digits are expected, as sha256sum prints them"))
    };
    text.map(parse).transpose()
}

/// The source, and its path, which ends in a file's name.
fn source(field: &str, text: &str) -> Result<(Source, String), String> {
    if text.starts_with('/') {
        return Ok((Source::Path(text.to_owned()), text.to_owned()));
    }
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| format!("{field}: {text:?} is neither an http(s) URL nor an absolute path"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "{field}: it holds a user name or password, which others would see; put the image where none is needed"
        ));
    }
    Ok((Source::Url(url.to_string()), url.path().to_owned()))
}

fn metal(
    text: &str,
    sha256: Option<String>,
    uncompressed_sha256: Option<String>,
) -> Result<MetalImage, String> {
    let sha256 = digest("metal_sha256", sha256)?;
    let uncompressed_sha256 = digest("metal_uncompressed_sha256", uncompressed_sha256)?;
    let (source, path) = source("metal_url", text)?;
    let format = ImageFormat::of_name(&path).ok_or_else(|| {
        format!("metal_url: {text:?} ends in none of .raw, .img, .gz, .xz and .zst, so its compression is not known")
    })?;
    if sha256.is_none() && uncompressed_sha256.is_none() {
        return Err("metal_sha256 or metal_uncompressed_sha256 is needed: nothing unchecked is written to disks (sha256sum prints it)".into());
    }
    let availability = match source {
        Source::Url(_) => Availability::Ready { size: None },
        Source::Path(_) => Availability::Checking,
    };
    Ok(MetalImage {
        source,
        format,
        configuration: ImageConfiguration::default(),
        sha256,
        uncompressed_sha256,
        availability,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08";

    fn entry(fields: &str) -> String {
        format!(
            r#"[{{"openshift_version":"4.19","cpu_architecture":"x86_64","version":"9.6.1","metal_url":"/srv/a.raw.zst","metal_sha256":"{DIGEST}"{fields}}}]"#
        )
    }

    #[test]
    fn json_and_yaml_say_the_same_and_upstreams_fields_are_taken() {
        let json = parse(&entry(
            r#","url":"https://x/live.iso","rootfs_url":"https://x/rootfs","type":"full-iso","default":true"#,
        ))
        .unwrap();
        let yaml = parse(&format!(
            "- openshift_version: '4.19'\n  cpu_architecture: amd64\n  version: 9.6.1\n  metal_url: /srv/a.raw.zst\n  metal_sha256: {DIGEST}\n  default: true\n"
        ));
        assert!(
            yaml.unwrap_err()
                .to_string()
                .contains("cpu_architecture: \"amd64\"")
        );
        let yaml = parse(&format!(
            "- openshift_version: '4.19'\n  cpu_architecture: x86_64\n  version: 9.6.1\n  url: https://x/live.iso\n  metal_url: /srv/a.raw.zst\n  metal_sha256: {DIGEST}\n  default: true\n"
        ))
        .unwrap();
        assert_eq!(json, yaml);
        let metal = json[0].metal.as_ref().unwrap();
        assert_eq!(metal.format, ImageFormat::Zst);
        assert_eq!(metal.sha256.as_ref().unwrap().as_str(), DIGEST.to_lowercase());
        assert_eq!(metal.availability, Availability::Checking);
        let live = json[0].live.as_ref().unwrap();
        assert_eq!(live.source, Source::Url("https://x/live.iso".into()));
        let disconnected = parse(&entry(r#","url":"https://x/live.iso","type":"disconnected-iso""#)).unwrap();
        assert_eq!(disconnected[0].live, None);
        assert!(parse(" \n").unwrap().is_empty());
    }

    #[test]
    fn an_image_is_configured_by_ignition_unless_the_entry_names_cloud_init() {
        let of = |fields: &str| {
            let images = parse(&entry(fields)).unwrap();
            images[0].metal.as_ref().unwrap().configuration
        };
        assert_eq!(of(""), ImageConfiguration::Ignition);
        assert_eq!(of(r#","configuration":"ignition""#), ImageConfiguration::Ignition);
        assert_eq!(
            of(r#","configuration":"cloud-init""#),
            ImageConfiguration::CloudInit
        );
        let yaml = format!(
            "- openshift_version: '4.19'\n  cpu_architecture: x86_64\n  version: trixie\n  metal_url: https://x/debian.raw\n  \
             metal_sha256: {DIGEST}\n  configuration: cloud-init\n"
        );
        let images = parse(&yaml).unwrap();
        let metal = images[0].metal.as_ref().unwrap();
        assert_eq!(metal.configuration, ImageConfiguration::CloudInit);
    }

    #[test]
    fn what_cannot_be_used_is_named_by_number_and_field() {
        let with = |from: &str, to: &str| entry("").replace(from, to);
        for (list, words) in [
            ("{}".to_owned(), "a list of"),
            (with("9.6.1", ""), "entry 1: version"),
            (with("x86_64", "vax"), "entry 1: cpu_architecture"),
            (with("/srv/a.raw.zst", "srv/a.raw"), "entry 1: metal_url"),
            (with("/srv/a.raw.zst", "ftp://x/a.raw"), "entry 1: metal_url"),
            (with("/srv/a.raw.zst", "http://u:p@x/a.raw"), "password"),
            (with("/srv/a.raw.zst", "/srv/a.qcow2"), ".zst"),
            (with(DIGEST, "abc"), "64 hexadecimal"),
            (with(DIGEST, ""), "metal_sha256 or metal_uncompressed_sha256"),
            (with("/srv/a.raw.zst", ""), "a digest without metal_url"),
            (with("metal_url", "metall_url"), "metall_url"),
            (
                entry(r#","configuration":"kickstart""#),
                "entry 1: configuration: \"kickstart\" is none; write ignition or cloud-init",
            ),
            (
                entry(r#","configuration":"cloud-init""#)
                    .replace("/srv/a.raw.zst", "")
                    .replace(DIGEST, ""),
                "configuration without metal_url",
            ),
            (
                entry(r#","configuration":"cloud-init""#).replace(DIGEST, ""),
                "metal_sha256 or metal_uncompressed_sha256",
            ),
            (entry(r#","url":"live.iso""#), "entry 1: url"),
            (entry(r#","url":"/live.iso","sha256":"1""#), "entry 1: sha256"),
            (entry(&format!(r#","sha256":"{DIGEST}""#)), "sha256 without url"),
            (
                entry("").replace(']', &entry("").replacen('[', ",", 1)),
                "entries 1 and 2",
            ),
        ] {
            let error = parse(&list).unwrap_err().to_string();
            assert!(error.contains(words), "{list}: {error}");
        }
    }
}
