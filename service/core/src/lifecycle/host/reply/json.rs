//! Reads untrusted JSON, with limits before and while it is parsed.

use serde_json::Value;

use super::limits::{BadReply, Limits};

/// Texts in which line breaks belong.
const MULTI_LINE: [&str; 2] = ["command_line", "smart"];

/// Parses `text`, refuses too large values, and replaces control characters in texts by U+FFFD.
pub(super) fn read(step: &'static str, text: &str, limits: &Limits) -> Result<Value, BadReply> {
    let too_much = |what: &str, found, limit| {
        Err(BadReply::TooMuch {
            step,
            what: what.to_owned(),
            found,
            limit,
        })
    };
    if text.len() > limits.output_bytes {
        return too_much("bytes", text.len(), limits.output_bytes);
    }
    let Shape { depth, values } = shape(text);
    if depth > limits.depth {
        return too_much("levels of nesting", depth, limits.depth);
    }
    if values > limits.values {
        return too_much("values", values, limits.values);
    }
    let mut value: Value = serde_json::from_str(text).map_err(|error| BadReply::NotUnderstood {
        step,
        problem: error.to_string(),
    })?;
    clean(&mut value, "", step, limits)?;
    Ok(value)
}

/// Size of a text as values, computed before any value is built: small texts can hold many values, and each takes far
/// more memory than its text.
struct Shape {
    /// The deepest nesting; exact for valid JSON.
    depth: usize,
    /// Objects, lists and members, roughly.
    values: usize,
}

fn shape(text: &str) -> Shape {
    let (mut depth, mut deepest, mut values) = (0_usize, 0, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
                values += 1;
            }
            b',' if !in_text => values += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Shape {
        depth: deepest,
        values,
    }
}

fn clean(value: &mut Value, key: &str, step: &'static str, limits: &Limits) -> Result<(), BadReply> {
    let too_much = |what: String, found, limit| {
        Err(BadReply::TooMuch {
            step,
            what,
            found,
            limit,
        })
    };
    match value {
        Value::String(text) => {
            if text.len() > limits.text_bytes {
                return too_much(format!("bytes in {key}"), text.len(), limits.text_bytes);
            }
            let keep = |c: char| MULTI_LINE.contains(&key) && matches!(c, '\n' | '\t');
            let harmful = |c: char| (c.is_control() || is_invisible_direction(c)) && !keep(c);
            if text.contains(harmful) {
                *text = text.replace(harmful, "\u{fffd}");
            }
        }
        Value::Array(list) => {
            let limit = match key {
                "disks" => limits.disks,
                "interfaces" => limits.interfaces,
                "routes" => limits.routes,
                "gpus" => limits.gpus,
                _ => limits.list,
            };
            if list.len() > limit {
                let what = if key.is_empty() { "entries" } else { key };
                return too_much(what.to_owned(), list.len(), limit);
            }
            for item in list {
                clean(item, key, step, limits)?;
            }
        }
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                clean(value, key, step, limits)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// Marks that reverse the direction of text, with which one text can pass for another.
fn is_invisible_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{read, shape};
    use crate::lifecycle::host::reply::{BadReply, Limits};

    #[test]
    fn brackets_in_texts_are_not_nesting() {
        let shape = shape(r#"{"a":"[[[\"[,","b":[1,2]}"#);
        assert_eq!((shape.depth, shape.values), (2, 4));
    }

    #[test]
    fn control_characters_are_replaced_but_line_breaks_stay_where_they_belong() {
        let text = r#"{"hostname":"a\u0000b\u001b[31m\n\u202e","boot":{"command_line":"quiet\n\u0007"}}"#;
        let value = read("inventory", text, &Limits::default()).unwrap();
        assert_eq!(value["hostname"], "a\u{fffd}b\u{fffd}[31m\u{fffd}\u{fffd}");
        assert_eq!(value["boot"]["command_line"], "quiet\n\u{fffd}");
    }

    #[test]
    fn a_limit_names_what_was_found() {
        let limits = Limits {
            disks: 2,
            ..Limits::default()
        };
        let error = read("inventory", r#"{"disks":[{},{},{}]}"#, &limits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the output of inventory has too many disks: 3, and at most 2 are taken"
        );
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert!(matches!(
            read("inventory", &deep, &Limits::default()),
            Err(BadReply::TooMuch {
                found: 40,
                limit: 32,
                ..
            })
        ));
    }
}
