//! A list read page after page at one revision, for answers that are sent while they are read: ten thousand large objects are
//! never in memory together.

use std::sync::Arc;

use super::list::Start;
use super::projection::{Decoder, Item, Projection};
use super::selection::Selection;
use crate::error::{ApiError, Result};
use crate::request::RequestInfo;
use crate::server::Server;
use crate::storage::{ListQuery, Revision};

/// Objects per read: half a megabyte of inventories.
pub const PAGE: usize = 25;

/// The pages of a list.
pub struct ListPages {
    server: Arc<Server>,
    request: RequestInfo,
    selection: Selection,
    projection: Projection,
    at: Option<Revision>,
    /// Namespace and name of the last object read.
    after: Option<(String, String)>,
    is_over: bool,
}

impl ListPages {
    /// The list of the query, without its limit.
    ///
    /// # Errors
    /// 400 for the query, 504 for a revision that does not exist yet.
    pub async fn of_list(server: Arc<Server>, request: RequestInfo, projection: Projection) -> Result<Self> {
        let at = match server.start(&request.options).await? {
            Start::Now => None,
            Start::At(revision) => Some(revision),
            Start::Continued(_) => return Err(ApiError::bad_request("a list that goes on has pages")),
        };
        let pages = Self::of_now(server, request, projection)?;
        Ok(Self { at, ..pages })
    }

    /// All selected objects as they are now.
    ///
    /// # Errors
    /// 400 for selectors.
    pub fn of_now(server: Arc<Server>, request: RequestInfo, projection: Projection) -> Result<Self> {
        Ok(Self {
            server,
            selection: Selection::of(&request)?,
            request,
            projection,
            at: None,
            after: None,
            is_over: false,
        })
    }

    pub fn request(&self) -> &RequestInfo {
        &self.request
    }

    /// The revision of the list, once a page has been read.
    pub fn revision(&self) -> Revision {
        self.at.unwrap_or_default()
    }

    /// True when [`ListPages::next`] returns no more objects.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The next objects, which may be empty for a page; `None` at the end.
    ///
    /// # Errors
    /// 410 when the revision was compacted, 504 when it does not exist yet, 503 when the database does not respond.
    pub async fn next(&mut self) -> Result<Option<Vec<Item>>> {
        if self.is_over {
            return Ok(None);
        }
        let namespace = &self.selection.namespace;
        let query = ListQuery {
            resource: self.request.resource.storage_name.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.clone()),
            name: self.selection.fields.name().map(str::to_owned),
            after: self.after.clone(),
            limit: Some(PAGE),
            at: self.at,
            counts: false,
        };
        let page = self.server.storage.list(query).await?;
        match self.at {
            Some(at) if at < page.compacted => return Err(ApiError::too_old(at, page.compacted)),
            Some(at) if at > page.revision => return Err(ApiError::revision_too_large(at, page.revision)),
            _ => {}
        }
        self.at = Some(page.revision);
        self.after = page.last;
        self.is_over = page.rows < PAGE;
        let decoder = Decoder::new(&self.request, &self.selection, &self.projection);
        let items = page.objects.into_iter().map(|stored| decoder.decode(stored));
        let items: Vec<Option<Item>> = items.collect::<Result<_>>()?;
        Ok(Some(items.into_iter().flatten().collect()))
    }
}
