//! What a request asks for: path and query, taken apart.

use http::{HeaderMap, Method, header};
use serde_json::Value;
use url::form_urlencoded;

use crate::error::{ApiError, FieldError, Result, Subject};
use crate::table::IncludeObject;

/// Who asks. Put into a request's extensions by whoever authenticates; without it the caller is an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// User name.
    pub name: String,
    /// Id of the user, if there is one.
    pub uid: String,
    /// Groups of the user.
    pub groups: Vec<String>,
}

impl Caller {
    /// Somebody who may do everything.
    pub fn administrator() -> Self {
        Self {
            name: "system:admin".into(),
            uid: String::new(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }
}

/// The object or objects that a path names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// API group; empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Namespace, if the path has one.
    pub namespace: Option<String>,
    /// Resource.
    pub plural: String,
    /// Object, if the path has one.
    pub name: Option<String>,
    /// `status`, `scale`, ...
    pub subresource: Option<String>,
}

impl Target {
    /// Reads a path below `/api/v1` or `/apis/GROUP/VERSION`; nothing if it names no resource.
    pub fn parse(path: &str) -> Option<Self> {
        let decode = |part: &str| -> String {
            // A plus is itself in paths.
            let escaped = part.replace('+', "%2B");
            let pair = format!("p={escaped}");
            form_urlencoded::parse(pair.as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        let parts: Vec<String> = path.trim_matches('/').split('/').map(decode).collect();
        let mut parts = parts.into_iter();
        let group = match parts.next()?.as_str() {
            "api" => String::new(),
            "apis" => parts.next()?,
            _ => return None,
        };
        let mut target = Self {
            group,
            version: parts.next()?,
            ..Self::default()
        };
        let rest: Vec<String> = parts.collect();
        let mut rest = rest.as_slice();
        // Subresources of the namespace itself.
        let of_namespace = rest.len() == 3 && matches!(rest[2].as_str(), "status" | "finalize");
        if rest.len() > 2 && rest[0] == "namespaces" && !(target.group.is_empty() && of_namespace) {
            target.namespace = Some(rest[1].clone());
            rest = &rest[2..];
        }
        let (plural, rest) = rest.split_first().filter(|(plural, _)| !plural.is_empty())?;
        target.plural = plural.clone();
        let mut rest = rest.iter().cloned();
        target.name = rest.next();
        target.subresource = rest.next();
        rest.next().is_none().then_some(target)
    }
}

/// How strictly unknown members are taken (`fieldValidation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Dropped in silence.
    Ignore,
    /// Dropped with a warning.
    #[default]
    Warn,
    /// Refused.
    Strict,
}

/// What happens to objects that the deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// Deleted afterwards.
    #[default]
    Background,
    /// Deleted first.
    Foreground,
    /// Kept.
    Orphan,
}

impl Propagation {
    /// Reads `propagationPolicy`.
    ///
    /// # Errors
    /// 422 for another word.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "Background" => Ok(Self::Background),
            "Foreground" => Ok(Self::Foreground),
            "Orphan" => Ok(Self::Orphan),
            other => {
                let supported = ["Foreground", "Background", "Orphan", "nil"].map(Value::from);
                let error = FieldError::unsupported("propagationPolicy", &other.into(), &supported);
                Err(invalid_options("DeleteOptions", &error))
            }
        }
    }
}

/// How the options of a request are called.
fn options_kind(method: &Method) -> &'static str {
    match *method {
        Method::POST => "CreateOptions",
        Method::PUT => "UpdateOptions",
        Method::PATCH => "PatchOptions",
        Method::DELETE => "DeleteOptions",
        _ => "ListOptions",
    }
}

/// 422 for an option that cannot be.
pub fn invalid_options(kind: &str, error: &FieldError) -> ApiError {
    let subject = Subject {
        group: "meta.k8s.io",
        word: kind,
    };
    ApiError::invalid(subject, "", std::slice::from_ref(error))
}

/// The query of a request.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `labelSelector`
    pub label_selector: String,
    /// `fieldSelector`
    pub field_selector: String,
    /// `limit`; 0 is none.
    pub limit: usize,
    /// `continue`
    pub continue_token: String,
    /// `resourceVersion`
    pub resource_version: String,
    /// `resourceVersionMatch`
    pub resource_version_match: String,
    /// `watch`
    pub watch: bool,
    /// `allowWatchBookmarks`
    pub allow_bookmarks: bool,
    /// `sendInitialEvents`
    pub send_initial_events: Option<bool>,
    /// `timeoutSeconds`
    pub timeout_seconds: Option<u64>,
    /// `dryRun=All`
    pub dry_run: bool,
    /// `fieldManager`
    pub field_manager: String,
    /// `fieldValidation`
    pub field_validation: FieldValidation,
    /// `force`
    pub force: bool,
    /// `propagationPolicy`
    pub propagation: Option<Propagation>,
    /// `includeObject`
    pub include_object: IncludeObject,
}

impl Options {
    /// Reads a query.
    ///
    /// # Errors
    /// 400 for values that cannot be read, 422 for such that are not offered.
    pub fn parse(query: &str, method: &Method) -> Result<Self> {
        let mut options = Self::default();
        let kind = options_kind(method);
        let unsupported = |field: &str, value: Value, supported: &[&str]| {
            let supported: Vec<Value> = supported.iter().map(|word| (*word).into()).collect();
            invalid_options(kind, &FieldError::unsupported(field, &value, &supported))
        };
        let flag = |value: &str| !matches!(value, "false" | "0");
        let number = |name: &str, value: &str| {
            value.parse::<u64>().map_err(|_| {
                ApiError::bad_request(format!("{name}: {value:?} is not a number that can be used here"))
            })
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = &*value;
            match &*name {
                "labelSelector" => options.label_selector = value.to_owned(),
                "fieldSelector" => options.field_selector = value.to_owned(),
                "limit" if !value.is_empty() => {
                    options.limit = usize::try_from(number("limit", value)?).unwrap_or(usize::MAX)
                }
                "continue" => options.continue_token = value.to_owned(),
                "resourceVersion" => options.resource_version = value.to_owned(),
                "resourceVersionMatch" => options.resource_version_match = value.to_owned(),
                "watch" => options.watch = flag(value),
                "allowWatchBookmarks" => options.allow_bookmarks = flag(value),
                "sendInitialEvents" => options.send_initial_events = Some(flag(value)),
                "timeoutSeconds" if !value.is_empty() => {
                    options.timeout_seconds = Some(number("timeoutSeconds", value)?)
                }
                "dryRun" => match value {
                    "All" => options.dry_run = true,
                    "" => {}
                    _ => return Err(unsupported("dryRun", vec![value].into(), &["All"])),
                },
                "fieldManager" => options.field_manager = value.to_owned(),
                "fieldValidation" => {
                    options.field_validation = match value {
                        "Ignore" => FieldValidation::Ignore,
                        "Warn" | "" => FieldValidation::Warn,
                        "Strict" => FieldValidation::Strict,
                        _ => {
                            return Err(unsupported(
                                "fieldValidation",
                                value.into(),
                                &["", "Ignore", "Strict", "Warn"],
                            ));
                        }
                    }
                }
                "force" => options.force = flag(value),
                "propagationPolicy" if !value.is_empty() => {
                    options.propagation = Some(Propagation::parse(value)?)
                }
                "includeObject" => {
                    options.include_object = match value {
                        "None" => IncludeObject::None,
                        "Object" => IncludeObject::Object,
                        _ => IncludeObject::Metadata,
                    }
                }
                _ => {}
            }
        }
        Ok(options)
    }
}

/// Who wrote, for managed fields: what the query says, else the program's name in `User-Agent`.
pub fn field_manager(options: &Options, headers: &HeaderMap) -> String {
    if !options.field_manager.is_empty() {
        return options.field_manager.clone();
    }
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or("unknown");
    let program = agent.split('/').next().unwrap_or_default();
    if program.is_empty() {
        "unknown".to_owned()
    } else {
        program.chars().take(128).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_resources_in_and_out_of_namespaces() {
        let target = |group: &str,
                      version: &str,
                      namespace: Option<&str>,
                      plural: &str,
                      name: Option<&str>,
                      subresource: Option<&str>| {
            let text = |part: Option<&str>| part.map(str::to_owned);
            Some(Target {
                group: group.into(),
                version: version.into(),
                namespace: text(namespace),
                plural: plural.into(),
                name: text(name),
                subresource: text(subresource),
            })
        };
        let cases = [
            (
                "/api/v1/namespaces",
                target("", "v1", None, "namespaces", None, None),
            ),
            (
                "/api/v1/namespaces/a",
                target("", "v1", None, "namespaces", Some("a"), None),
            ),
            (
                "/api/v1/namespaces/a/finalize",
                target("", "v1", None, "namespaces", Some("a"), Some("finalize")),
            ),
            (
                "/api/v1/namespaces/a/secrets",
                target("", "v1", Some("a"), "secrets", None, None),
            ),
            ("/api/v1/secrets", target("", "v1", None, "secrets", None, None)),
            (
                "/apis/g.io/v1b/namespaces/a/things/b/status",
                target("g.io", "v1b", Some("a"), "things", Some("b"), Some("status")),
            ),
            (
                "/apis/g.io/v1b/things/b%20c+d",
                target("g.io", "v1b", None, "things", Some("b c+d"), None),
            ),
            ("/apis/g.io/v1b", None),
            ("/apis/g.io/v1b/a/b/c/d", None),
            ("/healthz", None),
        ];
        for (path, expected) in cases {
            assert_eq!(Target::parse(path), expected, "{path}");
        }
    }
}
