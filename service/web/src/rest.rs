//! Requests to REST in the name of the visitor.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts};
use axum::handler::Handler;
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use muster_api::bmc::BmcCreateParams;
use muster_api::search::FoundHosts;
use muster_api::{BASE_PATH, MUSTER_PATH};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use tower::ServiceExt as _;
use url::form_urlencoded::byte_serialize;

use crate::bmcs::{BmcTable, ReadBmcs};
use crate::html;
use crate::notice::{Notice, NoticeCookie};

/// Largest answer that a page reads, bytes: a host with thousands of disks is below 4 MiB.
const LARGEST: usize = 16 << 20;

/// Headers of the visitor's request by which REST knows who it is, and where its page is from.
static PASSED_ON: [HeaderName; 5] = [
    header::HOST,
    header::COOKIE,
    header::AUTHORIZATION,
    header::ORIGIN,
    HeaderName::from_static("sec-fetch-site"),
];

/// The routes of REST, and the form of the cookie with which pages follow its answers.
#[derive(Clone)]
pub struct Rest {
    api: Router,
    cookie: NoticeCookie,
    read_bmcs: ReadBmcs,
}

impl Rest {
    pub fn new(api: Router, cookie: NoticeCookie, read_bmcs: ReadBmcs) -> Self {
        Self {
            api,
            cookie,
            read_bmcs,
        }
    }
}

/// Who opened the page.
#[derive(Clone)]
pub struct Visitor {
    rest: Rest,
    headers: HeaderMap,
    client: Option<ConnectInfo<SocketAddr>>,
    notice: Option<Notice>,
    /// Path and query of the page.
    pub uri: Uri,
}

/// The answer of a page that is to come.
pub type Shown = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A page that needs nothing but its visitor. All are of one type, so that the program has what is around handlers once.
#[derive(Clone, Copy)]
pub struct Page(pub fn(Visitor) -> Shown);

impl Handler<(), Rest> for Page {
    type Future = Shown;

    fn call(self, request: Request<Body>, rest: Rest) -> Shown {
        Box::pin(async move {
            let (mut parts, _) = request.into_parts();
            let Ok(visitor) = Visitor::from_request_parts(&mut parts, &rest).await;
            (self.0)(visitor).await
        })
    }
}

/// The answer of such a page.
pub fn shown(page: impl Future<Output = Result<Response, Refusal>> + Send + 'static) -> Shown {
    Box::pin(async move { page.await.into_response() })
}

/// The ids in the path of a page. A path with others is no page.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        axum::extract::Path::<T>::from_request_parts(parts, state)
            .await
            .map(|path| Self(path.0))
            .map_err(|_| html::no_page())
    }
}

impl FromRequestParts<Rest> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, rest: &Rest) -> Result<Self, Self::Rejection> {
        let all = &parts.headers;
        let headers = PASSED_ON.iter().flat_map(|name| {
            all.get_all(name)
                .iter()
                .map(move |value| (name.clone(), value.clone()))
        });
        Ok(Self {
            rest: rest.clone(),
            headers: headers.collect(),
            // Not all extensions: the router's own would add the parameters of this path to those of REST's.
            client: parts.extensions.get().copied(),
            notice: rest.cookie.find(&parts.headers),
            uri: parts.uri.clone(),
        })
    }
}

/// Largest form, bytes: it is read before REST decides about the visitor.
const LARGEST_FORM: usize = 64 << 10;

/// Largest form about many hosts, bytes: ids of as many as a job has, or a table with a name for each of some thousands.
const LARGEST_LONG_FORM: usize = 1 << 20;

/// Time in which a form must arrive.
const FORM_TIME: Duration = Duration::from_secs(20);

/// The fields of a form.
pub struct Form(Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, _state: &S) -> Result<Self, Response> {
        Self::read(request, LARGEST_FORM).await
    }
}

/// The fields of a form about many hosts.
pub struct LongForm(pub Form);

impl<S: Send + Sync> FromRequest<S> for LongForm {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, _state: &S) -> Result<Self, Response> {
        Form::read(request, LARGEST_LONG_FORM).await.map(Self)
    }
}

impl Form {
    /// Of a body of at most `most` bytes.
    async fn read(request: Request<Body>, most: usize) -> Result<Self, Response> {
        let late = || {
            html::problem(
                StatusCode::REQUEST_TIMEOUT,
                "the form did not come in time; send it again",
            )
        };
        let large = |_| {
            let reason = format!("a form has at most {} KiB", most >> 10);
            html::problem(StatusCode::PAYLOAD_TOO_LARGE, &reason)
        };
        let body = timeout(FORM_TIME, to_bytes(request.into_body(), most)).await;
        let bytes = body.map_err(|_| late())?.map_err(large)?;
        Ok(Self::of(&bytes))
    }

    /// The fields of a query, or of a body.
    pub fn of(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// The values of all fields with this name, without blanks around them.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(key, _)| key == name);
        found.map(|(_, value)| value.trim())
    }

    /// The field with this name, without blanks around it; empty where there is none.
    pub fn field(&self, name: &str) -> String {
        self.given(name).unwrap_or_default()
    }

    /// The same; `None` where there is none.
    pub fn given(&self, name: &str) -> Option<String> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.trim().to_owned())
    }
}

/// REST refused a request of the page.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    /// In REST's own words.
    pub reason: String,
    /// The page that was to be shown.
    page: String,
}

/// The text of an answer that is to come.
type Answer<'a> = Pin<Box<dyn Future<Output = Result<Bytes, Refusal>> + Send + 'a>>;

impl Visitor {
    /// The same visitor of another page: the one to return to after signing in.
    pub fn at(mut self, page: &str) -> Self {
        if let Ok(uri) = page.parse() {
            self.uri = uri;
        }
        self
    }

    /// The result of a form, for the page at this path, to which its answer leads.
    pub fn notice(&self, page: &str) -> Option<&Notice> {
        self.notice.as_ref().filter(|notice| notice.is_for(page))
    }

    /// Leads to a page, which shows the notice.
    pub fn lead_to(&self, address: &str, notice: &Notice) -> Response {
        with_cookie(
            Redirect::to(address).into_response(),
            self.rest.cookie.set(notice),
        )
    }

    /// The page at this path as an answer: what it shows of a notice, it shows once.
    pub fn shown(&self, page: &str, answer: Response) -> Response {
        match self.notice(page) {
            Some(_) => with_cookie(answer, self.rest.cookie.cleared()),
            None => answer,
        }
    }

    /// The values of the page's own query parameters with these names; empty where there is none.
    pub fn parameters<const N: usize>(&self, names: [&str; N]) -> [String; N] {
        let query = self.uri.query().unwrap_or_default();
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        names.map(|name| {
            let found = pairs.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        })
    }

    /// All values of a query parameter of the page, in their order.
    pub fn all_parameters(&self, name: &str) -> Vec<String> {
        let query = self.uri.query().unwrap_or_default();
        let pairs = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let found = pairs.filter(|(key, _)| key == name);
        found.map(|(_, value)| value).collect()
    }

    /// Reads a table of BMCs.
    ///
    /// # Errors
    /// What is wrong, a text a line.
    pub fn read_bmcs(&self, table: &BmcTable) -> Result<Vec<(u64, BmcCreateParams)>, Vec<String>> {
        (self.rest.read_bmcs)(table)
    }

    /// Sends this credential with each request.
    pub fn identify(&mut self, mut credential: HeaderValue) {
        credential.set_sensitive(true);
        self.headers.insert(header::AUTHORIZATION, credential);
    }

    /// `GET` of a path of REST, as JSON.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Refusal> {
        let text = self.text_of(Method::GET, path, None).await?;
        self.decoded(path, &text)
    }

    /// `GET` of a part of a page; `None` if REST refuses it with one of `statuses`: a part that the visitor's token may not
    /// show, or that was deleted meanwhile.
    ///
    /// # Errors
    /// Other refusals.
    pub async fn get_unless<T: DeserializeOwned>(
        &self,
        statuses: &[StatusCode],
        path: &str,
    ) -> Result<Option<T>, Refusal> {
        match self.get(path).await {
            Err(refusal) if statuses.contains(&refusal.status) => Ok(None),
            read => read.map(Some),
        }
    }

    /// The first hosts that fit a query, with counts by the values of `facets` (keys, separated by commas).
    ///
    /// # Errors
    /// 400 for a query that cannot be read.
    pub async fn hosts(&self, query: &str, limit: usize, facets: &str) -> Result<FoundHosts, Refusal> {
        let query: String = byte_serialize(query.as_bytes()).collect();
        self.get(&format!(
            "{MUSTER_PATH}/hosts?q={query}&limit={limit}&facets={facets}"
        ))
        .await
    }

    /// `POST` to a path of REST; what was created, as JSON.
    pub async fn create<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Refusal> {
        let text = self.text_of(Method::POST, path, Some(body)).await?;
        self.decoded(path, &text)
    }

    /// The answer of REST. Boxed: each page awaits several, and the program would have all of them once for each.
    fn text_of<'a>(&'a self, method: Method, path: &'a str, body: Option<&'a Value>) -> Answer<'a> {
        Box::pin(async move {
            let response = self.send(method, path, body).await?;
            let text = to_bytes(response.into_body(), LARGEST).await;
            text.map_err(|_| self.unreadable(path))
        })
    }

    fn decoded<T: DeserializeOwned>(&self, path: &str, text: &[u8]) -> Result<T, Refusal> {
        serde_json::from_slice(text).map_err(|_| self.unreadable(path))
    }

    fn unreadable(&self, path: &str) -> Refusal {
        self.refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the answer of {path} cannot be read"),
        )
    }

    /// Sends a request to a path of REST: below its base path, or a whole one of the additions.
    ///
    /// # Errors
    /// With the reason of every answer that is no success.
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Response, Refusal> {
        let base = match path.starts_with(MUSTER_PATH) {
            true => "",
            false => BASE_PATH,
        };
        let text = body.map(ToString::to_string).unwrap_or_default();
        let length = HeaderValue::from(text.len());
        let mut request = Request::new(Body::from(text));
        *request.method_mut() = method;
        *request.headers_mut() = self.headers.clone();
        if let Some(client) = self.client {
            request.extensions_mut().insert(client);
        }
        if body.is_some() {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
            request.headers_mut().insert(header::CONTENT_LENGTH, length);
        }
        *request.uri_mut() = format!("{base}{path}")
            .parse()
            .map_err(|_| self.refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{path} is no path")))?;
        let Ok(response) = self.rest.api.clone().oneshot(request).await;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response.status(), reason(response).await))
    }

    /// A refusal by the page itself.
    pub fn refusal(&self, status: StatusCode, reason: String) -> Refusal {
        let page = self.page();
        Refusal { status, reason, page }
    }

    fn page(&self) -> String {
        self.uri
            .path_and_query()
            .map(ToString::to_string)
            .unwrap_or_default()
    }
}

fn with_cookie(mut answer: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer
}

/// The reason in either of REST's two forms of a refusal (docs/protocol/rest-behaviour.md#1.1).
async fn reason(response: Response) -> String {
    let status = response.status();
    let bytes = to_bytes(response.into_body(), LARGEST).await.unwrap_or_default();
    let read: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |name: &str| read.get(name).and_then(Value::as_str).map(str::to_owned);
    text("reason")
        .or_else(|| text("message"))
        .unwrap_or_else(|| status.to_string())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if self.status == StatusCode::UNAUTHORIZED {
            let page: String = byte_serialize(self.page.as_bytes()).collect();
            return Redirect::to(&format!("{}?next={page}", html::SIGN_IN)).into_response();
        }
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => html::unavailable(&self.reason, &self.page),
            status => html::problem(status, &self.reason),
        }
    }
}
