//! Refuses with a status that the field's specification declares for the operation: clients that are generated from it
//! show the reason of declared statuses only.
//!
//! Refusals of the gate and of the readers of parameters and bodies (the other shape) have the same statuses for every operation.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use muster_http::Problem;

/// The operations of the field with their statuses.
const OPERATIONS: &str = include_str!("../../../../docs/protocol/rest-endpoints.tsv");

/// Part of a path of the API before the paths of the table.
const BEFORE: &str = "/api/assisted-install";

/// Statuses that the field's service returns although its specification does not declare them; clients know it by them:
/// docs/protocol/rest-behaviour.md#5, §6, and for a DELETE the recorded conversation (`tests/wire`).
const FIELDS_OWN: [(&str, StatusCode); 5] = [
    ("v2ListHosts", StatusCode::NOT_FOUND),
    ("DeregisterInfraEnv", StatusCode::BAD_REQUEST),
    ("TransformClusterToAddingHosts", StatusCode::BAD_REQUEST),
    ("TransformClusterToDay2", StatusCode::BAD_REQUEST),
    ("v2GetClusterInstallConfig", StatusCode::BAD_REQUEST),
];

/// The row of one operation.
struct Operation {
    id: &'static str,
    statuses: Vec<StatusCode>,
}

type Table = HashMap<(&'static str, &'static str), Operation>;

static TABLE: LazyLock<Table> = LazyLock::new(|| OPERATIONS.lines().skip(1).filter_map(row).collect());

fn row(line: &'static str) -> Option<((&'static str, &'static str), Operation)> {
    let mut columns = line.split('\t');
    let (method, path, id) = (columns.next()?, columns.next()?, columns.next()?);
    let answers = columns.nth(6)?;
    let code = |answer: &str| answer.trim().split(':').next()?.parse().ok();
    let statuses = answers.split(';').filter_map(code).collect();
    Some(((method, path), Operation { id, statuses }))
}

impl Operation {
    fn may_answer(&self, status: StatusCode) -> bool {
        self.statuses.contains(&status) || FIELDS_OWN.contains(&(self.id, status))
    }

    /// `status`, or the nearest declared one: a state that forbids something is a request that cannot be accepted
    /// now, else a method that is not allowed now, else an object that does not exist now.
    fn declared(&self, status: StatusCode) -> StatusCode {
        let instead: &[StatusCode] = match status {
            StatusCode::CONFLICT => &[
                StatusCode::BAD_REQUEST,
                StatusCode::METHOD_NOT_ALLOWED,
                StatusCode::NOT_FOUND,
            ],
            StatusCode::BAD_REQUEST => &[
                StatusCode::CONFLICT,
                StatusCode::METHOD_NOT_ALLOWED,
                StatusCode::NOT_FOUND,
            ],
            _ => &[],
        };
        if self.may_answer(status) {
            return status;
        }
        let found = instead.iter().copied().find(|status| self.may_answer(*status));
        found.unwrap_or(status)
    }
}

/// The status that an operation returns in place of `status`. `path`: from `/v2` on. Operations that the field does not have
/// return any status.
pub fn declared(method: &str, path: &str, status: StatusCode) -> StatusCode {
    let found = TABLE.iter().find(|((m, p), _)| *m == method && *p == path);
    found.map_or(status, |(_, operation)| operation.declared(status))
}

/// The methods of a path, for `Allow`.
fn methods(path: &str) -> String {
    let known = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ];
    let named = known.iter().map(Method::as_str);
    let of_path: Vec<&str> = named
        .filter(|method| TABLE.keys().any(|(m, p)| m == method && *p == path))
        .collect();
    of_path.join(",")
}

/// Middleware: gives the refusals of handlers a declared status. The message stays.
pub async fn declared_only(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref other => other.clone(),
    };
    let response = next.run(request).await;
    let (Some(Problem::Handler(status, reason)), Some(path)) = (response.extensions().get::<Problem>(), path)
    else {
        return response;
    };
    let path = path.as_str().strip_prefix(BEFORE).unwrap_or_default();
    let instead = declared(method.as_str(), path, *status);
    if instead == *status {
        return response;
    }
    let mut told = Problem::Handler(instead, reason.clone()).into_response();
    if instead == StatusCode::METHOD_NOT_ALLOWED
        && let Ok(allow) = HeaderValue::from_str(&methods(path))
    {
        told.headers_mut().insert(header::ALLOW, allow);
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::router::openapi;

    #[test]
    fn no_operation_of_the_field_refuses_with_a_status_that_its_specification_does_not_declare() {
        let document = serde_json::to_value(openapi()).unwrap();
        let mut seen = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            let Some(path) = path.strip_prefix(BEFORE) else {
                continue;
            };
            for (method, operation) in item.as_object().unwrap() {
                let method = method.to_uppercase();
                let Some((_, known)) = TABLE.iter().find(|((m, p), _)| *m == method && *p == path) else {
                    assert!(
                        !TABLE.values().any(|known| operation["operationId"] == known.id),
                        "{method} {path} has another path in the field"
                    );
                    continue;
                };
                let id = operation["operationId"].as_str().unwrap();
                assert!(
                    id.eq_ignore_ascii_case(known.id),
                    "{id} is {} in the field",
                    known.id
                );
                seen += 1;
                for (code, answer) in operation["responses"].as_object().unwrap() {
                    if !of_handler(answer) {
                        continue;
                    }
                    let status: StatusCode = code.parse().unwrap();
                    assert!(
                        !status.is_client_error() || known.may_answer(status),
                        "{} is described with {status}",
                        known.id
                    );
                }
                for status in [StatusCode::BAD_REQUEST, StatusCode::CONFLICT] {
                    let told = declared(&method, path, status);
                    let cannot = [400, 404, 405, 409].iter().all(|code| {
                        let code = StatusCode::from_u16(*code).unwrap();
                        !known.statuses.contains(&code)
                    });
                    assert!(known.may_answer(told) || cannot, "{} answers {told}", known.id);
                }
            }
        }
        assert_eq!(
            seen,
            TABLE.len(),
            "every operation of the field is in the description"
        );
    }

    /// True if a handler made this response, by the shape of its body.
    fn of_handler(answer: &Value) -> bool {
        answer.to_string().contains("#/components/schemas/ApiError")
    }

    #[test]
    fn a_refusal_without_a_declared_conflict_says_its_reason_with_another_status() {
        let conflict = |method, path| declared(method, path, StatusCode::CONFLICT).as_u16();
        assert_eq!(conflict("POST", "/v2/clusters"), 400);
        assert_eq!(
            conflict(
                "POST",
                "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/bind"
            ),
            400
        );
        assert_eq!(
            conflict("PUT", "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/progress"),
            405
        );
        assert_eq!(
            conflict("GET", "/v2/clusters/{cluster_id}/supported-platforms"),
            404
        );
        assert_eq!(conflict("DELETE", "/v2/clusters/{cluster_id}"), 409);
        assert_eq!(methods("/v2/clusters/{cluster_id}"), "GET,PATCH,DELETE");
    }
}
