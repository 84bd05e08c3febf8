//! HTTP: from a request to an answer.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::body;
use crate::discovery;
use crate::error::{ApiError, Result};
use crate::negotiate::{self, Form, View};
use crate::read::{Found, Need};
use crate::request::{Caller, Options, Target, field_manager};
use crate::review;
use crate::server::Server;
use crate::table;
use crate::write::delete::Deletion;
use crate::write::{Ask, Outcome, patch};

/// The service for programs outside.
pub fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(move |request: Request<Body>| handle(server.clone(), request))
}

/// Answers one request.
pub async fn handle(server: Arc<Server>, request: Request<Body>) -> Response<Body> {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    match answer(&server, request).await {
        Ok(response) => response,
        Err(error) => {
            tracing::debug!(%method, path, code = error.code(), message = error.message(), "refused");
            error.into_response()
        }
    }
}

async fn answer(server: &Arc<Server>, request: Request<Body>) -> Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if let Some(response) = discovery::answer(server, path, &head.headers)? {
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Err(ApiError::method_not_allowed());
        }
        return Ok(response);
    }
    let registry = server.registry();
    let target = Target::parse(path);
    let found = target.and_then(|target| {
        let resource = registry
            .find(&target.group, &target.version, &target.plural)?
            .clone();
        Some((target, resource))
    });
    let Some((target, resource)) = found else {
        return Ok(nothing_there());
    };
    if target.namespace.is_some() && !resource.namespaced {
        return Ok(nothing_there());
    }
    let options = Options::parse(head.uri.query().unwrap_or_default(), &head.method)?;
    let caller = head
        .extensions
        .get::<Caller>()
        .cloned()
        .unwrap_or_else(Caller::administrator);
    let ask = Ask {
        namespace: target.namespace.unwrap_or_default(),
        name: target.name.unwrap_or_default(),
        subresource: target.subresource.unwrap_or_default(),
        manager: field_manager(&options, &head.headers),
        is_patch: head.method == Method::PATCH,
        options,
        caller,
        resource,
    };
    if !ask.name.is_empty() && ask.resource.namespaced && ask.namespace.is_empty() {
        return Ok(nothing_there());
    }
    check_subresource(&ask)?;
    let mut response = dispatch(server, &head.method, &head.headers, ask.clone(), body).await?;
    if let Some(warning) = &ask.resource.deprecation {
        warn(&mut response, warning);
    }
    Ok(response)
}

/// As a server answers for paths that nobody has.
fn nothing_there() -> Response<Body> {
    let mut response = Response::new(Body::from("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

fn check_subresource(ask: &Ask) -> Result<()> {
    let known = ask.resource.subresources();
    if ask.subresource.is_empty() || known.iter().any(|(name, ..)| *name == ask.subresource) {
        return Ok(());
    }
    Err(ApiError::no_such_resource())
}

async fn dispatch(
    server: &Arc<Server>,
    method: &Method,
    headers: &HeaderMap,
    ask: Ask,
    body: Body,
) -> Result<Response<Body>> {
    let form = negotiate::form(headers)?;
    let has_name = !ask.name.is_empty();
    let is_scale = ask.subresource == "scale";
    match *method {
        Method::POST if !ask.resource.nature.is_kept() && !has_name => {
            let object = review::answered(&ask, read_object(headers, body).await?);
            Ok(written(form, StatusCode::CREATED, &object))
        }
        _ if !ask.resource.nature.is_kept() => Err(ApiError::method_not_allowed()),
        Method::GET | Method::HEAD if ask.options.watch && ask.subresource.is_empty() => {
            let body = server.watch(ask, form.view).await?;
            let mut response = Response::new(body);
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(response)
        }
        Method::GET | Method::HEAD if is_scale => {
            Ok(written(form, StatusCode::OK, &server.scale(&ask).await?))
        }
        Method::GET | Method::HEAD if has_name => {
            let object = server.get(&ask).await?;
            Ok(shown(&ask, form, StatusCode::OK, object))
        }
        Method::GET | Method::HEAD => {
            let need = match form.yaml {
                true => Need::Objects,
                false => Need::of(&ask, form.view),
            };
            let found = server.list(&ask, &need).await?;
            Ok(listed(&ask, form, found))
        }
        Method::POST if !has_name && ask.resource.namespaced != ask.namespace.is_empty() => {
            let object = read_object(headers, body).await?;
            finished(&ask, form, server.create(&ask, object).await?)
        }
        Method::PUT if is_scale => {
            let object = read_object(headers, body).await?;
            finished(&ask, form, server.replace_scale(&ask, object).await?)
        }
        Method::PUT if has_name => {
            let object = read_object(headers, body).await?;
            finished(&ask, form, server.replace(&ask, object).await?)
        }
        Method::PATCH if has_name => {
            let patch_form = patch::Form::of(negotiate::content_type(headers), &ask)?;
            let bytes = body::read(body).await?;
            let outcome = if is_scale {
                server.patch_scale(&ask, patch_form, &bytes).await?
            } else {
                server.patch(&ask, patch_form, &bytes).await?
            };
            finished(&ask, form, outcome)
        }
        Method::DELETE if ask.subresource.is_empty() => {
            let bytes = body::read(body).await?;
            let options = if bytes.is_empty() {
                json!({})
            } else {
                body::object(negotiate::content_type(headers), &bytes)?
            };
            let deletion = Deletion::parse(&options, &ask)?;
            let outcome = if has_name {
                server.delete(&ask, &deletion).await?
            } else {
                server.delete_collection(&ask, &deletion).await?
            };
            Ok(written(form, StatusCode::OK, &outcome.object))
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}

async fn read_object(headers: &HeaderMap, body: Body) -> Result<Value> {
    let bytes = body::read(body).await?;
    body::object(negotiate::content_type(headers), &bytes)
}

fn finished(ask: &Ask, form: Form, outcome: Outcome) -> Result<Response<Body>> {
    let status = if outcome.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut response = if ask.subresource == "scale" {
        written(form, status, &outcome.object)
    } else {
        shown(ask, form, status, outcome.object)
    };
    for warning in &outcome.warnings {
        warn(&mut response, warning);
    }
    Ok(response)
}

fn warn(response: &mut Response<Body>, warning: &str) {
    let quoted = format!("299 - {:?}", warning.replace(['\n', '\r'], " "));
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        response.headers_mut().append(header::WARNING, value);
    }
}

/// One object in the form that the client takes.
fn shown(ask: &Ask, form: Form, status: StatusCode, object: Value) -> Response<Body> {
    match form.view {
        View::Table => {
            let metadata = json!({"resourceVersion": crate::object::resource_version(&object)});
            let table = table::table(
                &ask.resource.columns,
                &[object],
                metadata,
                ask.options.include_object,
                true,
            );
            written(form, status, &table)
        }
        View::Metadata => written(form, status, &table::partial_object(&object)),
        View::Whole | View::Discovery(_) => written(form, status, &object),
    }
}

/// A list in the form that the client takes.
fn listed(ask: &Ask, form: Form, found: Found) -> Response<Body> {
    let mut metadata = json!({"resourceVersion": found.revision.to_string()});
    if !found.continue_token.is_empty() {
        metadata["continue"] = found.continue_token.into();
    }
    if let Some(remaining) = found.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    let resource = &ask.resource;
    match form.view {
        View::Table => {
            let table = table::table(
                &resource.columns,
                &found.objects,
                metadata,
                ask.options.include_object,
                true,
            );
            written(form, StatusCode::OK, &table)
        }
        View::Metadata => {
            let items: Vec<Value> = found.objects.iter().map(table::partial_object).collect();
            let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items});
            written(form, StatusCode::OK, &list)
        }
        View::Whole | View::Discovery(_) if found.objects.is_empty() => {
            // Documents as they are stored, one behind the other.
            let size: usize = found.documents.iter().map(|document| document.len() + 1).sum();
            let mut text = String::with_capacity(size + 256);
            text.push_str(&format!(
                "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
                json!(resource.list_kind),
                json!(resource.api_version())
            ));
            for (index, document) in found.documents.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(document);
            }
            text.push_str("]}");
            json_response(StatusCode::OK, text)
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

fn json_response(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A value as JSON or YAML.
pub(crate) fn written(form: Form, status: StatusCode, value: &Value) -> Response<Body> {
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
