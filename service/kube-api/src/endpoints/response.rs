//! Writes answers in the forms that clients accept: JSON, YAML, tables, metadata only.

use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse as _;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::object;
use crate::pieces::Pieces;
use crate::read::Listed;
use crate::request::RequestInfo;
use crate::request::negotiate::{Form, View};
use crate::resources::table;

/// 404 for a path that no resource has, in the plain text of a Go server.
pub fn nothing_there() -> Response<Body> {
    let mut response = Response::new(Body::from("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// Marks an answer that is a list, which is worth compressing.
#[derive(Debug, Clone, Copy)]
pub struct IsList;

/// Adds a `Warning` header.
pub fn warn(response: &mut Response<Body>, warning: &str) {
    let quoted = format!("299 - {:?}", warning.replace(['\n', '\r'], " "));
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        response.headers_mut().append(header::WARNING, value);
    }
}

/// An object in the form that the client accepts.
pub fn shown(request: &RequestInfo, form: Form, status: StatusCode, object: Value) -> Response<Body> {
    match form.view {
        View::Table => {
            let metadata = json!({"resourceVersion": object::resource_version(&object)});
            let columns = &request.resource.columns;
            let include = request.options.include_object;
            let table = table::table(columns, &[object], metadata, include, true);
            written(form, status, &table)
        }
        View::Metadata => written(form, status, &table::partial_object(&object)),
        View::Whole | View::Discovery(_) => written(form, status, &object),
    }
}

/// A list in the form that the client accepts.
pub fn listed(request: &RequestInfo, form: Form, found: Listed) -> Response<Body> {
    let mut metadata = json!({"resourceVersion": found.revision.to_string()});
    if !found.continue_token.is_empty() {
        metadata["continue"] = found.continue_token.into();
    }
    if let Some(remaining) = found.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    let resource = &request.resource;
    match form.view {
        View::Table => {
            let include = request.options.include_object;
            let table = table::table(&resource.columns, &found.objects, metadata, include, true);
            written(form, StatusCode::OK, &table)
        }
        View::Metadata => {
            let items: Vec<Value> = found.objects.iter().map(table::partial_object).collect();
            let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items});
            written(form, StatusCode::OK, &list)
        }
        View::Whole | View::Discovery(_) if found.objects.is_empty() => {
            // Stored documents are joined unparsed.
            let mut list = Pieces::default();
            list.push_str(&format!(
                "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
                json!(resource.list_kind),
                json!(resource.api_version())
            ));
            for (index, document) in found.documents.iter().enumerate() {
                if index > 0 {
                    list.push_str(",");
                }
                list.push_document(document);
            }
            list.push_str("]}");
            json_response(StatusCode::OK, Body::new(list))
        }
        View::Whole | View::Discovery(_) => {
            let list = json!({
                "kind": resource.list_kind,
                "apiVersion": resource.api_version(),
                "metadata": metadata,
                "items": found.objects,
            });
            written(form, StatusCode::OK, &list)
        }
    }
}

/// A body that is JSON already.
pub fn json_response(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A stored document as it is.
pub fn document_response(status: StatusCode, document: &Arc<str>) -> Response<Body> {
    let mut pieces = Pieces::default();
    pieces.push_document(document);
    json_response(status, Body::new(pieces))
}

/// A value as JSON or YAML.
pub fn written(form: Form, status: StatusCode, value: &Value) -> Response<Body> {
    if !form.yaml {
        return json_response(status, value.to_string());
    }
    match serde_saphyr::to_string(value) {
        Ok(text) => {
            let mut response = json_response(status, text);
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
            response
        }
        Err(error) => ApiError::internal("the answer cannot be written as YAML", &error).into_response(),
    }
}
