//! Parses manifests and indexes: OCI image specification 1.1, Docker image manifest version 2, schema 2.

use serde::Deserialize;

use super::reference::is_sha256;

/// The media types that [`parse`] reads.
pub(super) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// A blob or manifest by digest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Descriptor {
    pub digest: String,
    #[serde(default)]
    pub size: u64,
    platform: Option<Platform>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

/// The meaning of a tag or digest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Manifest {
    /// An image for several platforms: the digest for this one.
    Index(String),
    /// The blobs of one image: its configuration, then its layers, each once.
    Image(Vec<Descriptor>),
}

/// A body that is no manifest of an image for this platform.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ManifestError {
    #[error("a manifest that is none: {0}")]
    Json(String),
    #[error("a manifest of schema {0}, which nothing pulls any more")]
    Schema(u32),
    #[error("a manifest with a digest that is no SHA-256")]
    BlobDigest,
    #[error("an index with a digest that is no SHA-256")]
    IndexDigest,
    #[error("no image for linux/{0}")]
    Platform(String),
}

/// Parses either for the architecture `arch`, in Go's spelling.
pub(super) fn parse(body: &[u8], arch: &str) -> Result<Manifest, ManifestError> {
    #[derive(Deserialize)]
    struct Either {
        #[serde(rename = "schemaVersion")]
        schema: u32,
        #[serde(default)]
        manifests: Vec<Descriptor>,
        config: Option<Descriptor>,
        #[serde(default)]
        layers: Vec<Descriptor>,
    }
    let either: Either =
        serde_json::from_slice(body).map_err(|error| ManifestError::Json(error.to_string()))?;
    if either.schema != 2 {
        return Err(ManifestError::Schema(either.schema));
    }
    if let Some(config) = either.config {
        let mut blobs: Vec<Descriptor> = vec![config];
        for layer in either.layers {
            if !blobs.iter().any(|blob| blob.digest == layer.digest) {
                blobs.push(layer);
            }
        }
        return match blobs.iter().find(|blob| !is_sha256(&blob.digest)) {
            Some(_) => Err(ManifestError::BlobDigest),
            None => Ok(Manifest::Image(blobs)),
        };
    }
    let ours = either.manifests.into_iter().find(|one| {
        one.platform
            .as_ref()
            .is_some_and(|platform| platform.os == "linux" && platform.architecture == arch)
    });
    match ours {
        Some(one) if is_sha256(&one.digest) => Ok(Manifest::Index(one.digest)),
        Some(_) => Err(ManifestError::IndexDigest),
        None => Err(ManifestError::Platform(arch.to_owned())),
    }
}

/// The architecture of this program, in Go's spelling.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_leads_to_our_platform_and_a_manifest_to_its_blobs() {
        let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
        let index = serde_json::json!({"schemaVersion": 2, "manifests": [
            {"digest": digest("a"), "size": 1, "platform": {"architecture": "arm64", "os": "linux"}},
            {"digest": digest("b"), "size": 1, "platform": {"architecture": "amd64", "os": "linux"}},
        ]});
        let body = index.to_string();
        assert_eq!(parse(body.as_bytes(), "amd64"), Ok(Manifest::Index(digest("b"))));
        assert_eq!(
            parse(body.as_bytes(), "s390x"),
            Err(ManifestError::Platform("s390x".to_owned()))
        );
        let image = serde_json::json!({"schemaVersion": 2, "config": {"digest": digest("c"), "size": 3},
            "layers": [{"digest": digest("d"), "size": 4}, {"digest": digest("d"), "size": 4}]});
        let Ok(Manifest::Image(blobs)) = parse(image.to_string().as_bytes(), "amd64") else {
            panic!("no image");
        };
        assert_eq!(blobs.iter().map(|blob| blob.size).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn a_manifest_that_cannot_be_pulled_is_reported() {
        for (text, word) in [
            ("<html>", "is none"),
            (r#"{"schemaVersion":1}"#, "schema 1"),
            (
                r#"{"schemaVersion":2,"config":{"digest":"sha256:../../x"}}"#,
                "no SHA-256",
            ),
            (r#"{"schemaVersion":2}"#, "no image for"),
        ] {
            let error = parse(text.as_bytes(), "amd64").unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
