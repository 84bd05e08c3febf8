//! Writes hosts as JSON. Inventories and connectivity reports are most of a list: their texts are copied into the response without the
//! serializer.

use std::collections::VecDeque;
use std::mem;

use muster_api::host::Host as HostView;
use serde_json::Result;

/// The placeholder of a text while the rest of the host is serialized. In texts the quotes are escaped, so it is found nowhere else.
const INVENTORY: &str = "\"inventory\":\"?\"";
const CONNECTIVITY: &str = "\"connectivity\":\"?\"";

/// Length of the quotes and the text between them.
const PLACEHOLDER: usize = 3;

/// A host as JSON that is written a part at a time: an inventory may have megabytes, and a whole copy would double them.
#[derive(Debug)]
pub struct HostText {
    parts: VecDeque<Part>,
}

#[derive(Debug)]
enum Part {
    /// JSON text.
    Plain(String),
    /// The content of a JSON string without control characters, and the number of its bytes that are written already.
    Escaped(String, usize),
}

impl HostText {
    /// Takes `host` apart, so that its parts together are the text of [`serde_json::to_writer`].
    ///
    /// # Errors
    /// Fails if the host cannot be serialized.
    pub fn of(mut host: HostView) -> Result<Self> {
        let inventory = take(&mut host.inventory);
        let connectivity = take(&mut host.connectivity);
        let rest = serde_json::to_string(&host)?;
        // In the order of the fields. The text after the inventory is short, so both are searched from the end.
        let (head, tail) = around(&rest, INVENTORY, !inventory.is_empty());
        let (before, between) = around(head, CONNECTIVITY, !connectivity.is_empty());
        let mut parts = VecDeque::new();
        for (plain, text) in [(before, connectivity), (between, inventory)] {
            parts.push_back(Part::Plain(plain.to_owned()));
            if !text.is_empty() {
                push_string(&mut parts, text)?;
            }
        }
        parts.push_back(Part::Plain(tail.to_owned()));
        Ok(Self { parts })
    }

    /// Puts a comma before it.
    pub fn follow_another(&mut self) {
        self.parts.push_front(Part::Plain(",".to_owned()));
    }

    /// Appends the next part to `text`, until `text` has some `most` bytes; true once the host is written whole.
    pub fn write(&mut self, text: &mut Vec<u8>, most: usize) -> bool {
        while let Some(part) = self.parts.front_mut() {
            match part {
                Part::Plain(plain) => text.extend_from_slice(plain.as_bytes()),
                Part::Escaped(value, written) => {
                    let room = most.saturating_sub(text.len()).max(1);
                    let next = &value.as_bytes()[*written..];
                    let next = &next[..room.min(next.len())];
                    escape(text, next);
                    *written += next.len();
                    if *written < value.len() {
                        return false;
                    }
                }
            }
            self.parts.pop_front();
        }
        true
    }
}

/// Puts a placeholder in the place of a text, unless it is empty.
fn take(field: &mut String) -> String {
    let placeholder = if field.is_empty() { "" } else { "?" };
    mem::replace(field, placeholder.to_owned())
}

/// Splits a text before and after the placeholder of a field; without one, everything is before it.
fn around<'a>(text: &'a str, field: &str, is_there: bool) -> (&'a str, &'a str) {
    match text.rfind(field).filter(|_| is_there) {
        Some(at) => {
            let end = at + field.len();
            (&text[..end - PLACEHOLDER], &text[end..])
        }
        None => (text, ""),
    }
}

/// A JSON string. JSON text has no control characters; another text is escaped by the serializer.
fn push_string(parts: &mut VecDeque<Part>, value: String) -> Result<()> {
    if value.bytes().any(|byte| byte < b' ') {
        parts.push_back(Part::Plain(serde_json::to_string(&value)?));
        return Ok(());
    }
    let quote = || Part::Plain("\"".to_owned());
    parts.extend([quote(), Part::Escaped(value, 0), quote()]);
    Ok(())
}

/// Appends the content of a JSON string. Quotes are frequent, so bytes are copied one by one, without a branch.
fn escape(text: &mut Vec<u8>, value: &[u8]) {
    let start = text.len();
    // One more than the content can have: each byte is written before it is known whether it is the last.
    text.resize(start + 2 * value.len() + 1, 0);
    let (room, mut at) = (&mut text[start..], 0);
    for &byte in value {
        room[at] = b'\\';
        at += usize::from(byte == b'"' || byte == b'\\');
        room[at] = byte;
        at += 1;
    }
    text.truncate(start + at);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn example() -> HostView {
        let host = json!({
            "kind": "Host", "id": "6b0b1f2a-5a0e-4d3c-9a55-0c3d3f3b2a11", "href": "/hosts/1",
            "infra_env_id": "6b0b1f2a-5a0e-4d3c-9a55-0c3d3f3b2a12", "status": "known", "status_info": "", "status_updated_at": "t",
            "logs_collected_at": "t", "logs_started_at": "t", "progress_stages": null, "stage_started_at": "t", "stage_updated_at": "t",
            "role": "worker", "checked_in_at": "t", "registered_at": "t", "created_at": "t", "updated_at": "t", "deleted_at": null,
            "user_name": "admin",
        });
        serde_json::from_value(host).unwrap()
    }

    #[test]
    fn a_host_is_written_as_the_serializer_writes_it() {
        let json = r#"{"a":"b\\c \"d\"","e":"ä€😀","f":"\u0001"}"#;
        for inventory in [
            "",
            "{}",
            json,
            "{\n\t\"a\": 1}",
            "\u{1}",
            "?",
            "\"inventory\":\"?\"",
        ] {
            for connectivity in ["", "{}", json, INVENTORY, CONNECTIVITY] {
                let host = HostView {
                    inventory: inventory.into(),
                    connectivity: connectivity.into(),
                    status_info: Some(format!("{INVENTORY} {CONNECTIVITY} {json}")),
                    disks_info: INVENTORY.into(),
                    ..example()
                };
                let wanted = format!("[{}", serde_json::to_string(&host).unwrap());
                for most in [1, 7, 1 << 16] {
                    let mut host = HostText::of(host.clone()).unwrap();
                    let (mut whole, mut is_over) = (b"[".to_vec(), false);
                    while !is_over {
                        let mut text = Vec::new();
                        is_over = host.write(&mut text, most);
                        whole.extend(text);
                    }
                    assert_eq!(String::from_utf8(whole).unwrap(), wanted);
                }
            }
        }
    }
}
