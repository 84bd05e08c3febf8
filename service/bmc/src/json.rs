//! Reads members of BMCs' JSON by pointer (`/Boot/HttpBootUri`), tolerant of missing members, null and other types.

use serde_json::Value;

use crate::text::clean;

/// A text that is not empty; a number becomes one, as some BMCs send serial numbers.
pub fn text(value: &Value, pointer: &str) -> Option<String> {
    let text = match value.pointer(pointer)? {
        Value::String(text) => clean(text),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// A text exactly as it is, for links and values that are sent back.
pub fn raw<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// The same value with each text changed.
pub fn map_texts(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(list) => list.iter().map(|one| map_texts(one, change)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| (name.clone(), map_texts(value, change)))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A number that is not negative; texts of digits are read as numbers.
pub fn number(value: &Value, pointer: &str) -> Option<f64> {
    let number = match value.pointer(pointer)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

pub fn flag(value: &Value, pointer: &str) -> Option<bool> {
    match value.pointer(pointer)? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// The texts of a list; a single text counts as a list.
pub fn texts(value: &Value, pointer: &str) -> Option<Vec<String>> {
    match value.pointer(pointer)? {
        Value::Array(list) => Some(list.iter().filter_map(|one| text(one, "")).collect()),
        Value::String(one) => Some(vec![clean(one)]),
        _ => None,
    }
}

/// The members of a list, or the one object that some BMCs send in its place; nothing for null.
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    match value.pointer(pointer) {
        Some(Value::Array(list)) => list,
        Some(one @ Value::Object(_)) => std::slice::from_ref(one),
        _ => &[],
    }
}

/// The `@odata.id` of the reference at a pointer.
pub fn reference<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    raw(value.pointer(pointer)?, "/@odata.id")
}

/// The `@odata.id`s of a list of references.
pub fn references<'a>(value: &'a Value, pointer: &str) -> Vec<&'a str> {
    let all = list(value, pointer).iter();
    all.filter_map(|one| raw(one, "/@odata.id")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_read_from_whatever_bmcs_send() {
        let value = json!({
            "Name": " a\nb ", "Empty": "", "Null": null, "Serial": 42, "Size": "16", "Less": -1,
            "On": "True", "One": {"@odata.id": "/one"}, "Many": [{"@odata.id": "/1"}, null, {"@odata.id": ""}],
            "Types": ["CD", null, "DVD"],
        });
        assert_eq!(text(&value, "/Name").unwrap(), "a b");
        assert_eq!(text(&value, "/Serial").unwrap(), "42");
        for none in ["/Empty", "/Null", "/Nowhere", "/One"] {
            assert_eq!(text(&value, none), None, "{none}");
        }
        assert_eq!(number(&value, "/Size"), Some(16.0));
        assert_eq!(number(&value, "/Less"), None);
        assert_eq!(flag(&value, "/On"), Some(true));
        assert_eq!(reference(&value, "/One"), Some("/one"));
        assert_eq!(references(&value, "/Many"), ["/1"]);
        assert_eq!(references(&value, "/One"), ["/one"]);
        assert_eq!(references(&value, "/Null"), Vec::<&str>::new());
        assert_eq!(texts(&value, "/Types").unwrap(), ["CD", "DVD"]);
    }
}
