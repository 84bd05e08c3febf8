//! Parses the query of a request.

use http::Method;
use serde_json::Value;
use url::form_urlencoded;

use crate::error::{ApiError, FieldError, Result, Subject};
use crate::resources::table::IncludeObject;

/// The treatment of unknown fields (`fieldValidation`): dropped, dropped with a warning, refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString)]
pub enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// The treatment of dependents when their owner is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::EnumString)]
pub enum Propagation {
    /// Delete them afterwards.
    #[default]
    Background,
    /// Delete them first.
    Foreground,
    /// Keep them.
    Orphan,
}

impl Propagation {
    /// # Errors
    /// 422 for other values.
    pub fn parse(text: &str) -> Result<Self> {
        text.parse().map_err(|_| {
            let supported = ["Foreground", "Background", "Orphan", "nil"].map(Value::from);
            let error = FieldError::unsupported("propagationPolicy", &text.into(), &supported);
            invalid_options("DeleteOptions", &error)
        })
    }
}

/// The kind of the options of a request, for errors.
fn options_kind(method: &Method) -> &'static str {
    match *method {
        Method::POST => "CreateOptions",
        Method::PUT => "UpdateOptions",
        Method::PATCH => "PatchOptions",
        Method::DELETE => "DeleteOptions",
        _ => "ListOptions",
    }
}

/// 422 for an invalid option.
pub fn invalid_options(kind: &str, error: &FieldError) -> ApiError {
    let subject = Subject {
        group: "meta.k8s.io",
        word: kind,
    };
    ApiError::invalid(subject, "", std::slice::from_ref(error))
}

/// The options in the query of a request.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub label_selector: String,
    pub field_selector: String,
    /// 0 for none.
    pub limit: usize,
    pub continue_token: String,
    pub resource_version: String,
    pub resource_version_match: String,
    pub watch: bool,
    pub allow_bookmarks: bool,
    pub send_initial_events: Option<bool>,
    pub timeout_seconds: Option<u64>,
    /// `dryRun=All`
    pub dry_run: bool,
    pub field_manager: String,
    pub field_validation: FieldValidation,
    pub force: bool,
    pub propagation: Option<Propagation>,
    pub include_object: IncludeObject,
}

impl Options {
    /// # Errors
    /// 400 for malformed values, 422 for unsupported ones.
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
                "fieldValidation" if !value.is_empty() => {
                    let supported = ["", "Ignore", "Strict", "Warn"];
                    options.field_validation = value
                        .parse()
                        .map_err(|_| unsupported("fieldValidation", value.into(), &supported))?;
                }
                "force" => options.force = flag(value),
                "propagationPolicy" if !value.is_empty() => {
                    options.propagation = Some(Propagation::parse(value)?)
                }
                "includeObject" => options.include_object = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        Ok(options)
    }
}
