//! The errors that clients see: a `Status` with the code and reason of a Kubernetes API server.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

/// An error answer. Message, reason and code are those of a Kubernetes API server, because clients decide by
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: u16,
    /// `metav1.StatusReason`; empty when an API server gives none.
    reason: &'static str,
    message: String,
    details: Map<String, Value>,
}

pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// The resource or kind that an error names.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Plural of the resource; the kind in errors about content.
    pub word: &'a str,
}

impl Subject<'_> {
    fn qualified(self) -> String {
        match self.group {
            "" => self.word.to_owned(),
            group => format!("{}.{group}", self.word),
        }
    }

    fn details(self, name: &str) -> Map<String, Value> {
        let mut details = Map::new();
        let members = [("name", name), ("group", self.group), ("kind", self.word)];
        for (member, value) in members {
            if !value.is_empty() {
                details.insert(member.into(), value.into());
            }
        }
        details
    }
}

/// One invalid field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// Path such as `spec.conditions[0].type`.
    pub field: String,
    /// `metav1.CauseType`, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// Without the path.
    pub message: String,
}

impl FieldError {
    /// A required member is missing.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        Self {
            field: field.into(),
            reason: "FieldValueRequired",
            message,
        }
    }

    /// A value breaks a rule.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl std::fmt::Display) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {}: {detail}", shown(value)),
        }
    }

    /// A value has the wrong JSON type.
    pub fn wrong_type(field: impl Into<String>, value: &Value, detail: impl std::fmt::Display) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueTypeInvalid",
            message: format!(
                "Invalid value: {}: {detail}",
                shown(&Value::from(type_name(value)))
            ),
        }
    }

    /// A value is not in the list of supported ones.
    pub fn unsupported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Self {
        let supported: Vec<String> = supported.iter().map(shown).collect();
        Self {
            field: field.into(),
            reason: "FieldValueNotSupported",
            message: format!(
                "Unsupported value: {}: supported values: {}",
                shown(value),
                supported.join(", ")
            ),
        }
    }

    /// A value is not allowed here.
    pub fn forbidden(field: impl Into<String>, detail: impl std::fmt::Display) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {detail}"),
        }
    }

    /// An element occurs twice.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {}", shown(value)),
        }
    }

    /// A list has too many elements.
    pub fn too_many(field: impl Into<String>, actual: usize, most: usize) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueTooMany",
            message: format!("Too many: {actual}: must have at most {most} items"),
        }
    }

    /// A text has too many bytes.
    pub fn too_long(field: impl Into<String>, most: usize) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {most} bytes"),
        }
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.field.is_empty() {
            write!(f, "<nil>: {}", self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}

/// A value as messages show it: strings quoted, the rest as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

/// The name of a JSON type.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            reason,
            message: message.into(),
            details: Map::new(),
        }))
    }

    fn about(mut self, details: Map<String, Value>) -> Self {
        self.0.details = details;
        self
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: authentication failed.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the user is not authorized.
    pub fn not_allowed(user: &str, method: &str, path: &str) -> Self {
        let verb = method.to_lowercase();
        Self::new(
            403,
            "Forbidden",
            format!("forbidden: User {user:?} cannot {verb} path {path:?}"),
        )
    }

    /// 403: the operation is forbidden in the current state.
    pub fn forbidden(subject: Subject<'_>, name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", subject.qualified());
        Self::new(403, "Forbidden", message).about(subject.details(name))
    }

    pub fn not_found(subject: Subject<'_>, name: &str) -> Self {
        let message = format!("{} {name:?} not found", subject.qualified());
        Self::new(404, "NotFound", message).about(subject.details(name))
    }

    /// 404: no such path.
    pub fn no_such_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// 405: the resource does not offer the verb.
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// 406: none of the accepted media types is offered.
    pub fn not_acceptable() -> Self {
        Self::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, \
             application/json;as=Table;v=v1;g=meta.k8s.io, application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        )
    }

    /// 409: the name is taken.
    pub fn already_exists(subject: Subject<'_>, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", subject.qualified());
        Self::new(409, "AlreadyExists", message).about(subject.details(name))
    }

    /// 409: a precondition does not hold.
    pub fn conflict(subject: Subject<'_>, name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            subject.qualified()
        );
        Self::new(409, "Conflict", message).about(subject.details(name))
    }

    /// 409: another client wrote the object in between.
    pub fn modified_meanwhile(subject: Subject<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(subject, name, why)
    }

    /// 409: other managers own applied fields. `conflicts` are pairs of manager and field.
    pub fn apply_conflict(conflicts: &[(String, String)]) -> Self {
        let causes = conflicts.iter().map(|(manager, field)| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": field})
        });
        let causes: Vec<Value> = causes.collect();
        let mut by_manager: Vec<(&str, Vec<&str>)> = Vec::new();
        for (manager, field) in conflicts {
            match by_manager.iter_mut().find(|(known, _)| known == manager) {
                Some((_, fields)) => fields.push(field),
                None => by_manager.push((manager, vec![field])),
            }
        }
        let parts = by_manager
            .iter()
            .map(|(manager, fields)| match fields.as_slice() {
                [field] => format!("conflict with {manager}: {field}"),
                fields => format!("conflicts with {manager}:\n- {}", fields.join("\n- ")),
            });
        let parts: Vec<String> = parts.collect();
        let message = match conflicts {
            [_] => format!("Apply failed with 1 conflict: {}", parts.join("\n")),
            many => format!("Apply failed with {} conflicts: {}", many.len(), parts.join("\n")),
        };
        let details = Map::from_iter([("causes".to_owned(), Value::from(causes))]);
        Self::new(409, "Conflict", message).about(details)
    }

    /// 410: the requested revision was compacted.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 410 for a watch that starts before the compacted revision.
    pub fn too_old(requested: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {requested} ({oldest})"))
    }

    /// 504: a revision that does not exist yet.
    pub fn revision_too_large(requested: u64, current: u64) -> Self {
        let details = json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        });
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        let Value::Object(details) = details else {
            unreachable!("an object was written above")
        };
        Self::new(504, "Timeout", message).about(details)
    }

    /// 413: the body is too large.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 500 without a reason: the object is too large to be stored. A server in front of etcd answers the
    /// same.
    pub fn object_too_large() -> Self {
        Self::new(500, "", "etcdserver: request is too large")
    }

    /// 500 without a reason: `metadata.resourceVersion` is set in an object to be created.
    pub fn revision_on_create() -> Self {
        Self::new(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        )
    }

    /// 500 without a reason: an applied configuration has undeclared fields. A Kubernetes API server answers
    /// the same.
    pub fn not_declared(name: &str, api_version: &str, kind: &str, fields: &[String]) -> Self {
        let fields: Vec<String> = fields
            .iter()
            .map(|field| format!(".{field}: field not declared in schema"))
            .collect();
        let fields = fields.join(", ");
        let message =
            format!("failed to create typed patch object (/{name}; {api_version}, Kind={kind}): {fields}");
        Self::new(500, "", message)
    }

    /// 422 without details: a JSON patch does not apply to the object.
    pub fn inapplicable_patch() -> Self {
        Self::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
    }

    /// 413: a JSON patch has too many operations.
    pub fn too_many_operations(most: usize, operations: usize) -> Self {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {most}, got {operations}"
        );
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 422: the `copy` operations of a JSON patch copy too much.
    pub fn copies_too_much(bytes: usize, most: usize) -> Self {
        let message = format!(
            "Unable to complete the copy, the accumulated size increase of copy is {bytes}, exceeding the limit {most}"
        );
        Self::new(422, "Invalid", message)
    }

    /// 415: the media type of the body is not supported.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422: the content is invalid. `subject.word` is the kind.
    pub fn invalid(subject: Subject<'_>, name: &str, errors: &[FieldError]) -> Self {
        let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
        let all = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let causes = errors
            .iter()
            .map(|error| json!({"reason": error.reason, "message": error.message, "field": error.field}));
        let mut details = subject.details(name);
        details.insert("causes".into(), causes.collect());
        let message = format!("{} {name:?} is invalid: {all}", subject.qualified());
        Self::new(422, "Invalid", message).about(details)
    }

    /// 500: an error of the server. The cause is logged and not shown to the client.
    pub fn internal(what: &str, cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "{what}");
        Self::new(500, "InternalError", format!("Internal error occurred: {what}"))
    }

    /// 503: the database does not respond.
    pub fn unavailable() -> Self {
        Self::new(
            503,
            "ServiceUnavailable",
            "the database does not answer; try again",
        )
    }

    pub fn code(&self) -> u16 {
        self.0.code
    }

    /// `metav1.StatusReason`.
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.0.message,
            "code": self.0.code,
        });
        if !self.0.reason.is_empty() {
            status["reason"] = self.0.reason.into();
        }
        if !self.0.details.is_empty() {
            status["details"] = self.0.details.clone().into();
        }
        status
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.0.message, self.0.code)
    }
}

impl std::error::Error for ApiError {}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.status().to_string()));
        *response.status_mut() =
            StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if matches!(self.0.code, 503 | 504) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
