//! Keeps web pages out of a service that requires no tokens: a browser on its network would send requests of any page that it shows. A
//! page can give its own name the service's address (DNS rebinding), so requests for unknown names are refused, and a page with another
//! origin cannot hide it. Where tokens are required, changes by a session are refused to pages that are not the service's.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use http::{HeaderMap, StatusCode, Uri};
use muster_operations::urls::Urls;
use url::Url;

use crate::problem::Problem;

/// Endings of names that cannot be registered for the internet (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`; `svc` is Kubernetes').
const PRIVATE: [&str; 8] = [
    "localhost",
    "local",
    "internal",
    "test",
    "example",
    "invalid",
    "home.arpa",
    "svc",
];

/// Refuses (403) requests for names that are not the service's, and those of web pages with another origin.
pub fn only_known_names(router: Router, urls: &Urls) -> Router {
    let name = |url: &str| Some(Url::parse(url).ok()?.host_str()?.to_owned());
    let known: Arc<[String]> = [&urls.public, &urls.boot]
        .into_iter()
        .filter_map(|url| name(url))
        .collect();
    let check = move |request: Request, next: Next| {
        let refused = refusal(&known, request.uri(), request.headers());
        async move {
            match refused {
                Some(refused) => refused.into_response(),
                None => next.run(request).await,
            }
        }
    };
    router.layer(middleware::from_fn(check))
}

/// Refuses (403) a change by a session, or its beginning, unless a page of this service requests it, which it serves by `scheme`: a browser
/// may send the session with requests of other pages, and keep one that is another's. Source: Fetch Metadata Request Headers, 2.3.
pub(crate) fn only_own_pages(headers: &HeaderMap, scheme: &str) -> Result<(), Problem> {
    let (why, is_own) = match (text(headers, "sec-fetch-site"), text(headers, "origin")) {
        (Some(site), _) => (format!("Sec-Fetch-Site is {site}"), site == "same-origin"),
        (None, Some(origin)) => {
            let own = text(headers, "host").map(|host| format!("{scheme}://{host}"));
            let is_own = own.is_some_and(|own| own.eq_ignore_ascii_case(origin));
            (format!("Origin is {origin}"), is_own)
        }
        (None, None) => ("it has neither Sec-Fetch-Site nor Origin".to_owned(), false),
    };
    if is_own {
        return Ok(());
    }
    Err(Problem::Framework(
        StatusCode::FORBIDDEN,
        format!(
            "only pages of this service begin sessions and change something by them, and this request is of none ({why}): programs send an operator's token in Authorization"
        ),
    ))
}

/// True for a request that was sent to the service's own machine by a name of loopback.
pub(crate) fn is_for_loopback(headers: &HeaderMap) -> bool {
    let host = text(headers, "host").map(host_of).unwrap_or_default();
    let is_address = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_address || host == "localhost" || host.ends_with(".localhost")
}

/// A header; `?` if it is no text.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn refusal(known: &[String], uri: &Uri, headers: &HeaderMap) -> Option<Problem> {
    let authority = uri
        .authority()
        .map(|authority| authority.as_str())
        .or(text(headers, "host"))?;
    let refused = |message| Some(Problem::Framework(StatusCode::FORBIDDEN, message));
    if !is_known(known, host_of(authority)) {
        return refused(format!(
            "this service requires no tokens and is not known as {authority}: name it in --public-url, or let it require tokens (--auth local)"
        ));
    }
    let origin = text(headers, "origin")?;
    let from = origin
        .split_once("://")
        .map_or(origin, |(_, authority)| authority);
    if from.eq_ignore_ascii_case(authority) {
        return None;
    }
    refused(format!(
        "this service requires no tokens and takes no requests of web pages from {origin} (--auth local makes it require them)"
    ))
}

/// The name or address in `HOST:PORT`.
fn host_of(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}

/// An address, one of the service's names, or a name that cannot be registered for the internet.
fn is_known(known: &[String], host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let private = |ending: &str| {
        host.strip_suffix(ending)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    host.parse::<IpAddr>().is_ok()
        || !host.contains('.')
        || PRIVATE.iter().any(|ending| private(ending))
        || host.ends_with(".cluster.local")
        || known.iter().any(|name| name.eq_ignore_ascii_case(&host))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue, header};

    use super::*;

    fn is_refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        refusal(
            &["muster.example.com".to_owned()],
            &Uri::from_static("/x"),
            &headers,
        )
        .is_some()
    }

    #[test]
    fn names_that_a_stranger_can_own_are_refused() {
        for host in [
            "127.0.0.1:8090",
            "[::1]:8090",
            "192.0.2.7",
            "localhost:8090",
            "rack-server:8090",
            "muster.example.com",
            "MUSTER.example.com.:443",
            "muster.muster.svc:8090",
            "muster.muster.svc.cluster.local",
            "lab.internal",
        ] {
            assert!(!is_refused(host, None), "{host}");
        }
        for host in [
            "evil.com:8090",
            "muster.example.com.evil.com",
            "127.0.0.1.nip.io",
            "notlocalhost.io",
            "xlocal.dev",
        ] {
            assert!(is_refused(host, None), "{host}");
        }
    }

    fn changes(sent: &[(&'static str, &'static str)]) -> bool {
        let named = sent.iter().map(|&(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        only_own_pages(&named.collect(), "https").is_ok()
    }

    #[test]
    fn a_session_changes_something_for_own_pages_alone() {
        let host = ("host", "muster.example.com");
        assert!(changes(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(changes(&[host, ("origin", "https://muster.example.com")]));
        for refused in [
            &[("sec-fetch-site", "same-site")][..],
            &[("sec-fetch-site", "cross-site")],
            &[],
            // Typed into the address bar, or from outside of a page.
            &[("sec-fetch-site", "none")],
            &[
                ("sec-fetch-site", "cross-site"),
                ("origin", "https://muster.example.com"),
            ],
            &[("origin", "null")],
            &[("origin", "http://muster.example.com")],
            &[("origin", "https://muster.example.com:8443")],
            &[("origin", "https://evil.com")],
        ] {
            assert!(!changes(&[&[host][..], refused].concat()), "{refused:?}");
        }
        assert!(!changes(&[("origin", "https://muster.example.com")]), "no Host");
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        assert!(!is_refused("127.0.0.1:8090", Some("http://127.0.0.1:8090")));
        for origin in ["http://127.0.0.1:9000", "https://evil.com", "null"] {
            assert!(is_refused("127.0.0.1:8090", Some(origin)), "{origin}");
        }
    }
}
