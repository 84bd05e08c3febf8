//! Parses the path of a request.

use url::form_urlencoded;

/// The object or collection that a path names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    pub plural: String,
    pub name: Option<String>,
    /// `status`, `scale`, ...
    pub subresource: Option<String>,
}

impl Target {
    /// Parses a path below `/api/v1` or `/apis/GROUP/VERSION`; `None` if it names no resource.
    pub fn parse(path: &str) -> Option<Self> {
        let decode = |part: &str| -> String {
            // In paths a plus is not a space.
            let escaped = part.replace('+', "%2B");
            let pair = format!("p={escaped}");
            form_urlencoded::parse(pair.as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        let parts: Vec<String> = path.trim_matches('/').split('/').map(decode).collect();
        let mut parts = parts.into_iter();
        let group = match parts.next()?.as_str() {
            "api" => String::new(),
            "apis" => parts.next()?,
            _ => return None,
        };
        let mut target = Self {
            group,
            version: parts.next()?,
            ..Self::default()
        };
        let rest: Vec<String> = parts.collect();
        let mut rest = rest.as_slice();
        // `/api/v1/namespaces/NAME/status` is a subresource of the namespace, not a resource in it.
        let of_namespace = rest.len() == 3 && matches!(rest[2].as_str(), "status" | "finalize");
        if rest.len() > 2 && rest[0] == "namespaces" && !(target.group.is_empty() && of_namespace) {
            target.namespace = Some(rest[1].clone());
            rest = &rest[2..];
        }
        let (plural, rest) = rest.split_first().filter(|(plural, _)| !plural.is_empty())?;
        target.plural = plural.clone();
        let mut rest = rest.iter().cloned();
        target.name = rest.next();
        target.subresource = rest.next();
        rest.next().is_none().then_some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_resources_in_and_out_of_namespaces() {
        let target = |group: &str,
                      version: &str,
                      namespace: Option<&str>,
                      plural: &str,
                      name: Option<&str>,
                      subresource: Option<&str>| {
            let text = |part: Option<&str>| part.map(str::to_owned);
            Some(Target {
                group: group.into(),
                version: version.into(),
                namespace: text(namespace),
                plural: plural.into(),
                name: text(name),
                subresource: text(subresource),
            })
        };
        let cases = [
            (
                "/api/v1/namespaces",
                target("", "v1", None, "namespaces", None, None),
            ),
            (
                "/api/v1/namespaces/a",
                target("", "v1", None, "namespaces", Some("a"), None),
            ),
            (
                "/api/v1/namespaces/a/finalize",
                target("", "v1", None, "namespaces", Some("a"), Some("finalize")),
            ),
            (
                "/api/v1/namespaces/a/secrets",
                target("", "v1", Some("a"), "secrets", None, None),
            ),
            ("/api/v1/secrets", target("", "v1", None, "secrets", None, None)),
            (
                "/apis/g.io/v1b/namespaces/a/things/b/status",
                target("g.io", "v1b", Some("a"), "things", Some("b"), Some("status")),
            ),
            (
                "/apis/g.io/v1b/things/b%20c+d",
                target("g.io", "v1b", None, "things", Some("b c+d"), None),
            ),
            ("/apis/g.io/v1b", None),
            ("/apis/g.io/v1b/a/b/c/d", None),
            ("/healthz", None),
        ];
        for (path, expected) in cases {
            assert_eq!(Target::parse(path), expected, "{path}");
        }
    }
}
