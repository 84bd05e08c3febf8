//! Decodes the stored documents of a list, no further than the response and its selectors need.

use std::sync::Arc;

use serde_json::Value;

use super::selection::Selection;
use crate::error::Result;
use crate::object::Parts;
use crate::request::RequestInfo;
use crate::request::negotiate::View;
use crate::resources::Strategy;
use crate::resources::table::IncludeObject;
use crate::storage::Stored;

/// The parts of each object that an answer shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// Documents as stored, if they can be sent unparsed.
    Documents,
    /// At least these parts. Built-in kinds and converted ones are parsed completely.
    Parts(Parts),
    Objects,
}

impl Projection {
    /// The parts that a view shows.
    pub fn of(request: &RequestInfo, view: View) -> Self {
        match view {
            View::Whole | View::Discovery(_) => Self::Documents,
            View::Table if request.options.include_object == IncludeObject::Object => Self::Objects,
            View::Table => Self::Parts(request.resource.columns.parts()),
            View::Metadata => Self::Parts(Parts::metadata()),
        }
    }
}

/// A selected object.
pub enum Item {
    /// As stored, unparsed.
    Document(Arc<str>),
    /// As served.
    Object(Value),
}

/// Decodes and selects the documents of one list.
pub struct Decoder<'a> {
    request: &'a RequestInfo,
    selection: &'a Selection,
    /// True when documents are sent as they are stored.
    is_raw: bool,
    parts: Option<&'a Parts>,
    metadata: Parts,
}

impl<'a> Decoder<'a> {
    /// A decoder for the answer to `request`.
    pub fn new(request: &'a RequestInfo, selection: &'a Selection, projection: &'a Projection) -> Self {
        let resource = &request.resource;
        let is_shallow = !selection.needs_content();
        // Converted objects are converted completely.
        let has_parts = resource.strategy == Strategy::Custom && resource.converter.is_none();
        let is_raw = *projection == Projection::Documents && is_shallow && request.serves_stored();
        let parts = match projection {
            Projection::Parts(parts) if is_shallow && has_parts => Some(parts),
            Projection::Parts(_) | Projection::Documents | Projection::Objects => None,
        };
        Self {
            request,
            selection,
            is_raw,
            parts,
            metadata: Parts::metadata(),
        }
    }

    /// Decodes a stored object; `None` when it is not selected.
    ///
    /// # Errors
    /// 500 when the document is damaged.
    pub fn decode(&self, stored: Stored) -> Result<Option<Item>> {
        let resource = &self.request.resource;
        if self.is_raw {
            let is_selected = self.selection.is_everything()
                || self.selection.matches(&stored.parts(&self.metadata)?, resource);
            return Ok(is_selected.then_some(Item::Document(stored.document)));
        }
        let object = match self.parts {
            Some(parts) => stored.parts(parts)?,
            None => stored.object()?,
        };
        let object = self.request.served(object);
        let is_selected = self.selection.is_everything() || self.selection.matches(&object, resource);
        Ok(is_selected.then_some(Item::Object(object)))
    }
}
