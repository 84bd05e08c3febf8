//! Errors of a BMC, in the BMCs' forms (docs/protocol/redfish.md#2.7).

use serde_json::{Value, json};

use crate::quirks::{ErrorShape, Quirks};

/// The reason for a refused request.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    /// Without its registry: `PropertyUnknown`.
    message_id: String,
    message: String,
    /// `#/TransferProtocolType`.
    related: Vec<String>,
}

impl Problem {
    pub(crate) fn new(status: u16, message_id: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            message_id: message_id.to_owned(),
            message: message.into(),
            related: Vec::new(),
        }
    }

    pub(crate) fn related(mut self, property: &str) -> Self {
        self.related.push(format!("#/{property}"));
        self
    }

    pub(crate) fn not_found(path: &str) -> Self {
        let message = format!("The requested resource {path} was not found.");
        Self::new(404, "ResourceMissingAtURI", message)
    }

    pub(crate) fn malformed() -> Self {
        Self::new(
            400,
            "MalformedJSON",
            "The request body submitted was malformed JSON.",
        )
    }

    pub(crate) fn unknown_property(name: &str) -> Self {
        let message = format!("The property {name} is not in the list of valid properties for the resource.");
        Self::new(400, "PropertyUnknown", message).related(name)
    }

    pub(crate) fn missing_parameter(action: &str, name: &str) -> Self {
        let message = format!("The action {action} requires the parameter {name} to be present.");
        Self::new(400, "ActionParameterMissing", message).related(name)
    }

    pub(crate) fn missing_property(name: &str) -> Self {
        let message =
            format!("The property {name} is a required property and must be included in the request.");
        Self::new(400, "PropertyMissing", message).related(name)
    }

    pub(crate) fn value_not_in_list(name: &str, value: &Value) -> Self {
        let message =
            format!("The value {value} for the property {name} is not in the list of acceptable values.");
        Self::new(400, "PropertyValueNotInList", message).related(name)
    }

    /// The body and its content type.
    pub(crate) fn body(&self, quirks: &Quirks) -> (Vec<u8>, &'static str) {
        let id = format!("{}.{}", quirks.product.registry, self.message_id);
        let info = json!({
            "@odata.type": "#Message.v1_1_1.Message",
            "MessageId": id,
            "Message": self.message,
            "MessageArgs": [],
            "RelatedProperties": self.related,
            "Severity": "Critical",
            "Resolution": "None.",
        });
        let general = "A general error has occurred. See ExtendedInfo for more information.";
        let value = match quirks.error_shape {
            ErrorShape::List => json!({"error": {
                "code": format!("{}.GeneralError", quirks.product.registry), "message": general,
                "@Message.ExtendedInfo": [info],
            }}),
            ErrorShape::Single => json!({"error": {
                "code": format!("{}.GeneralError", quirks.product.registry), "message": general,
                "@Message.ExtendedInfo": info,
            }}),
            ErrorShape::TopLevel => json!({"@Message.ExtendedInfo": [info]}),
            ErrorShape::NoCode => json!({"error": {"message": general, "@Message.ExtendedInfo": [info]}}),
            ErrorShape::PlainText => return (format!("{}\n", self.message).into_bytes(), "text/plain"),
            ErrorShape::Html => {
                let page = format!(
                    "<html><body><h1>{}</h1><p>{}</p></body></html>",
                    self.status, self.message
                );
                return (page.into_bytes(), "text/html");
            }
        };
        (value.to_string().into_bytes(), "application/json")
    }
}
