//! The cookie in which a browser carries the secret of a session.

use http::{HeaderMap, HeaderValue, header};
use muster_core::record::Secret;
use muster_operations::urls::Urls;

use crate::origin::is_for_loopback;
use crate::problem::Problem;

/// Cookies of one name that are tried.
const MOST_TRIED: usize = 4;

/// The form of the cookie, which follows from the scheme of the service's URL: browsers keep a cookie of HTTPS from everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionCookie {
    /// Of this host alone (`__Host-`, RFC 6265bis, 4.1.3.2), and never sent without TLS.
    Https,
    /// For a browser on the service's own machine.
    Loopback,
}

impl SessionCookie {
    /// The one of a service.
    pub fn of(urls: &Urls) -> Self {
        if urls.public.starts_with("https://") {
            Self::Https
        } else {
            Self::Loopback
        }
    }

    /// The scheme of the pages that carry it.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Loopback => "http",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Https => "__Host-muster",
            Self::Loopback => "muster",
        }
    }

    /// The secrets in a request: several where another program of the same host sets a cookie of this name.
    pub fn find(self, headers: &HeaderMap) -> Vec<&str> {
        let lists = headers.get_all(header::COOKIE).iter();
        // What else is in the header need be no text.
        let cookies = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b';'));
        let texts = cookies.filter_map(|cookie| std::str::from_utf8(cookie).ok());
        let named = texts.filter_map(|cookie| cookie.trim().split_once('='));
        named
            .filter(|(name, _)| *name == self.name())
            .map(|(_, secret)| secret)
            .take(MOST_TRIED)
            .collect()
    }

    /// Checks that a browser would keep it.
    ///
    /// # Errors
    /// 409 for a request that came by HTTP from another machine.
    pub fn check(self, headers: &HeaderMap) -> Result<(), Problem> {
        if self == Self::Https || is_for_loopback(headers) {
            return Ok(());
        }
        Err(Problem::conflict(
            "sessions need HTTPS, or a browser on the service's own machine: reach the service by an https:// URL, and name it in --public-url",
        ))
    }

    /// `Set-Cookie` with that secret. It lasts until the browser ends, or the session.
    pub fn set(self, secret: &Secret) -> HeaderValue {
        self.written(secret.reveal(), "")
    }

    /// `Set-Cookie` by which a browser forgets it.
    pub fn cleared(self) -> HeaderValue {
        self.written("", "; Max-Age=0")
    }

    fn written(self, value: &str, more: &str) -> HeaderValue {
        let secure = match self {
            Self::Https => " Secure;",
            Self::Loopback => "",
        };
        let name = self.name();
        let text = format!("{name}={value}; HttpOnly;{secure} SameSite=Strict; Path=/{more}");
        let mut header = HeaderValue::try_from(text).expect("secrets are letters and digits");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&'static str]) -> HeaderMap {
        let named = |&cookie: &&'static str| (header::COOKIE, HeaderValue::from_static(cookie));
        cookies.iter().map(named).collect()
    }

    #[test]
    fn the_attributes_are_those_of_the_scheme() {
        let secret = Secret::new("abc");
        assert_eq!(
            SessionCookie::Https.set(&secret),
            "__Host-muster=abc; HttpOnly; Secure; SameSite=Strict; Path=/"
        );
        assert_eq!(
            SessionCookie::Https.cleared(),
            "__Host-muster=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0"
        );
        assert_eq!(
            SessionCookie::Loopback.set(&secret),
            "muster=abc; HttpOnly; SameSite=Strict; Path=/"
        );
    }

    #[test]
    fn a_secret_is_found_among_other_cookies_under_its_own_name_alone() {
        let (https, loopback) = (SessionCookie::Https, SessionCookie::Loopback);
        let sent = headers(&["a=b; __Host-muster=x", "muster=y;c", "muster=z"]);
        assert_eq!(
            (https.find(&sent), loopback.find(&sent)),
            (vec!["x"], vec!["y", "z"])
        );
        let foreign = HeaderValue::from_bytes(b"theme=\xe9; muster=y").unwrap();
        assert_eq!(
            loopback.find(&HeaderMap::from_iter([(header::COOKIE, foreign)])),
            ["y"]
        );
        for none in ["", "__Host-muster", "x__Host-muster=x", "__host-muster=x"] {
            assert!(https.find(&headers(&[none])).is_empty(), "{none}");
        }
    }

    #[test]
    fn without_tls_it_is_for_the_same_machine() {
        let of = |host: &'static str| HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        for host in [
            "127.0.0.1:8090",
            "[::1]:8090",
            "localhost",
            "muster.localhost:8090",
        ] {
            assert_eq!(SessionCookie::Loopback.check(&of(host)), Ok(()), "{host}");
        }
        let elsewhere = of("192.0.2.7:8090");
        assert!(SessionCookie::Loopback.check(&elsewhere).is_err());
        assert!(SessionCookie::Loopback.check(&HeaderMap::new()).is_err());
        assert_eq!(SessionCookie::Https.check(&elsewhere), Ok(()));
    }
}
