//! Reads the errors of Redfish (docs/protocol/redfish.md#2.7).

use std::fmt;

use serde_json::Value;

use crate::json;
use crate::text::clean;

/// Most messages of one response that are kept.
const MOST: usize = 8;

/// A response that refuses a request, or the messages of a failed task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status; 0 for a task.
    pub status: u16,
    pub messages: Vec<Message>,
}

/// One message of extended error information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The last dotted part of the MessageId, such as `PropertyUnknown`; empty when there is none.
    pub id: String,
    pub text: String,
    /// The JSON pointers (`#/TransferProtocolType`) and arguments that it names.
    pub about: Vec<String>,
    pub resolution: String,
}

impl Refusal {
    /// `body` is the JSON of the response; `text` is the raw response, for bodies without a known message.
    pub fn of(status: u16, body: &Value, text: &str) -> Self {
        let mut messages = messages(body);
        if messages.is_empty() {
            let said = json::text(body, "/error/message").or_else(|| json::text(body, "/message"));
            let id = json::raw(body, "/error/code").map_or_else(String::new, last_part);
            let said = said.unwrap_or_else(|| plain(text));
            if !said.is_empty() || !id.is_empty() {
                messages.push(Message {
                    id,
                    text: said,
                    ..Message::default()
                });
            }
        }
        Self { status, messages }
    }

    /// Like [`Refusal::of`], but redacts the texts of the response first, while they are complete: stored texts are cut.
    pub(crate) fn redacted(status: u16, body: &Value, text: &str, redact: &impl Fn(&str) -> String) -> Self {
        Self::of(status, &json::map_texts(body, redact), &redact(text))
    }

    pub fn has(&self, id: &str) -> bool {
        self.messages
            .iter()
            .any(|message| message.id.eq_ignore_ascii_case(id))
    }

    /// True when a message names a member, by pointer, argument or in its text.
    pub fn names(&self, member: &str) -> bool {
        self.messages.iter().any(|message| {
            message.text.contains(member) || message.about.iter().any(|about| about.contains(member))
        })
    }

    /// True when a message contains a text, in any case of letters.
    pub fn says(&self, text: &str) -> bool {
        self.messages
            .iter()
            .any(|message| message.text.to_lowercase().contains(text))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            0 => write!(f, "the task failed")?,
            status => write!(f, "HTTP {status}")?,
        }
        for message in &self.messages {
            let Message {
                id, text, resolution, ..
            } = message;
            let colon = if id.is_empty() || text.is_empty() {
                ""
            } else {
                ": "
            };
            write!(f, "; {id}{colon}{text}")?;
            if !resolution.is_empty() && resolution != "None" {
                write!(f, " ({resolution})")?;
            }
        }
        Ok(())
    }
}

/// The messages of extended information at its places: in `error`, at the top, or those of a task.
pub fn messages(body: &Value) -> Vec<Message> {
    let places = [
        "/error/@Message.ExtendedInfo",
        "/@Message.ExtendedInfo",
        "/Messages",
    ];
    let found = places.iter().map(|place| json::list(body, place));
    let found = found.flatten().take(MOST);
    found
        .map(|one| Message {
            id: json::raw(one, "/MessageId").map_or_else(String::new, last_part),
            text: json::text(one, "/Message").unwrap_or_default(),
            about: ["/RelatedProperties", "/MessageArgs"]
                .iter()
                .filter_map(|list| json::texts(one, list))
                .flatten()
                .collect(),
            resolution: json::text(one, "/Resolution").unwrap_or_default(),
        })
        .filter(|message| !message.id.is_empty() || !message.text.is_empty())
        .collect()
}

fn last_part(id: &str) -> String {
    clean(id.rsplit('.').next().unwrap_or_default())
}

/// An HTML page is of no use in an error.
fn plain(text: &str) -> String {
    match text.trim_start().starts_with('<') {
        true => String::new(),
        false => clean(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extended_information_is_read_at_each_place_and_in_each_form() {
        let message = json!({"MessageId": "Base.1.12.PropertyMissing", "Message": "It is missing.",
            "RelatedProperties": ["#/TransferProtocolType"], "MessageArgs": ["x"], "Resolution": "Add it."});
        for body in [
            json!({"error": {"@Message.ExtendedInfo": [message]}}),
            json!({"error": {"code": "Base.1.0.GeneralError", "@Message.ExtendedInfo": message}}),
            json!({"@Message.ExtendedInfo": [message]}),
        ] {
            let refusal = Refusal::of(400, &body, "");
            assert!(
                refusal.has("PropertyMissing") && refusal.names("TransferProtocolType"),
                "{body}"
            );
            assert_eq!(
                refusal.to_string(),
                "HTTP 400; PropertyMissing: It is missing. (Add it.)"
            );
        }
    }

    #[test]
    fn what_is_redacted_leaves_no_beginning_where_texts_are_cut() {
        let redact = |text: &str| text.replace("hunter2", "***");
        let long = format!("{} hunter2", "a".repeat(395));
        let body =
            json!({"@Message.ExtendedInfo": [{"MessageId": long, "Message": long, "MessageArgs": [long]}]});
        for refusal in [
            Refusal::redacted(400, &body, "", &redact),
            Refusal::redacted(400, &Value::Null, &long, &redact),
        ] {
            let told = format!("{refusal:?}");
            assert!(told.contains("aaa ***") && !told.contains("hun"), "{told}");
        }
    }

    #[test]
    fn answers_without_extended_information_are_told_too() {
        let general = json!({"error": {"code": "Base.1.0.GeneralError", "message": "Not\nnow"}});
        assert_eq!(
            Refusal::of(500, &general, "").to_string(),
            "HTTP 500; GeneralError: Not now"
        );
        assert_eq!(
            Refusal::of(400, &Value::Null, "Empty or malformed patch").to_string(),
            "HTTP 400; Empty or malformed patch"
        );
        assert_eq!(
            Refusal::of(502, &Value::Null, "<html>bad</html>").to_string(),
            "HTTP 502"
        );
        assert_eq!(
            Refusal::of(503, &json!({"error": null}), "").to_string(),
            "HTTP 503"
        );
    }
}
