//! The name of an image: `registry[:port]/repository[:tag][@digest]`.

use std::fmt;

use super::RegistryError;

/// A parsed image name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `quay.io`, `mirror.example:5000`
    pub registry: String,
    /// `org/name`
    pub repository: String,
    /// `latest` when neither tag nor digest is given.
    pub tag: Option<String>,
    /// `sha256:...`; wins over the tag.
    pub digest: Option<String>,
}

impl Reference {
    /// Parses a reference. One without a registry is Docker Hub's.
    ///
    /// # Errors
    /// [`RegistryError::Reference`]
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        let wrong = |why| Err(RegistryError::Reference(text.to_owned(), why));
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        if digest.is_some_and(|digest| !is_sha256(digest)) {
            return wrong("its digest is not sha256: and 64 hex digits");
        }
        let (name, tag) = match rest.rsplit_once(':') {
            // A colon before a slash belongs to a port.
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return wrong("its tag has characters that no tag has");
        }
        let (registry, repository) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
                (first.to_owned(), rest.to_owned())
            }
            Some(_) => ("docker.io".to_owned(), name.to_owned()),
            None => ("docker.io".to_owned(), format!("library/{name}")),
        };
        if !repository.split('/').all(is_component) {
            return wrong("its name has characters that no name has");
        }
        if !is_host(&registry) {
            return wrong("its registry is no host name");
        }
        Ok(Self {
            registry,
            repository,
            tag: match (&digest, tag) {
                (None, None) => Some("latest".to_owned()),
                (_, tag) => tag.map(str::to_owned),
            },
            digest: digest.map(str::to_owned),
        })
    }

    /// The tag or digest to request.
    pub fn version(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    /// Registry and repository.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// `sha256:` and 64 lower-case hex digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn is_tag(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && !text.starts_with(['.', '-'])
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn is_component(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
}

fn is_host(text: &str) -> bool {
    url::Url::parse(&format!("https://{text}/")).is_ok_and(|url| {
        url.username().is_empty() && url.password().is_none() && url.path() == "/" && url.has_host()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_taken_apart() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (text, registry, repository, version) in [
            ("quay.io/org/name:1.2", "quay.io", "org/name", "1.2"),
            ("localhost:5000/a", "localhost:5000", "a", "latest"),
            ("[::1]:5000/a/b/c:x", "[::1]:5000", "a/b/c", "x"),
            ("busybox", "docker.io", "library/busybox", "latest"),
            ("org/name", "docker.io", "org/name", "latest"),
            (&format!("r.example/n:t@{digest}"), "r.example", "n", &digest),
        ] {
            let found = Reference::parse(text).unwrap();
            assert_eq!(
                (&*found.registry, &*found.repository, found.version()),
                (registry, repository, version)
            );
        }
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for text in [
            "",
            "quay.io/",
            "quay.io/UPPER",
            "quay.io/a b",
            "quay.io/../a",
            "quay.io/a:",
            "quay.io/a:b?c",
            "quay.io/a@sha256:12",
            "quay.io/a@md5:0",
            "https://quay.io/a",
            "u:p.x@quay.io/a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }
}
