//! The objects of a resource that a request selects.

use serde_json::Value;

use super::field_selector::FieldSelector;
use super::label_selector::LabelSelector;
use crate::error::{ApiError, Result};
use crate::object;
use crate::request::RequestInfo;
use crate::resources::Resource;

/// Namespace, label selector and field selector of a list or watch.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Empty for all namespaces.
    pub namespace: String,
    pub labels: LabelSelector,
    pub fields: FieldSelector,
}

impl Selection {
    /// Parses the selectors of a request.
    ///
    /// # Errors
    /// 400 for invalid selectors.
    pub fn of(request: &RequestInfo) -> Result<Self> {
        let labels = LabelSelector::parse(&request.options.label_selector)
            .map_err(|error| ApiError::bad_request(error.to_string()))?;
        let mut fields = request.options.field_selector.clone();
        if !request.name.is_empty() {
            // A watch of one object.
            let comma = if fields.is_empty() { "" } else { "," };
            fields = format!("metadata.name={}{comma}{fields}", request.name);
        }
        Ok(Self {
            namespace: request.namespace.clone(),
            labels,
            fields: FieldSelector::parse(&fields, &request.resource)?,
        })
    }

    /// True without selectors: all objects of the namespace match.
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// True when metadata does not suffice to decide whether an object matches.
    pub fn needs_content(&self) -> bool {
        self.fields.needs_content()
    }

    /// `object` is in the version that is served.
    pub fn matches(&self, object: &Value, resource: &Resource) -> bool {
        (self.namespace.is_empty() || self.namespace == object::namespace(object))
            && self.labels.matches(object::labels(object))
            && self.fields.matches(object, resource)
    }
}
