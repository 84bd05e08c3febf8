//! Parses a pull secret: `{"auths": {"registry[/path]": {"auth": base64 of user:password}}}`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::RegistryError;

/// User and password by registry, or by a part of one. Never printed.
#[derive(Clone, Default)]
pub struct Credentials(BTreeMap<String, (String, String)>);

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({} hidden)", self.0.len())
    }
}

impl Credentials {
    /// Parses a pull secret. Entries without a password (credential helpers) are skipped.
    ///
    /// # Errors
    /// [`RegistryError::Configuration`]; never quotes the text.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            auths: BTreeMap<String, Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            auth: Option<String>,
            username: Option<String>,
            password: Option<String>,
        }
        let file: File = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
            // Through a map, since serde takes an empty list for a structure of optional members only.
            .and_then(|map| serde_json::from_value(map.into()))
            .map_err(|_| {
                RegistryError::Configuration("the pull secret is no JSON with `auths`".to_owned())
            })?;
        let mut all = BTreeMap::new();
        for (place, entry) in file.auths {
            let pair = match (entry.auth, entry.username, entry.password) {
                (Some(auth), _, _) if !auth.is_empty() => decode(&auth).ok_or_else(|| {
                    RegistryError::Configuration(format!(
                        "the pull secret's `auth` for {place} is not base64 of user:password"
                    ))
                })?,
                (_, Some(user), Some(password)) => (user, password),
                _ => continue,
            };
            all.insert(key(&place), pair);
        }
        Ok(Self(all))
    }

    /// User and password for a repository: the entry for the longest prefix of its name wins.
    pub fn of(&self, registry: &str, repository: &str) -> Option<(&str, &str)> {
        let mut name = format!("{registry}/{repository}");
        loop {
            if let Some((user, password)) = self.0.get(&name) {
                return Some((user, password));
            }
            let Some((shorter, _)) = name.rsplit_once('/') else {
                break;
            };
            name = shorter.to_owned();
        }
        None
    }

    /// Every secret text, for scrubbing logs.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|(_, password)| password.as_str())
    }
}

fn decode(auth: &str) -> Option<(String, String)> {
    let bytes = STANDARD.decode(auth.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.trim_end_matches('\0').to_owned()))
}

/// Keys may be URLs, and Docker Hub has several names.
fn key(place: &str) -> String {
    let bare = place
        .trim_start_matches("https://")
        .trim_start_matches("http://")
        .trim_end_matches('/');
    match bare {
        "index.docker.io/v1" | "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
        _ => bare.trim_end_matches("/v1").trim_end_matches("/v2").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_of_a_name_wins() {
        let encode = |text: &str| STANDARD.encode(text);
        let text = serde_json::json!({"auths": {
            "quay.io": {"auth": encode("all:pw0")},
            "quay.io/org": {"auth": encode("org:pw1"), "email": "x@y"},
            "https://index.docker.io/v1/": {"username": "hub", "password": "pw2"},
            "helper.example": {},
        }});
        let found = Credentials::parse(&text.to_string()).unwrap();
        assert_eq!(found.of("quay.io", "org/name"), Some(("org", "pw1")));
        assert_eq!(found.of("quay.io", "organisation/name"), Some(("all", "pw0")));
        assert_eq!(found.of("docker.io", "library/busybox"), Some(("hub", "pw2")));
        assert_eq!(found.of("helper.example", "a"), None);
        assert!(!format!("{found:?}").contains("pw"));
    }

    #[test]
    fn a_broken_secret_is_named_without_its_content() {
        for text in ["", "[]", r#"{"auths":{"a":{"auth":"geheim"}}}"#, r#"{"auths":7}"#] {
            let error = Credentials::parse(text).unwrap_err().to_string();
            assert!(error.contains("pull secret"), "{error}");
            assert!(!error.contains("geheim"));
        }
    }
}
