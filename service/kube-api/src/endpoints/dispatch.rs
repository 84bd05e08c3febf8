//! Parses a request and calls the operation of its method and path.

use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse as _;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::response::{
    IsList, document_response, json_response, listed, nothing_there, shown, warn, written,
};
use super::room::in_turn;
use super::{discovery, review, streamed};
use crate::error::{ApiError, Result};
use crate::read::Projection;
use crate::request::negotiate::{self, Form, View};
use crate::request::{Caller, Options, RequestInfo, Target, body, field_manager};
use crate::resources::Strategy;
use crate::server::Server;
use crate::write::{Deletion, Form as PatchForm, Outcome};

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
    let found = Target::parse(path).and_then(|target| {
        let resource = registry.find(&target.group, &target.version, &target.plural)?;
        Some((target, resource.clone()))
    });
    let Some((target, resource)) = found else {
        return Ok(nothing_there());
    };
    if target.namespace.is_some() && !resource.namespaced {
        return Ok(nothing_there());
    }
    let caller = head.extensions.get::<Caller>().cloned();
    let caller = caller.ok_or_else(ApiError::unauthorized)?;
    let options = Options::parse(head.uri.query().unwrap_or_default(), &head.method)?;
    let hides = server.viewers_hide.filter(|_| !caller.is_master());
    let request = RequestInfo {
        namespace: target.namespace.unwrap_or_default(),
        name: target.name.unwrap_or_default(),
        subresource: target.subresource.unwrap_or_default(),
        manager: field_manager(&options, &head.headers),
        is_patch: head.method == Method::PATCH,
        options,
        caller,
        // Definitions hold the names of fields, not their values.
        hides: hides.filter(|_| resource.strategy != Strategy::Definition),
        resource,
    };
    if !request.name.is_empty() && request.resource.namespaced && request.namespace.is_empty() {
        return Ok(nothing_there());
    }
    check_subresource(&request)?;
    let resource = request.resource.clone();
    let mut response = dispatch(server, &head.method, &head.headers, request, body).await?;
    if let Some(warning) = &resource.deprecation {
        warn(&mut response, warning);
    }
    Ok(response)
}

fn check_subresource(request: &RequestInfo) -> Result<()> {
    let subresource = &request.subresource;
    let served = request.resource.subresources();
    if subresource.is_empty() || served.iter().any(|(name, ..)| name == subresource) {
        return Ok(());
    }
    Err(ApiError::no_such_resource())
}

async fn dispatch(
    server: &Arc<Server>,
    method: &Method,
    headers: &HeaderMap,
    request: RequestInfo,
    body: Body,
) -> Result<Response<Body>> {
    let form = negotiate::form(headers)?;
    let has_name = !request.name.is_empty();
    let is_stored = request.resource.strategy.is_stored();
    match *method {
        Method::POST if !is_stored && !has_name => {
            let object = review::answered(&request, read_object(headers, body).await?);
            Ok(written(form, StatusCode::CREATED, &object))
        }
        _ if !is_stored => Err(ApiError::method_not_allowed()),
        Method::GET | Method::HEAD => read(server, request, form).await,
        _ if request.resource.strategy.is_read_only() => Err(ApiError::method_not_allowed()),
        Method::POST if !has_name && request.resource.namespaced != request.namespace.is_empty() => {
            let bytes = body::read(body).await?;
            let creating = async {
                let object = body::parsed(negotiate::content_type(headers), &bytes)?;
                server.create(&request, object).await
            };
            finished(&request, form, in_turn(&request, bytes.len(), creating).await?)
        }
        Method::PUT if has_name => {
            let bytes = body::read(body).await?;
            let replacing = async {
                let object = body::parsed(negotiate::content_type(headers), &bytes)?;
                match request.subresource.as_str() {
                    "scale" => server.replace_scale(&request, object).await,
                    _ => server.replace(&request, object).await,
                }
            };
            finished(&request, form, in_turn(&request, bytes.len(), replacing).await?)
        }
        Method::PATCH if has_name => {
            let patch_form = PatchForm::of(negotiate::content_type(headers), &request)?;
            let bytes = body::read(body).await?;
            let patching = async {
                match request.subresource.as_str() {
                    "scale" => server.patch_scale(&request, patch_form, &bytes).await,
                    _ => server.patch(&request, patch_form, &bytes).await,
                }
            };
            finished(&request, form, in_turn(&request, bytes.len(), patching).await?)
        }
        Method::DELETE if request.subresource.is_empty() => {
            let bytes = body::read(body).await?;
            let options = match bytes.is_empty() {
                true => json!({}),
                false => body::parsed(negotiate::content_type(headers), &bytes)?,
            };
            let deletion = Deletion::parse(&options, &request)?;
            let outcome = match has_name {
                true => server.delete(&request, &deletion).await?,
                false => {
                    server
                        .clone()
                        .delete_collection(request.clone(), &deletion)
                        .await?
                }
            };
            Ok(written(form, StatusCode::OK, &outcome.object))
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}

async fn read(server: &Arc<Server>, request: RequestInfo, form: Form) -> Result<Response<Body>> {
    if request.options.watch && request.subresource.is_empty() {
        let events = server.watch(request, form.view).await?;
        return Ok(json_response(StatusCode::OK, events));
    }
    if request.subresource == "scale" {
        return Ok(written(form, StatusCode::OK, &server.scale(&request).await?));
    }
    if !request.name.is_empty() {
        let object = server.get(&request).await?;
        return Ok(shown(&request, form, StatusCode::OK, object));
    }
    if streamed::is_for(&request, form) {
        let mut answer = streamed::list(server.clone(), request, form).await?;
        answer.extensions_mut().insert(IsList);
        return Ok(answer);
    }
    let projection = match form.yaml {
        true => Projection::Objects,
        false => Projection::of(&request, form.view),
    };
    let found = server.list(&request, &projection).await?;
    let mut answer = listed(&request, form, found);
    answer.extensions_mut().insert(IsList);
    Ok(answer)
}

async fn read_object(headers: &HeaderMap, body: Body) -> Result<Value> {
    let bytes = body::read(body).await?;
    body::parsed(negotiate::content_type(headers), &bytes)
}

fn finished(request: &RequestInfo, form: Form, outcome: Outcome) -> Result<Response<Body>> {
    let status = match outcome.created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let is_whole = form.view == View::Whole && !form.yaml;
    let mut response = match (request.subresource.as_str(), outcome.document) {
        ("scale", _) => written(form, status, &outcome.object),
        (_, Some(document)) if is_whole => document_response(status, &document),
        _ => shown(request, form, status, outcome.object),
    };
    for warning in &outcome.warnings {
        warn(&mut response, warning);
    }
    Ok(response)
}
