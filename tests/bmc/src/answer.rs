//! Responses of a BMC before their serialization.

use serde_json::Value;

use crate::problem::Problem;

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Nothing,
    Json(Value),
    Problem(Problem),
}

impl Answer {
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content: Content::Nothing,
        }
    }

    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self {
            content: Content::Json(value),
            ..Self::empty(status)
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        let answer = Self {
            status: problem.status,
            headers: Vec::new(),
            content: Content::Problem(problem),
        };
        match answer.status {
            401 => answer.header("www-authenticate", "Basic realm=\"BMC\""),
            503 => answer.header("retry-after", "1"),
            _ => answer,
        }
    }
}

/// Changes every link of a resource.
pub(crate) fn map_links(value: &mut Value, map: &impl Fn(&str) -> String) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_link = matches!(
                    name.as_str(),
                    "@odata.id" | "target" | "@Redfish.ActionInfo" | "TaskMonitor"
                );
                match member {
                    Value::String(link) if is_link => *link = map(link),
                    other => map_links(other, map),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| map_links(item, map)),
        _ => {}
    }
}
