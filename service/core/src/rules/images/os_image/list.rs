//! Reads the operator's list of OS images.

use std::fmt;

use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::{ImageConfiguration, ImageFormat, TO_RAW};
use serde::Deserialize;
use thiserror::Error;
use url::Url;

use crate::text::is_sha256;

/// Longest name, bytes: it is the value of an annotation that caches keep whole.
pub const MAX_NAME: usize = 128;

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsImage {
    /// Unique among the entries of an architecture.
    pub name: Option<String>,
    /// As the operator wrote it: `4.19`, or `4.19.3`. Empty: it is for no version; such an entry has a name.
    pub openshift_version: String,
    /// Version of kubeadm and kubelet in the image, without `v`: `1.34.4`.
    pub kubernetes_version: Option<String>,
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
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    openshift_version: Option<String>,
    #[serde(default)]
    kubernetes_version: Option<String>,
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
    let form = "a list of {openshift_version, cpu_architecture, version, name, kubernetes_version, url, sha256, metal_url, metal_sha256} is expected";
    let entries: Vec<Entry> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| BadList(format!("{form}: {error}")))?
    } else {
        serde_saphyr::from_str(text).map_err(|error| BadList(format!("{form}: {error}")))?
    };
    let mut images: Vec<OsImage> = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let image = read(entry).map_err(|why| BadList(format!("entry {}: {why}", index + 1)))?;
        let clash = images
            .iter()
            .enumerate()
            .find_map(|(other, known)| Some((other, clash(known, &image)?)));
        if let Some((other, why)) = clash {
            return Err(BadList(format!("entries {} and {} {why}", other + 1, index + 1)));
        }
        images.push(image);
    }
    Ok(images)
}

/// The reason why a list cannot have both; `None`: it can. Entries with different names may be for the same version.
fn clash(one: &OsImage, other: &OsImage) -> Option<String> {
    if one.cpu_architecture != other.cpu_architecture {
        return None;
    }
    let architecture = other.cpu_architecture.name();
    if let Some(name) = other.name.as_ref().filter(|_| one.name == other.name) {
        return Some(format!("both have the name {name} on {architecture}; change one"));
    }
    let version = &other.openshift_version;
    let is_ambiguous = one.name == other.name || (one.live.is_some() && other.live.is_some());
    if one.openshift_version == *version && !version.is_empty() && is_ambiguous {
        return Some(format!(
            "are both for the version {version} on {architecture}; leave one out, or give both a name where only one has a url"
        ));
    }
    (one.is_default && other.is_default)
        .then(|| format!("are both the default of {architecture}; one can be"))
}

/// A version of Kubernetes without its `v`: three numbers, perhaps with a pre-release or a build. `None`: it is none.
fn kubernetes_version(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let numbers: Vec<&str> = numbers.split('.').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|digit| digit.is_ascii_digit());
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
    let is_version = numbers.len() == 3
        && numbers.iter().all(is_number)
        && rest.len() != 1
        && rest.chars().all(is_word)
        && text.len() <= MAX_NAME;
    is_version.then(|| text.to_owned())
}

/// The words by which an entry is found.
struct Words {
    name: Option<String>,
    openshift_version: String,
    kubernetes_version: Option<String>,
    version: String,
}

fn word(field: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.len() > 256 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(format!("{field}: {text:?} is none; write one word"));
    }
    Ok(text.to_owned())
}

fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

fn words(entry: &Entry) -> Result<Words, String> {
    let name = match given(entry.name.as_ref()) {
        Some(name) if name.len() > MAX_NAME => {
            return Err(format!("name: at most {MAX_NAME} bytes are taken"));
        }
        Some(name) => Some(word("name", name)?),
        None => None,
    };
    let openshift_version = match given(entry.openshift_version.as_ref()) {
        Some(version) => word("openshift_version", version)?,
        None if name.is_some() && given(entry.url.as_ref()).is_none() => String::new(),
        None => {
            return Err(
                "openshift_version: it is missing; only an entry with a name and without a url needs none"
                    .into(),
            );
        }
    };
    let kubernetes_version = match given(entry.kubernetes_version.as_ref()) {
        Some(text) => Some(
            kubernetes_version(text)
                .ok_or_else(|| format!("kubernetes_version: {text:?} is none; write it as 1.34.4"))?,
        ),
        None => None,
    };
    Ok(Words {
        name,
        openshift_version,
        kubernetes_version,
        version: word("version", &entry.version)?,
    })
}

fn read(entry: Entry) -> Result<OsImage, String> {
    let Words {
        name,
        openshift_version,
        kubernetes_version,
        version,
    } = words(&entry)?;
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
        name,
        openshift_version,
        kubernetes_version,
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

fn of_virtual_machines(path: &str) -> bool {
    let end = path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    end.is_some_and(|end| ["qcow", "qcow2", "vmdk", "vhd", "vhdx", "vdi", "ova"].contains(&end.as_str()))
}

fn metal(
    text: &str,
    sha256: Option<String>,
    uncompressed_sha256: Option<String>,
) -> Result<MetalImage, String> {
    let sha256 = digest("metal_sha256", sha256)?;
    let uncompressed_sha256 = digest("metal_uncompressed_sha256", uncompressed_sha256)?;
    let (source, path) = source("metal_url", text)?;
    let format = ImageFormat::of_name(&path).ok_or_else(|| match of_virtual_machines(&path) {
        true => format!("metal_url: {text:?} is an image for virtual machines; {TO_RAW}"),
        false => format!("metal_url: {text:?} ends in none of .raw, .img, .gz, .xz and .zst, so its compression is not known"),
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

    /// Two entries, the second with other fields.
    fn two(first: &str, second: &str) -> String {
        let other = entry(second).replacen('[', ",", 1);
        entry(first).replace(']', &other)
    }

    #[test]
    fn names_and_kubernetes_versions_are_read_and_entries_of_one_version_differ_by_name() {
        let named = parse(&entry(r#","name":"debian-13","kubernetes_version":"v1.34.4""#)).unwrap();
        assert_eq!(named[0].name.as_deref(), Some("debian-13"));
        assert_eq!(named[0].kubernetes_version.as_deref(), Some("1.34.4"));
        let plain = parse(&entry("")).unwrap();
        assert_eq!((&plain[0].name, &plain[0].kubernetes_version), (&None, &None));
        for good in ["1.34.4", "1.35.0-rc.1", "1.34.4+rke2r1"] {
            let read = parse(&entry(&format!(r#","kubernetes_version":"{good}""#))).unwrap();
            assert_eq!(read[0].kubernetes_version.as_deref(), Some(good));
        }
        let both = parse(&two(r#","name":"one""#, r#","name":"other""#)).unwrap();
        assert_eq!(both.len(), 2);
        // A name is unique on each architecture.
        let elsewhere = two(r#","name":"one""#, r#","name":"one""#);
        let at = elsewhere.rfind("x86_64").unwrap();
        let elsewhere = format!("{}arm64{}", &elsewhere[..at], &elsewhere[at + 6..]);
        assert_eq!(parse(&elsewhere).unwrap().len(), 2);
        let without = entry(r#","name":"one""#).replace(r#""openshift_version":"4.19","#, "");
        assert_eq!(parse(&without).unwrap()[0].openshift_version, "");
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
            (with("/srv/a.raw.zst", "/srv/a.qcow2"), "qemu-img convert"),
            (with("/srv/a.raw.zst", "/srv/a.bin"), ".zst"),
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
            (two("", ""), "entries 1 and 2 are both for the version 4.19"),
            (
                two(r#","name":"one""#, r#","name":"one""#),
                "entries 1 and 2 both have the name one",
            ),
            (
                two(
                    r#","name":"one","url":"/a.iso""#,
                    r#","name":"other","url":"/b.iso""#,
                ),
                "only one has a url",
            ),
            (
                two(
                    r#","name":"one","default":true"#,
                    r#","name":"other","default":true"#,
                ),
                "both the default of x86_64",
            ),
            (entry(r#","name":"two words""#), "entry 1: name"),
            (
                entry(&format!(r#","name":"{}""#, "n".repeat(MAX_NAME + 1))),
                "at most 128 bytes",
            ),
            (
                entry(r#","kubernetes_version":"1.34""#),
                "entry 1: kubernetes_version",
            ),
            (
                entry(r#","kubernetes_version":"v1.34.x""#),
                "entry 1: kubernetes_version",
            ),
            (
                with(r#""openshift_version":"4.19","#, ""),
                "entry 1: openshift_version",
            ),
        ] {
            let error = parse(&list).unwrap_err().to_string();
            assert!(error.contains(words), "{list}: {error}");
        }
    }
}
