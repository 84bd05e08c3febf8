//! Adds the parts of the API's description that are common to all operations: callers, and the refusals of the gate, of the readers of
//! parameters and bodies, and of the database.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use http::StatusCode;
use muster_api::AGENT_TOKEN_HEADER;
use muster_http::{Allowed, OperationIds};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{OneOf, OneOfBuilder};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, Content, OpenApi, Ref, RefOr, Response, ResponseBuilder, Schema};

use super::statuses::declared;

/// The media type of every refusal.
const JSON: &str = "application/json";

/// The two shapes of refusals (docs/protocol/rest-behaviour.md#1.1), by the names of their schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Refusals of handlers.
    ApiError,
    /// Refusals of the gate and of the readers of parameters and bodies.
    InfraError,
}

impl Shape {
    fn reference(self) -> Ref {
        Ref::from_schema_name(match self {
            Self::ApiError => "ApiError",
            Self::InfraError => "InfraError",
        })
    }
}

/// Adds to each operation of a group the credentials that it accepts, and the refusals of the gate.
pub fn behind_gate(api: &mut OpenApi, allowed: Allowed) {
    let schemes = [
        (allowed.user(), &["userAuth"][..]),
        (allowed.agent(), &["agentAuth"]),
        (allowed.url(), &["urlAuth", "imageAuth", "imageURLAuth"]),
    ];
    let requirements: Vec<SecurityRequirement> = schemes
        .into_iter()
        .filter(|(open, _)| *open)
        .flat_map(|(_, names)| names)
        .map(|name| SecurityRequirement::new(*name, Vec::<String>::new()))
        .collect();
    for operation in operations(api) {
        operation.security = Some(requirements.clone());
        may_refuse(operation, StatusCode::UNAUTHORIZED, Shape::InfraError);
        may_refuse(operation, StatusCode::FORBIDDEN, Shape::InfraError);
        if allowed.url() && operation.responses.responses.contains_key("404") {
            may_refuse(operation, StatusCode::NOT_FOUND, Shape::InfraError);
        }
    }
}

/// Describes the refusals of handlers with their statuses ([`declared`]). Returns the ids of the operations that may respond with 400
/// in their handlers.
fn declare(api: &mut OpenApi) -> HashSet<String> {
    let mut takes_400 = HashSet::new();
    for (path, item) in &mut api.paths.paths {
        let Some(path) = path.strip_prefix("/api/assisted-install") else {
            continue;
        };
        let operations = [
            ("GET", &mut item.get),
            ("PUT", &mut item.put),
            ("POST", &mut item.post),
            ("DELETE", &mut item.delete),
            ("PATCH", &mut item.patch),
        ];
        for (method, operation) in operations {
            let Some(operation) = operation else { continue };
            for status in [StatusCode::BAD_REQUEST, StatusCode::CONFLICT] {
                let told = declared(method, path, status);
                if told == status {
                    takes_400.extend(
                        operation
                            .operation_id
                            .clone()
                            .filter(|_| status == StatusCode::BAD_REQUEST),
                    );
                    continue;
                }
                let answers = &mut operation.responses.responses;
                if let Some(answer) = answers.remove(status.as_str()) {
                    answers.entry(told.as_str().to_owned()).or_insert(answer);
                    may_refuse(operation, told, Shape::ApiError);
                }
            }
        }
    }
    takes_400
}

/// Adds the parts that are the same for all operations, and the places of credentials.
pub fn complete(api: &mut OpenApi) {
    let takes_400 = declare(api);
    for operation in operations(api) {
        let has_parameters = operation.parameters.as_ref().is_some_and(|list| !list.is_empty());
        if has_parameters || operation.request_body.is_some() {
            // The shape depends on the place of the check: when the request was read, or in the handler.
            if takes_400.contains(operation.operation_id.as_deref().unwrap_or_default()) {
                may_refuse(operation, StatusCode::BAD_REQUEST, Shape::ApiError);
            }
            may_refuse(operation, StatusCode::BAD_REQUEST, Shape::InfraError);
        }
        if let Some(RefOr::T(body)) = &operation.request_body
            && body.content.contains_key(JSON)
        {
            may_refuse(operation, StatusCode::PAYLOAD_TOO_LARGE, Shape::InfraError);
        }
        may_refuse(operation, StatusCode::INTERNAL_SERVER_ERROR, Shape::ApiError);
        may_refuse(operation, StatusCode::SERVICE_UNAVAILABLE, Shape::ApiError);
        for (code, answer) in &mut operation.responses.responses {
            if let RefOr::T(answer) = answer
                && answer.description.is_empty()
            {
                answer.description = words(code);
            }
        }
    }
    let header = |name: &str, what: &str| ApiKey::Header(ApiKeyValue::with_description(name, what));
    let query = |name: &str, what: &str| ApiKey::Query(ApiKeyValue::with_description(name, what));
    let infra_env = "An InfraEnv's token; it opens that InfraEnv only";
    api.components
        .get_or_insert_with(Components::new)
        .add_security_schemes_from_iter(
            [
                (
                    "userAuth",
                    header("Authorization", "The operator's token, raw or after `Bearer `"),
                ),
                ("agentAuth", header(AGENT_TOKEN_HEADER, infra_env)),
                ("urlAuth", query("api_key", infra_env)),
                ("imageAuth", header("Image-Token", infra_env)),
                ("imageURLAuth", query("image_token", infra_env)),
            ]
            .map(|(name, place)| (name, SecurityScheme::ApiKey(place))),
        );
}

/// The ids of all operations, for the audit.
pub fn operation_ids(api: &OpenApi) -> OperationIds {
    let mut ids = HashMap::new();
    for (path, item) in &api.paths.paths {
        let operations = [
            ("GET", &item.get),
            ("PUT", &item.put),
            ("POST", &item.post),
            ("DELETE", &item.delete),
            ("PATCH", &item.patch),
        ];
        for (method, operation) in operations {
            let id = operation.as_ref().and_then(|one| one.operation_id.clone());
            if let Some(id) = id {
                ids.insert(format!("{method} {path}"), id);
            }
        }
    }
    Arc::new(ids)
}

fn operations(api: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    api.paths.paths.values_mut().flat_map(|path| {
        [
            &mut path.get,
            &mut path.put,
            &mut path.post,
            &mut path.delete,
            &mut path.patch,
        ]
        .into_iter()
        .flatten()
    })
}

/// The default meaning of a status.
fn words(code: &str) -> String {
    let status = code.parse::<StatusCode>().ok();
    match status {
        Some(StatusCode::NO_CONTENT) => "Done; the response has no body",
        Some(StatusCode::BAD_REQUEST) => {
            "A parameter or the body is not acceptable; the text names it and the reason"
        }
        Some(StatusCode::UNAUTHORIZED) => "No token, or none that opens this operation",
        Some(StatusCode::FORBIDDEN) => "The token belongs to another InfraEnv",
        Some(StatusCode::NOT_FOUND) => "What the path names does not exist",
        Some(StatusCode::METHOD_NOT_ALLOWED) => "Not in the present state; the text names it",
        Some(StatusCode::PAYLOAD_TOO_LARGE) => "The body is larger than this operation accepts",
        Some(StatusCode::CONFLICT) => "Not in the present state; the text names it",
        Some(StatusCode::INTERNAL_SERVER_ERROR) => {
            "The service failed; its log gives the reason, under this answer's X-Request-ID"
        }
        Some(StatusCode::SERVICE_UNAVAILABLE) => {
            "Not now, most often for want of the database; try again after Retry-After"
        }
        _ => {
            return status
                .and_then(|status| status.canonical_reason())
                .unwrap_or("Done")
                .to_owned();
        }
    }
    .to_owned()
}

/// Notes that an operation may respond with `status` in this shape, in addition to those that it names itself.
fn may_refuse(operation: &mut Operation, status: StatusCode, shape: Shape) {
    let code = status.as_str();
    let answer = operation
        .responses
        .responses
        .entry(code.to_owned())
        .or_insert_with(|| ResponseBuilder::new().description(words(code)).build().into());
    if let RefOr::T(answer) = answer {
        add_shape(answer, shape);
    }
}

fn add_shape(answer: &mut Response, shape: Shape) {
    let entry = answer
        .content
        .entry(JSON.to_owned())
        .or_insert_with(|| Content::new(Some(shape.reference())).into());
    let RefOr::T(content) = entry else { return };
    let added = RefOr::<Schema>::from(shape.reference());
    content.schema = Some(match content.schema.take() {
        None => added,
        Some(known) if known == added => known,
        Some(RefOr::T(Schema::OneOf(mut shapes))) => {
            if !shapes.items.contains(&added) {
                shapes.items.push(added);
            }
            RefOr::T(Schema::OneOf(shapes))
        }
        Some(known) => RefOr::T(Schema::OneOf(both(known, added))),
    });
}

fn both(one: RefOr<Schema>, other: RefOr<Schema>) -> OneOf {
    OneOfBuilder::new().item(one).item(other).build()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::router::openapi;

    fn document() -> Value {
        serde_json::to_value(openapi()).expect("the description is JSON")
    }

    /// Every operation with its id.
    fn operations(document: &Value) -> Vec<(&str, &Value)> {
        let paths = document["paths"].as_object().expect("there are paths");
        paths
            .values()
            .flat_map(|path| path.as_object().expect("a path has operations").values())
            .map(|operation| {
                (
                    operation["operationId"].as_str().expect("it has an id"),
                    operation,
                )
            })
            .collect()
    }

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|inner| references(inner, found));
            }
            Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference
                .strip_prefix('#')
                .expect("references stay in the document");
            assert!(
                document.pointer(pointer).is_some(),
                "{reference} is not in the description"
            );
        }
    }

    #[test]
    fn every_operation_says_what_success_is_and_who_may_call_it() {
        let document = document();
        let schemes = document["components"]["securitySchemes"]
            .as_object()
            .expect("there are some");
        for (id, operation) in operations(&document) {
            let answers = operation["responses"].as_object().expect("it has answers");
            let refused = operation["deprecated"] == true;
            assert!(
                refused != answers.keys().any(|code| code.starts_with('2')),
                "{id}: one that is always refused is marked as deprecated, others can succeed"
            );
            for code in ["401", "403", "500", "503"] {
                assert!(answers.contains_key(code), "{id} has no {code}");
            }
            for (code, answer) in answers {
                assert!(
                    answer["description"]
                        .as_str()
                        .is_some_and(|text| !text.is_empty()),
                    "{id} {code}"
                );
            }
            let security = operation["security"].as_array().expect("somebody may call it");
            for requirement in security {
                for name in requirement.as_object().expect("names of schemes").keys() {
                    assert!(schemes.contains_key(name), "{id}: {name}");
                }
            }
        }
    }

    #[test]
    fn a_bad_body_and_a_refused_setting_have_different_shapes_and_both_are_described() {
        let document = document();
        let create = &document["paths"]["/api/assisted-install/v2/infra-envs"]["post"];
        let mut shapes = Vec::new();
        references(&create["responses"]["400"], &mut shapes);
        assert_eq!(
            shapes,
            ["#/components/schemas/ApiError", "#/components/schemas/InfraError"]
        );
    }
}
