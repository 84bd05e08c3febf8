//! Checks the members of a rule other than its expressions. Source: `k8s.io/apiextensions-apiserver` 0.34 `validation.go`.

use serde_json::Value;

use super::rules::{Compiler, Place, Sort};

impl Compiler {
    pub(super) fn old_self(&mut self, document: &kube_cel::Rule, is_used: bool, place: &Place, path: &str) {
        if let (true, Some(within)) = (is_used, &place.uncorrelated) {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            self.fault(format!("{path}.rule"), Sort::Invalid, detail);
        }
        if !is_used && document.optional_old_self.is_some() {
            let detail = "may not be set if oldSelf is not used in rule";
            self.fault(format!("{path}.optionalOldSelf"), Sort::Invalid, detail);
        }
    }

    /// Checks the members of a rule other than its expressions; false when the expressions need not be checked.
    pub(super) fn form(&mut self, document: &kube_cel::Rule, schema: &Value, path: &str) -> bool {
        let before = self.faults.len();
        let has_lines = |text: &str| text.contains(['\n', '\r']);
        let message = document.message.as_deref().unwrap_or_default();
        let rule = document.rule.trim();
        if rule.is_empty() {
            self.fault(format!("{path}.rule"), Sort::Required, "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            self.fault(
                format!("{path}.message"),
                Sort::Invalid,
                "must be non-empty if specified",
            );
        } else if has_lines(message.trim()) {
            self.fault(
                format!("{path}.message"),
                Sort::Invalid,
                "must not contain line breaks",
            );
        } else if has_lines(rule) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            self.fault(format!("{path}.message"), Sort::Required, detail);
        }
        if document
            .message_expression
            .as_deref()
            .is_some_and(|text| !text.is_empty() && text.trim().is_empty())
        {
            let detail = "messageExpression must be non-empty if specified";
            self.fault(format!("{path}.messageExpression"), Sort::Required, detail);
        }
        let reasons = [
            "FieldValueInvalid",
            "FieldValueForbidden",
            "FieldValueRequired",
            "FieldValueDuplicate",
        ];
        if let Some(reason) = document
            .reason
            .as_deref()
            .filter(|reason| !reasons.contains(reason))
        {
            let detail = format!(
                "Unsupported value: {reason:?}: supported values: {}",
                reasons.join(", ")
            );
            self.fault(format!("{path}.reason"), Sort::Invalid, detail);
        }
        if let Some(field) = document.field_path.as_deref().filter(|field| !field.is_empty())
            && !leads_somewhere(schema, field.trim())
        {
            self.fault(format!("{path}.fieldPath"), Sort::Invalid, "must be a valid path");
        }
        self.faults.len() == before
    }
}

/// True when the schema has what a path such as `.a.b['c.d']` names.
fn leads_somewhere(schema: &Value, path: &str) -> bool {
    let mut rest = path;
    let mut node = schema;
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let name;
        if let Some(quoted) = rest.strip_prefix("['") {
            let Some((inner, after)) = quoted.split_once("']") else {
                return false;
            };
            (name, rest) = (inner, after);
        } else if let Some(plain) = rest.strip_prefix('.') {
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            (name, rest) = plain.split_at(end);
        } else {
            return false;
        }
        let child = node["properties"].get(name);
        let Some(child) = child.or_else(|| node.get("additionalProperties").filter(|all| all.is_object()))
        else {
            return false;
        };
        node = child;
    }
    true
}
