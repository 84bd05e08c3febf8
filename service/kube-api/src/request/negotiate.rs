//! Negotiates the media type of answers, and reads that of bodies.

use http::{HeaderMap, header};

use crate::error::{ApiError, Result};

/// The form of a response: the object, or a view of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The object itself.
    Whole,
    /// `as=Table`
    Table,
    /// `as=PartialObjectMetadata` and its list
    Metadata,
    /// `as=APIGroupDiscoveryList` of this version (`v2`, `v2beta1`)
    Discovery(&'static str),
}

/// The media type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub view: View,
    /// True for YAML, false for JSON.
    pub yaml: bool,
}

/// The first accepted media type that is offered.
///
/// # Errors
/// 406 when none is offered.
pub fn form(headers: &HeaderMap) -> Result<Form> {
    let accepted: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok())
        .collect();
    let plain = Form {
        view: View::Whole,
        yaml: false,
    };
    if accepted.iter().all(|accept| accept.trim().is_empty()) {
        return Ok(plain);
    }
    let ranges = accepted.iter().flat_map(|accept| accept.split(','));
    ranges
        .filter_map(offered)
        .next()
        .ok_or_else(ApiError::not_acceptable)
}

fn offered(range: &str) -> Option<Form> {
    let mut parts = range.split(';').map(str::trim);
    let yaml = match parts.next()? {
        "application/json" | "*/*" | "application/*" => false,
        "application/yaml" => true,
        _ => return None,
    };
    let (mut kind, mut group, mut version) = ("", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            _ => {}
        }
    }
    let view = match (kind, group, version) {
        ("", ..) => View::Whole,
        ("Table", "meta.k8s.io", "v1") => View::Table,
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => View::Metadata,
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => View::Discovery("v2"),
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => View::Discovery("v2beta1"),
        _ => return None,
    };
    Some(Form { view, yaml })
}

/// The media type of the body, without parameters; JSON if the header is missing.
pub fn content_type(headers: &HeaderMap) -> &str {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    match text.split(';').next().unwrap_or_default().trim() {
        "" => "application/json",
        media_type => media_type,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(accept: &str) -> Option<(View, bool)> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        form(&headers).ok().map(|form| (form.view, form.yaml))
    }

    #[test]
    fn the_first_form_that_is_offered_is_taken() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(of(table), Some((View::Table, false)));
        assert_eq!(
            of("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"),
            Some((View::Whole, false))
        );
        assert_eq!(
            of("application/vnd.kubernetes.protobuf, */*"),
            Some((View::Whole, false))
        );
        assert_eq!(of("application/yaml"), Some((View::Whole, true)));
        assert_eq!(of("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(
            of("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"),
            Some((View::Discovery("v2"), false))
        );
    }
}
