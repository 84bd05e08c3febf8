//! Reads a host's pull secret, mirrors and certificates: from the files that podman reads, or, on a live
//! image (which carries no secret), from the discovery ignition that the service serves to this host's token.
//! Source: docs/protocol/discovery-ignition.md#5.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::{Credentials, Mirrors, RegistryError};

/// Paths of a pull secret; the first that exists counts. Source: containers-auth.json(5).
const PULL_SECRETS: [&str; 4] = [
    "run/containers/0/auth.json",
    "root/.config/containers/auth.json",
    "root/.docker/config.json",
    "var/lib/kubelet/config.json",
];
const MIRRORS: &str = "etc/containers/registries.conf";
const MIRRORS_FOLDER: &str = "etc/containers/registries.conf.d";
/// Certificates in these folders are trusted.
const ANCHORS: &str = "etc/pki/ca-trust/source/anchors";
/// No file of an ignition is larger.
const LARGEST_FILE: u64 = 4 << 20;

/// The configuration for access to registries.
#[derive(Debug, Clone, Default)]
pub struct RegistryFiles {
    pub credentials: Option<Credentials>,
    /// `registries.conf`
    pub mirrors: Mirrors,
    /// PEM certificates to trust in addition to the system's.
    pub certificates: String,
}

/// Reads the files of a system with its file system at `root`.
///
/// # Errors
/// Fails for a file that exists and cannot be parsed.
pub fn from_system(root: &Path) -> Result<RegistryFiles, RegistryError> {
    let mut found = RegistryFiles::default();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    if let Some(text) = PULL_SECRETS.into_iter().find_map(read) {
        found.credentials = Some(Credentials::parse(&text)?);
    }
    if let Some(text) = read(MIRRORS) {
        found.mirrors = Mirrors::parse(&text)?;
    }
    for name in sorted(&root.join(MIRRORS_FOLDER)) {
        if let Some(text) = read(&format!("{MIRRORS_FOLDER}/{name}")).filter(|_| name.ends_with(".conf")) {
            found.mirrors.add(Mirrors::parse(&text)?);
        }
    }
    for name in sorted(&root.join(ANCHORS)) {
        if let Some(text) = read(&format!("{ANCHORS}/{name}")) {
            add_certificates(&mut found.certificates, &text);
        }
    }
    Ok(found)
}

/// Reads the same files from a discovery ignition.
///
/// # Errors
/// Fails for an ignition or a file in it that cannot be parsed. Nothing of it is quoted.
pub fn from_ignition(body: &[u8]) -> Result<RegistryFiles, RegistryError> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        storage: Storage,
    }
    #[derive(Default, Deserialize)]
    struct Storage {
        #[serde(default)]
        files: Vec<File>,
    }
    #[derive(Deserialize)]
    struct File {
        path: String,
        #[serde(default)]
        contents: Contents,
    }
    #[derive(Default, Deserialize)]
    struct Contents {
        source: Option<String>,
        compression: Option<String>,
    }
    let config: Config = serde_json::from_slice(body).map_err(|_| {
        RegistryError::Configuration("the service's discovery ignition is no ignition".into())
    })?;
    let mut found = RegistryFiles::default();
    for file in config.storage.files {
        let path = file.path.trim_start_matches('/');
        let text = || {
            let source = file.contents.source.as_deref().unwrap_or("data:,");
            decode(source, file.contents.compression.as_deref()).ok_or_else(|| {
                RegistryError::Configuration(format!(
                    "the discovery ignition's {} cannot be decoded",
                    file.path
                ))
            })
        };
        if PULL_SECRETS.contains(&path) {
            found.credentials = Some(Credentials::parse(&text()?)?);
        } else if path == MIRRORS || path.starts_with(MIRRORS_FOLDER) {
            found.mirrors.add(Mirrors::parse(&text()?)?);
        } else if path.starts_with(ANCHORS) {
            add_certificates(&mut found.certificates, &text()?);
        }
    }
    Ok(found)
}

fn sorted(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn add_certificates(all: &mut String, text: &str) {
    if text.contains("-----BEGIN CERTIFICATE-----") {
        all.push_str(text.trim_end());
        all.push('\n');
    }
}

/// The text of a `data:` URL, decompressed.
fn decode(source: &str, compression: Option<&str>) -> Option<String> {
    let (kind, data) = source.strip_prefix("data:")?.split_once(',')?;
    let plain: Vec<u8> = percent_decode_str(data).collect();
    let bytes = if kind.ends_with(";base64") {
        STANDARD.decode(plain.trim_ascii()).ok()?
    } else {
        plain
    };
    match compression.unwrap_or_default() {
        "" => String::from_utf8(bytes).ok(),
        "gzip" => {
            let mut text = String::new();
            flate2::read::GzDecoder::new(bytes.as_slice())
                .take(LARGEST_FILE)
                .read_to_string(&mut text)
                .ok()?;
            Some(text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::registry::Reference;

    const SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dTpw"}}}"#;

    #[test]
    fn an_ignition_gives_secret_mirrors_and_certificates() {
        let ignition = serde_json::json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [
            {"path": "/root/.docker/config.json",
             "contents": {"source": format!("data:,{}", SECRET.replace('"', "%22"))}},
            {"path": "/etc/containers/registries.conf", "contents": {"source":
                format!("data:text/plain;charset=utf-8;base64,{}",
                    STANDARD.encode("[[registry]]\nlocation = \"quay.io\"\nblocked = true\n"))}},
            {"path": "/etc/pki/ca-trust/source/anchors/domain.crt", "contents": {"source":
                "data:,-----BEGIN%20CERTIFICATE-----%0AAAAA%0A-----END%20CERTIFICATE-----%0A"}},
            {"path": "/etc/motd", "contents": {"source": "https://elsewhere.example/motd"}},
        ]}});
        let found = from_ignition(ignition.to_string().as_bytes()).unwrap();
        assert_eq!(found.credentials.unwrap().of("quay.io", "a"), Some(("u", "p")));
        assert!(
            found
                .mirrors
                .sources(&Reference::parse("quay.io/a").unwrap())
                .is_err()
        );
        assert!(
            found
                .certificates
                .starts_with("-----BEGIN CERTIFICATE-----\nAAAA")
        );
    }

    #[test]
    fn a_system_gives_them_too() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let place = root.path().join(name);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        assert!(from_system(root.path()).unwrap().credentials.is_none());
        write("root/.docker/config.json", SECRET);
        write(
            "etc/containers/registries.conf.d/10.conf",
            "[[registry]]\nlocation = \"quay.io\"\nblocked = true\n",
        );
        let found = from_system(root.path()).unwrap();
        assert_eq!(found.credentials.unwrap().of("quay.io", "a"), Some(("u", "p")));
        assert!(
            found
                .mirrors
                .sources(&Reference::parse("quay.io/a").unwrap())
                .is_err()
        );
    }

    #[test]
    fn packed_files_are_unpacked_and_nonsense_is_not_quoted() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, b"text").unwrap();
        let packed = STANDARD.encode(packer.finish().unwrap());
        assert_eq!(
            decode(&format!("data:;base64,{packed}"), Some("gzip")).as_deref(),
            Some("text")
        );
        assert_eq!(decode("https://a/b", None), None);
        let ignition = r#"{"storage":{"files":[{"path":"/root/.docker/config.json","contents":{"source":"data:,geheim"}}]}}"#;
        let error = from_ignition(ignition.as_bytes()).unwrap_err().to_string();
        assert!(!error.contains("geheim"), "{error}");
        assert!(from_ignition(b"geheim").is_err());
    }
}
