//! Answers with lists that are sent while they are read.

use std::sync::Arc;

use axum::body::Body;
use futures_util::stream;
use http::{Response, StatusCode};
use serde_json::json;

use super::response::json_response;
use crate::error::{ApiError, Result};
use crate::pieces::{self, Pieces};
use crate::read::{Item, ListPages, Projection};
use crate::request::RequestInfo;
use crate::request::negotiate::{Form, View};
use crate::resources::table;
use crate::server::Server;

/// True for lists without a limit, in forms that consist of one object after the other.
pub fn is_for(request: &RequestInfo, form: Form) -> bool {
    let is_sequence = matches!(form.view, View::Whole | View::Metadata | View::Table) && !form.yaml;
    is_sequence && request.options.limit == 0 && request.options.continue_token.is_empty()
}

/// The whole list. An error after its beginning breaks the connection, so that no client takes a part for the whole.
///
/// # Errors
/// If the first page cannot be read.
pub async fn list(server: Arc<Server>, request: RequestInfo, form: Form) -> Result<Response<Body>> {
    let projection = Projection::of(&request, form.view);
    let mut pages = ListPages::of_list(server, request, projection).await?;
    let first = pages.next().await?.unwrap_or_default();
    let mut text = Text {
        view: form.view,
        pieces: Pieces::default(),
        is_empty: true,
    };
    text.begin(&pages);
    text.push(pages.request(), first);
    if pages.is_over() {
        text.pieces.push_str("]}");
        return Ok(json_response(StatusCode::OK, Body::new(text.pieces)));
    }
    let body = stream::unfold(Some((pages, text)), |state| async move {
        let (mut pages, mut text) = state?;
        loop {
            if let Some(piece) = text.pieces.next() {
                return Some((Ok(piece), Some((pages, text))));
            }
            if pages.is_over() {
                return None;
            }
            match pages.next().await {
                Ok(items) => text.push(pages.request(), items.unwrap_or_default()),
                Err(error) => {
                    tracing::warn!(error = error.message(), "a list broke off");
                    return Some((Err::<bytes::Bytes, ApiError>(error), None));
                }
            }
            if pages.is_over() {
                text.pieces.push_str("]}");
            }
        }
    });
    Ok(json_response(StatusCode::OK, pieces::body(body)))
}

struct Text {
    view: View,
    pieces: Pieces,
    /// True until the first object.
    is_empty: bool,
}

impl Text {
    fn begin(&mut self, pages: &ListPages) {
        let resource = &pages.request().resource;
        let of_meta = "meta.k8s.io/v1".to_owned();
        let (kind, api_version) = match self.view {
            View::Metadata => ("PartialObjectMetadataList".to_owned(), of_meta),
            View::Table => ("Table".to_owned(), of_meta),
            View::Whole | View::Discovery(_) => (resource.list_kind.clone(), resource.api_version()),
        };
        let metadata = json!({"resourceVersion": pages.revision().to_string()});
        self.pieces.push_str(&format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},",
            json!(kind),
            json!(api_version)
        ));
        if self.view == View::Table {
            let columns = json!(resource.columns.definitions());
            self.pieces
                .push_str(&format!("\"columnDefinitions\":{columns},\"rows\":["));
        } else {
            self.pieces.push_str("\"items\":[");
        }
    }

    fn push(&mut self, request: &RequestInfo, items: Vec<Item>) {
        for item in items {
            if !std::mem::replace(&mut self.is_empty, false) {
                self.pieces.push_str(",");
            }
            match item {
                Item::Document(document) => self.pieces.push_document(&document),
                Item::Object(object) if self.view == View::Metadata => {
                    self.pieces.push_str(&table::partial_object(&object).to_string());
                }
                Item::Object(object) if self.view == View::Table => {
                    let row = table::row(&request.resource.columns, &object, request.options.include_object);
                    self.pieces.push_str(&row.to_string());
                }
                Item::Object(object) => self.pieces.push_str(&object.to_string()),
            }
        }
    }
}
