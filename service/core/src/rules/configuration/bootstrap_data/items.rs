//! Limits the number of items in the lists of bootstrap data: rules compare the items of a list with each other.

use serde_json::Value;

use super::refused::Refused;

/// Longest path that is put together with others, bytes: that of Linux.
pub(super) const MAX_PATH: usize = 4096;

/// Most items in all lists of a config together, and as many in the configs that it holds.
pub(super) const MOST_ITEMS: usize = 4096;

/// Checks the number of items in `config`.
pub(super) fn check(config: &Value) -> Result<(), Refused> {
    if count(config) <= MOST_ITEMS {
        return Ok(());
    }
    Err(Refused::new("value", TOO_MANY))
}

pub(super) const TOO_MANY: &str =
    "has lists with more than 4096 items together; give less, or in fewer files";

/// The number of items in all lists.
pub(super) fn count(config: &Value) -> usize {
    let mut waiting = vec![config];
    let mut count = 0;
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => {
                count += items.len();
                waiting.extend(items);
            }
            Value::Object(members) => waiting.extend(members.values()),
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_of_all_lists_count() {
        assert_eq!(
            count(&json!({"a": [1, {"b": [[], {"c": {"d": [2]}}]}], "e": "f"})),
            5
        );
        let config = |items: usize| json!({"storage": {"files": vec![json!({"path": "/a"}); items]}});
        assert_eq!(check(&config(MOST_ITEMS)), Ok(()));
        let refused = check(&config(MOST_ITEMS + 1)).unwrap_err();
        assert_eq!(
            (refused.member.as_str(), refused.why.as_str()),
            ("value", TOO_MANY)
        );
    }
}
