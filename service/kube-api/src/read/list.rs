//! GET of one object, and of lists with selectors, pages and revisions.

use std::sync::Arc;

use serde_json::Value;

use super::continuation::Continuation;
use super::projection::{Decoder, Item, Projection};
use super::selection::Selection;
use crate::error::{ApiError, FieldError, Result};
use crate::request::{Options, RequestInfo, invalid_options};
use crate::resources::Resource;
use crate::server::Server;
use crate::storage::{ListQuery, Page, Revision};

/// Most objects per read: the page of `kubectl`, some 15 MB of inventories. Not fewer with selectors either, because they drop
/// some of the objects.
const CHUNK: usize = 500;

/// The objects of a list.
#[derive(Debug, Default)]
pub struct Listed {
    pub revision: Revision,
    /// Objects as served; empty when `documents` is filled.
    pub objects: Vec<Value>,
    /// Documents as stored, which are sent unparsed.
    pub documents: Vec<Arc<str>>,
    /// `metadata.continue`; empty at the end.
    pub continue_token: String,
    /// `metadata.remainingItemCount`, if known.
    pub remaining: Option<usize>,
}

impl Listed {
    fn len(&self) -> usize {
        self.objects.len() + self.documents.len()
    }

    fn push(&mut self, item: Item) {
        match item {
            Item::Document(document) => self.documents.push(document),
            Item::Object(object) => self.objects.push(object),
        }
    }
}

/// The position at which a list begins.
#[derive(Debug)]
pub(super) enum Start {
    /// The first object, as of now.
    Now,
    /// The first object, as of this revision.
    At(Revision),
    /// The end of the page before.
    Continued(Continuation),
}

/// The position of a list while it reads chunk after chunk.
struct Cursor<'a> {
    resource: &'a Resource,
    selection: &'a Selection,
    limit: Option<usize>,
    at: Option<Revision>,
    /// Namespace and name of the last object read.
    after: Option<(String, String)>,
    /// The number of objects from the start on, if known.
    total: Option<usize>,
    is_continued: bool,
}

impl<'a> Cursor<'a> {
    fn new(resource: &'a Resource, selection: &'a Selection, start: Start, limit: Option<usize>) -> Self {
        let is_continued = matches!(start, Start::Continued(_));
        let (at, after, total) = match start {
            Start::Now => (None, None, None),
            Start::At(revision) => (Some(revision), None, None),
            Start::Continued(from) => (Some(from.rv), Some(from.after), from.left),
        };
        Self {
            resource,
            selection,
            limit,
            at,
            after,
            total,
            is_continued,
        }
    }

    /// Objects per read. One more than the limit shows whether the list continues.
    fn chunk(&self) -> usize {
        match self.limit {
            Some(limit) if self.selection.is_everything() => limit.min(CHUNK) + 1,
            Some(_) | None => CHUNK,
        }
    }

    fn query(&self) -> ListQuery {
        let namespace = &self.selection.namespace;
        ListQuery {
            resource: self.resource.storage_name.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.clone()),
            name: self.selection.fields.name().map(str::to_owned),
            after: self.after.clone(),
            limit: Some(self.chunk()),
            at: self.at,
            // With selectors the count of what they select is unknown.
            counts: self.selection.is_everything() && self.limit.is_some(),
        }
    }

    /// Moves behind a page; true when it is the last one.
    ///
    /// # Errors
    /// 410 when its revision was compacted, 504 when it does not exist yet.
    fn advance(&mut self, page: &Page) -> Result<bool> {
        match self.at {
            Some(at) if at < page.compacted => {
                return Err(ApiError::expired(self.expired(at, page.compacted)));
            }
            Some(at) if at > page.revision => {
                return Err(ApiError::revision_too_large(at, page.revision));
            }
            _ => {}
        }
        self.at = Some(page.revision);
        self.total = page.total.or(self.total);
        if let Some(last) = &page.last {
            self.after = Some(last.clone());
        }
        Ok(page.rows < self.chunk())
    }

    fn expired(&self, at: Revision, compacted: Revision) -> String {
        if self.is_continued {
            return "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                    without the continue parameter."
                .into();
        }
        format!("The resourceVersion for the provided list is too old ({at}); {compacted} is the oldest")
    }
}

impl Server {
    /// # Errors
    /// 404; 504 for a revision that does not exist yet.
    pub async fn get(&self, request: &RequestInfo) -> Result<Value> {
        let existing = self.existing(request).await?;
        let existing = existing.ok_or_else(|| request.not_found())?;
        let revision = &request.options.resource_version;
        if !revision.is_empty() && revision != "0" {
            self.check_not_future(revision).await?;
        }
        Ok(existing.object)
    }

    /// Reads all selected objects as they are now, without pages.
    ///
    /// # Errors
    /// 400 for selectors, 503 when the database does not respond.
    pub async fn selected(&self, request: &RequestInfo, projection: &Projection) -> Result<Listed> {
        let selection = Selection::of(request)?;
        self.read(request, &selection, Start::Now, None, projection).await
    }

    /// Reads a list with the options of the query.
    ///
    /// # Errors
    /// 400 for the query, 410 when the revision was compacted, 504 when it does not exist yet.
    pub async fn list(&self, request: &RequestInfo, projection: &Projection) -> Result<Listed> {
        let selection = Selection::of(request)?;
        let start = self.start(&request.options).await?;
        let limit = request.options.limit;
        let limit = (limit > 0).then_some(limit);
        self.read(request, &selection, start, limit, projection).await
    }

    pub(super) async fn start(&self, options: &Options) -> Result<Start> {
        if options.send_initial_events.is_some() {
            return Err(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        let revision = options.resource_version.as_str();
        if !options.continue_token.is_empty() {
            if !matches!(revision, "" | "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let from = Continuation::decode(&options.continue_token)?;
            return Ok(Start::Continued(from));
        }
        match (options.resource_version_match.as_str(), revision) {
            ("", "" | "0") | ("NotOlderThan", "0") => Ok(Start::Now),
            ("Exact" | "NotOlderThan", "") => {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                Err(forbidden("resourceVersionMatch", why))
            }
            ("Exact", "0") => {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                Err(forbidden("resourceVersionMatch", why))
            }
            ("Exact", text) => Ok(Start::At(self.check_not_future(text).await?)),
            ("" | "NotOlderThan", text) => {
                let revision = self.check_not_future(text).await?;
                // A limit without a match means exactly that revision.
                let is_exact = options.resource_version_match.is_empty() && options.limit > 0;
                Ok(if is_exact { Start::At(revision) } else { Start::Now })
            }
            (other, _) => {
                let supported = ["Exact", "NotOlderThan", ""].map(Value::from);
                let error = FieldError::unsupported("resourceVersionMatch", &other.into(), &supported);
                Err(invalid_options("ListOptions", &error))
            }
        }
    }

    /// Parses a revision that a client sends.
    ///
    /// # Errors
    /// 400 when it is not a number, 504 when it does not exist yet.
    pub(crate) async fn check_not_future(&self, text: &str) -> Result<Revision> {
        let revision = parse_revision(text)?;
        if revision > self.watch_cache.latest() {
            let (current, _) = self.storage.revisions().await?;
            if revision > current {
                return Err(ApiError::revision_too_large(revision, current));
            }
        }
        Ok(revision)
    }

    async fn read(
        &self,
        request: &RequestInfo,
        selection: &Selection,
        start: Start,
        limit: Option<usize>,
        projection: &Projection,
    ) -> Result<Listed> {
        let decoder = Decoder::new(request, selection, projection);
        let mut cursor = Cursor::new(&request.resource, selection, start, limit);
        let mut listed = Listed::default();
        let mut last = (String::new(), String::new());
        loop {
            let page = self.storage.list(cursor.query()).await?;
            let is_last = cursor.advance(&page)?;
            listed.revision = page.revision;
            for stored in page.objects {
                let place = (stored.key.namespace.clone(), stored.key.name.clone());
                let Some(item) = decoder.decode(stored)? else {
                    continue;
                };
                if let Some(limit) = limit.filter(|limit| listed.len() == *limit) {
                    let continuation = Continuation {
                        rv: listed.revision,
                        after: last,
                        left: cursor.total.map(|total| total.saturating_sub(limit)),
                    };
                    listed.continue_token = continuation.encode();
                    listed.remaining = continuation.left;
                    return Ok(listed);
                }
                listed.push(item);
                last = place;
            }
            if is_last {
                return Ok(listed);
            }
        }
    }
}

fn forbidden(option: &str, why: &str) -> ApiError {
    invalid_options("ListOptions", &FieldError::forbidden(option, why))
}

/// Parses a revision that a client sends.
///
/// # Errors
/// 400 when it is not a number.
pub fn parse_revision(text: &str) -> Result<Revision> {
    text.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: it must be a version that this server returned"
        ))
    })
}
