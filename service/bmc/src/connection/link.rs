use std::fmt;

use url::Url;

use crate::error::BmcError;
use crate::text::clean;

/// A resource of one BMC: path and query, on the scheme, host and port of the BMC's address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link(String);

impl Link {
    /// The resource that `text` names when it is read at `base`: a path, or a URL of the same origin.
    ///
    /// # Errors
    /// [`BmcError::ForeignLink`]: it leads to another origin, or nowhere.
    pub(crate) fn new(base: &Url, text: &str) -> Result<Self, BmcError> {
        let foreign = || BmcError::ForeignLink(clean(&without_secrets(text)));
        let url = base.join(text.trim()).map_err(|_| foreign())?;
        let same = url.origin() == base.origin() && url.username().is_empty() && url.password().is_none();
        if !same {
            return Err(foreign());
        }
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        Ok(Self(format!("{}{query}", url.path())))
    }

    /// The URL to request.
    pub(crate) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        let (path, query) = match self.0.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.0.as_str(), None),
        };
        url.set_path(path);
        url.set_query(query);
        url
    }

    /// The last part of the path: the id of the resource, as a rule.
    pub fn last(&self) -> &str {
        let path = self.0.split('?').next().unwrap_or_default();
        path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }

    /// True for the same path, whether or not a slash ends it.
    pub(crate) fn is(&self, other: &Link) -> bool {
        self.0.trim_end_matches('/') == other.0.trim_end_matches('/')
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A query may hold a token, and the part before `@` a password.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match text.rsplit_once('@') {
        Some((_, rest)) => format!("...@{rest}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_on_their_origin() {
        let base = Url::parse("https://192.0.2.1:8443/").unwrap();
        for (text, path) in [
            ("/redfish/v1/Systems/1", "/redfish/v1/Systems/1"),
            ("/redfish/v1/Chassis?$skip=50", "/redfish/v1/Chassis?$skip=50"),
            ("https://192.0.2.1:8443/a", "/a"),
            (
                "/redfish/v1/Chassis/1/Power#/PowerSupplies/0",
                "/redfish/v1/Chassis/1/Power",
            ),
            ("/a/../../b", "/b"),
        ] {
            let link = Link::new(&base, text).unwrap();
            assert_eq!(link.to_string(), path);
            assert_eq!(link.url(&base).as_str(), format!("https://192.0.2.1:8443{path}"));
        }
        for foreign in [
            "https://192.0.2.1/a",
            "http://192.0.2.1:8443/a",
            "https://192.0.2.2:8443/a",
            "//192.0.2.2/a",
            "\\\\192.0.2.2/a",
            "https://u:p@192.0.2.1:8443/a",
            "file:///etc/passwd",
            "https://[",
        ] {
            let error = Link::new(&base, foreign).unwrap_err();
            assert!(matches!(error, BmcError::ForeignLink(_)), "{foreign}");
            assert!(!error.to_string().contains("u:p"), "{error}");
        }
    }

    #[test]
    fn the_id_of_a_resource_is_its_last_part() {
        let base = Url::parse("https://192.0.2.1/").unwrap();
        let [bare, ended] =
            ["/redfish/v1/Systems/1", "/redfish/v1/Systems/1/"].map(|t| Link::new(&base, t).unwrap());
        assert_eq!((bare.last(), ended.last()), ("1", "1"));
        assert!(bare.is(&ended));
    }
}
