//! The result of a form, for the page to which its answer leads. It is in a cookie that the answer sets and the page clears: by an address
//! every link could claim that something was done.

use std::str::FromStr;

use http::{HeaderMap, HeaderValue, header};
use url::form_urlencoded::{self, Serializer};

/// The action that deletes a record; the list that it was in shows it.
pub const DELETE: &str = "delete";

/// Time for which a browser keeps a notice that no page shows, s.
const LIFETIME: u32 = 60;

/// Longest value, bytes: browsers keep 4096 with name and attributes (RFC 6265bis, 5.7).
const LONGEST: usize = 3072;

/// Something that was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notice {
    /// The path of the page that shows it.
    page: String,
    /// A word that the page knows.
    pub action: String,
    /// Ids and keys, which the page validates: it shows no text of a cookie.
    pub details: Vec<String>,
}

impl Notice {
    pub fn new(page: &str, action: &str, details: Vec<String>) -> Self {
        Self {
            page: page.to_owned(),
            action: action.to_owned(),
            details,
        }
    }

    /// True if the page at this path shows it.
    pub fn is_for(&self, page: &str) -> bool {
        self.page == page
    }

    /// The id of the record that was deleted.
    pub fn deleted<T: FromStr>(&self) -> Option<T> {
        let id = self.details.first().filter(|_| self.action == DELETE)?;
        id.parse().ok()
    }

    fn read(text: &str) -> Self {
        let mut notice = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            match name.as_ref() {
                "page" => notice.page = value.into_owned(),
                "action" => notice.action = value.into_owned(),
                "detail" => notice.details.push(value.into_owned()),
                _ => {}
            }
        }
        notice
    }

    /// In signs that a cookie takes.
    fn written(&self) -> String {
        let mut text = Serializer::new(String::new());
        text.append_pair("page", &self.page)
            .append_pair("action", &self.action);
        for detail in &self.details {
            text.append_pair("detail", detail);
        }
        text.finish()
    }
}

/// The form of the cookie, which follows from the scheme of the service's URL, as that of sessions does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeCookie {
    /// Set by this host alone (`__Host-`, RFC 6265bis, 4.1.3.2), with TLS.
    Https,
    Http,
}

impl NoticeCookie {
    fn name(self) -> &'static str {
        match self {
            Self::Https => "__Host-muster-notice",
            Self::Http => "muster-notice",
        }
    }

    /// The notice of a request that opens a page. What a script fetches again shows none.
    pub fn find(self, headers: &HeaderMap) -> Option<Notice> {
        let mode = headers.get("sec-fetch-mode");
        if mode.is_some_and(|mode| mode != "navigate") {
            return None;
        }
        let lists = headers.get_all(header::COOKIE).iter();
        // What else is in the header need be no text.
        let cookies = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b';'));
        let texts = cookies.filter_map(|cookie| std::str::from_utf8(cookie).ok());
        let mut named = texts.filter_map(|cookie| cookie.trim().split_once('='));
        let (_, value) = named.find(|(name, _)| *name == self.name())?;
        Some(Notice::read(value))
    }

    /// `Set-Cookie` with a notice; `None`: it is too long to be kept.
    pub fn set(self, notice: &Notice) -> Option<HeaderValue> {
        let value = notice.written();
        match value.len() {
            0..=LONGEST => self.with(&value, LIFETIME),
            _ => None,
        }
    }

    /// `Set-Cookie` by which a browser forgets it.
    pub fn cleared(self) -> Option<HeaderValue> {
        self.with("", 0)
    }

    fn with(self, value: &str, seconds: u32) -> Option<HeaderValue> {
        let secure = match self {
            Self::Https => " Secure;",
            Self::Http => "",
        };
        let name = self.name();
        let text = format!("{name}={value}; HttpOnly;{secure} SameSite=Strict; Path=/; Max-Age={seconds}");
        HeaderValue::try_from(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(cookie).unwrap())])
    }

    #[test]
    fn a_notice_comes_back_as_it_was_set() {
        let details = vec!["node.example/a".to_owned(), "b; c=d&e".to_owned()];
        let notice = Notice::new("/ui/hosts", "labels", details);
        for cookie in [NoticeCookie::Https, NoticeCookie::Http] {
            let set = cookie.set(&notice).unwrap();
            let (sent, attributes) = set.to_str().unwrap().split_once(';').unwrap();
            assert!(attributes.contains("HttpOnly;") && attributes.contains("SameSite=Strict;"));
            assert_eq!(attributes.contains("Secure;"), cookie == NoticeCookie::Https);
            let found = cookie.find(&request(&format!("muster=secret; {sent}")));
            assert_eq!(found.as_ref(), Some(&notice));
            assert!(notice.is_for("/ui/hosts") && !notice.is_for("/ui/"));
        }
        assert_eq!(NoticeCookie::Https.find(&request("muster-notice=action=x")), None);
        let cleared = NoticeCookie::Http.cleared().unwrap();
        assert!(cleared.to_str().unwrap().ends_with("; Max-Age=0"));
    }

    #[test]
    fn a_script_that_fetches_a_page_again_takes_no_notice() {
        let mut headers = request("muster-notice=action=delete");
        for (mode, is_found) in [("navigate", true), ("cors", false), ("same-origin", false)] {
            headers.insert("sec-fetch-mode", HeaderValue::from_static(mode));
            assert_eq!(NoticeCookie::Http.find(&headers).is_some(), is_found, "{mode}");
        }
    }

    #[test]
    fn a_notice_that_no_browser_keeps_is_not_sent() {
        let notice = Notice::new("/ui/hosts", "labels", vec!["x".repeat(LONGEST)]);
        assert_eq!(NoticeCookie::Http.set(&notice), None);
    }

    #[test]
    fn only_a_deletion_has_a_deleted_record() {
        let of = |action: &str, id: &str| Notice::new("", action, vec![id.to_owned()]).deleted::<u8>();
        assert_eq!(of(DELETE, "7"), Some(7));
        assert_eq!((of(DELETE, "<b>"), of("name", "7")), (None, None));
    }
}
