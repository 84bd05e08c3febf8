//! Finds the mirrors of an image: `registries.conf`, version 2. Source: containers-registries.conf(5).

use serde::Deserialize;

use super::{Reference, RegistryError};

/// The `[[registry]]` tables.
#[derive(Debug, Clone, Default)]
pub struct Mirrors(Vec<Registry>);

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Registry {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    mirror_by_digest_only: bool,
    #[serde(default)]
    mirror: Vec<Mirror>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Mirror {
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    pull_from_mirror: String,
}

/// A registry to request an image from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The image under its name in that registry.
    pub image: Reference,
    /// Certificates are not verified, and plain HTTP is allowed.
    pub insecure: bool,
}

impl Mirrors {
    /// Parses a `registries.conf`.
    ///
    /// # Errors
    /// [`RegistryError::Configuration`]
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            registry: Vec<Registry>,
        }
        let file: File = toml::from_str(text)
            .map_err(|error| RegistryError::Configuration(format!("registries.conf: {}", error.message())))?;
        Ok(Self(file.registry))
    }

    /// Adds the tables of another file, which override those with the same prefix.
    pub fn add(&mut self, other: Self) {
        self.0
            .retain(|old| !other.0.iter().any(|new| new.prefix() == old.prefix()));
        self.0.extend(other.0);
    }

    /// The places of an image, in order: its mirrors, then its own registry.
    ///
    /// # Errors
    /// [`RegistryError::Blocked`]; a location that makes no reference.
    pub fn sources(&self, image: &Reference) -> Result<Vec<Source>, RegistryError> {
        let full = image.to_string();
        let found = self
            .0
            .iter()
            .filter_map(|registry| Some((registry, registry.covers(image, &full)?)))
            .max_by_key(|(registry, _)| registry.prefix().len());
        let Some((registry, covered)) = found else {
            return Ok(vec![Source {
                image: image.clone(),
                insecure: false,
            }]);
        };
        if registry.blocked {
            return Err(RegistryError::Blocked(full));
        }
        let moved = |location: &str, insecure: bool| -> Result<Source, RegistryError> {
            let text = if location.is_empty() {
                full.clone()
            } else {
                format!("{location}{}", &full[covered..])
            };
            Ok(Source {
                image: Reference::parse(&text)?,
                insecure,
            })
        };
        let by_digest = image.digest.is_some();
        let mut sources = Vec::new();
        for mirror in &registry.mirror {
            let serves = match mirror.pull_from_mirror.as_str() {
                "digest-only" => by_digest,
                "tag-only" => !by_digest,
                _ => by_digest || !registry.mirror_by_digest_only,
            };
            if serves {
                sources.push(moved(&mirror.location, mirror.insecure)?);
            }
        }
        sources.push(moved(&registry.location, registry.insecure)?);
        Ok(sources)
    }
}

impl Registry {
    fn prefix(&self) -> &str {
        if self.prefix.is_empty() {
            &self.location
        } else {
            &self.prefix
        }
    }

    /// The length of the part of the image's name that the prefix covers, in bytes.
    fn covers(&self, image: &Reference, full: &str) -> Option<usize> {
        let prefix = self.prefix();
        if prefix.is_empty() {
            return None;
        }
        if let Some(domain) = prefix.strip_prefix("*.") {
            let host = image.registry.split(':').next().unwrap_or_default();
            let covered = host.strip_suffix(domain)?.ends_with('.');
            return covered.then_some(image.registry.len());
        }
        let rest = full.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with(['/', ':', '@'])).then_some(prefix.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = r#"
        unqualified-search-registries = ["docker.io"]
        [[registry]]
        prefix = "quay.io/release"
        location = "quay.io/release"
        mirror-by-digest-only = true
        [[registry.mirror]]
        location = "mirror.example:5000/ocp"
        [[registry.mirror]]
        location = "tags.example/ocp"
        pull-from-mirror = "tag-only"
        [[registry]]
        location = "quay.io"
        insecure = true
        [[registry]]
        prefix = "*.internal.example"
        location = "cache.example"
        [[registry]]
        location = "evil.example"
        blocked = true
    "#;

    fn sources(image: &str) -> Vec<(String, bool)> {
        let found = Mirrors::parse(CONF)
            .unwrap()
            .sources(&Reference::parse(image).unwrap());
        found
            .unwrap()
            .into_iter()
            .map(|source| (source.image.to_string(), source.insecure))
            .collect()
    }

    #[test]
    fn mirrors_come_first_and_the_longest_prefix_counts() {
        let digest = format!("@sha256:{}", "0a".repeat(32));
        assert_eq!(
            sources(&format!("quay.io/release/a{digest}")),
            [
                (format!("mirror.example:5000/ocp/a{digest}"), false),
                (format!("quay.io/release/a{digest}"), false)
            ]
        );
        assert_eq!(
            sources("quay.io/release:4"),
            [
                ("tags.example/ocp:4".to_owned(), false),
                ("quay.io/release:4".to_owned(), false)
            ]
        );
        assert_eq!(
            sources("quay.io/released/x:1"),
            [("quay.io/released/x:1".to_owned(), true)]
        );
        assert_eq!(
            sources("a.internal.example/x:1"),
            [("cache.example/x:1".to_owned(), false)]
        );
        assert_eq!(
            sources("else.example/x:1"),
            [("else.example/x:1".to_owned(), false)]
        );
    }

    #[test]
    fn a_blocked_registry_and_a_broken_file_are_reported() {
        let mirrors = Mirrors::parse(CONF).unwrap();
        let image = Reference::parse("evil.example/a").unwrap();
        assert!(matches!(mirrors.sources(&image), Err(RegistryError::Blocked(_))));
        let error = Mirrors::parse("[[registry]\n").unwrap_err().to_string();
        assert!(error.contains("registries.conf"), "{error}");
    }

    #[test]
    fn a_later_file_wins() {
        let mut mirrors = Mirrors::parse(CONF).unwrap();
        mirrors.add(Mirrors::parse("[[registry]]\nlocation = \"evil.example\"\n").unwrap());
        assert!(
            mirrors
                .sources(&Reference::parse("evil.example/a").unwrap())
                .is_ok()
        );
    }
}
