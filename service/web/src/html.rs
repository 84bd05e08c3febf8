//! What all pages have: the frame, and pages for refusals.

use askama::Template;
use askama::filters::HtmlSafe;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use muster_api::session::Session;
use url::form_urlencoded::byte_serialize;

use crate::files::{FILES, Files};

/// The path of the first page.
pub const OVERVIEW: &str = "/ui/";

/// The path of the list of hosts, below which are the pages of hosts.
pub const HOSTS: &str = "/ui/hosts";

/// The path of the list of pools.
pub const POOLS: &str = "/ui/pools";

/// The path of the list of jobs, below which are their pages.
pub const JOBS: &str = "/ui/jobs";

/// The path of the list of clusters, below which are the pages of clusters.
pub const CLUSTERS: &str = "/ui/clusters";
/// The path of the page that signs in, by the secret of a link in its parameter `link`, too.
pub const SIGN_IN: &str = "/ui/sign-in";

/// Seconds after which a page that the service could not show is loaded again.
const AGAIN: u32 = 10;

/// The address of the list of the hosts that fit a query.
pub fn hosts_with(query: &str) -> String {
    let query: String = byte_serialize(query.as_bytes()).collect();
    format!("{HOSTS}?q={query}")
}

/// The frame of a page.
pub struct Frame {
    pub files: &'static Files,
    /// The name of the visitor's token; `None`: the visitor has none.
    pub who: Option<String>,
    /// What the visitor cannot do, and why.
    pub limits: Vec<String>,
    pub forbidden: Forbidden,
    /// True if the service requires no tokens.
    pub is_open: bool,
}

impl Frame {
    /// True for a visitor who may see records.
    pub fn is_known(&self) -> bool {
        self.is_open || self.who.is_some()
    }

    /// Style, icon and scripts.
    pub fn links(&self) -> Links {
        Links { files: self.files }
    }

    /// What stands between the links to the pages and the content.
    pub fn top(&self) -> Top<'_> {
        Top { frame: self }
    }

    /// What follows the content.
    pub fn end(&self) -> End {
        End {
            is_known: self.is_known(),
        }
    }

    /// The frame of pages that do not know their visitor.
    pub fn plain() -> Self {
        Self {
            files: &FILES,
            who: None,
            limits: Vec::new(),
            forbidden: Forbidden::default(),
            is_open: false,
        }
    }
}

// Parts that are templates of their own, which escape what they show: a part that is included is in the program once for each page.

#[derive(Template)]
#[template(path = "frame/links.html")]
pub struct Links {
    files: &'static Files,
}

#[derive(Template)]
#[template(path = "frame/top.html")]
pub struct Top<'a> {
    frame: &'a Frame,
}

#[derive(Template)]
#[template(path = "frame/end.html")]
pub struct End {
    is_known: bool,
}

impl HtmlSafe for Links {}
impl HtmlSafe for Top<'_> {}
impl HtmlSafe for End {}

/// A record that was deleted just before, above the list that it was in.
pub struct Gone {
    pub what: &'static str,
    /// The command that does the same.
    pub command: String,
}

/// What a session may not change, with the reason that disabled buttons have; `None`: it may.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forbidden {
    /// Anything.
    pub all: Option<&'static str>,
    /// Other pools, and clusters.
    pub elsewhere: Option<&'static str>,
}

impl Forbidden {
    pub fn of(session: &Session) -> Self {
        Self {
            all: session
                .read_only
                .then_some("Your token only reads: what changes something is disabled."),
            elsewhere: session.infra_env_id.map(|_| {
                "Your token is for one pool: what makes other pools or reaches into clusters is disabled."
            }),
        }
    }

    /// The reason why other pools and clusters cannot be changed.
    pub fn beyond(self) -> Option<&'static str> {
        self.all.or(self.elsewhere)
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    frame: Frame,
    status: StatusCode,
    reason: &'a str,
    /// Seconds until it is loaded again.
    again: Option<u32>,
}

/// A page with the reason of a refusal.
pub fn problem(status: StatusCode, reason: &str) -> Response {
    let page = ProblemPage {
        frame: Frame::plain(),
        status,
        reason,
        again: None,
    };
    (status, answer(&page)).into_response()
}

/// A page in place of the one at `address`, which the service cannot show now: it is loaded again.
pub fn unavailable(reason: &str, address: &str) -> Response {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let page = ProblemPage {
        frame: Frame::plain(),
        status,
        reason,
        again: Some(AGAIN),
    };
    let mut response = (status, answer(&page)).into_response();
    if let Ok(again) = HeaderValue::from_str(&format!("{AGAIN}; url={address}")) {
        response.headers_mut().insert(header::REFRESH, again);
    }
    response
}

/// The answer to a path that is no page.
pub fn no_page() -> Response {
    problem(StatusCode::NOT_FOUND, "there is no such page")
}

/// Any path that is no page.
pub async fn not_found() -> Response {
    no_page()
}

/// A page as an answer.
pub fn answer(page: &impl Template) -> Response {
    written(page.render())
}

fn written(page: askama::Result<String>) -> Response {
    match page {
        Ok(text) => Html(text).into_response(),
        Err(error) => {
            let text = format!("the page could not be written: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}
