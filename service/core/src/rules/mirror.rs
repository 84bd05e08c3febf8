//! Merges the changes of a record and of the custom resource that mirrors it, field by field.
//!
//! Fields that changed in the resource since both agreed are taken from it; all others from the record. So a change on
//! either side reaches the other, and neither reverts the other's. If both changed a field at the same time, the
//! resource wins.

use serde_json::Value;

use crate::record::{Agreed, Fields};

/// Returns the merged fields for both sides. Fields of the resource that `record` does not have stay unchanged.
pub fn merge(agreed: &Agreed, record: &Fields, resource: &Fields) -> Fields {
    let mut merged = resource.clone();
    for (field, value) in record {
        let present = resource.get(field).unwrap_or(&Value::Null);
        if !agreed.differs(field, present) {
            merged.insert(field.clone(), value.clone());
        }
    }
    merged
}

/// Returns the common state after the resource has `resource` and the record `record`. A change that the record has not
/// applied yet stays a change.
pub fn agree(agreed: &Agreed, record: &Fields, resource: &Fields) -> Agreed {
    let mut next = agreed.clone();
    for (field, value) in record {
        let mut same = Agreed::default();
        same.set(field, value);
        let present = resource.get(field).unwrap_or(&Value::Null);
        if !same.differs(field, present) {
            next.set(field, present);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        match value {
            Value::Object(fields) => fields,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn whoever_moved_is_followed_and_the_resource_when_both_did() {
        let agreed = Agreed::of(&fields(json!({"a": "0", "b": "0", "c": "0", "d": "0"})));
        let record = fields(json!({"a": "rest", "b": "0", "c": "rest", "d": "0"}));
        let resource = fields(json!({"a": "0", "b": "kubectl", "c": "kubectl", "d": "0", "own": true}));
        let merged = merge(&agreed, &record, &resource);
        let wanted = json!({"a": "rest", "b": "kubectl", "c": "kubectl", "d": "0", "own": true});
        assert_eq!(merged, fields(wanted));
    }

    #[test]
    fn before_both_agreed_the_record_is_the_truth() {
        let (record, resource) = (fields(json!({"a": "rest"})), fields(json!({"a": "other"})));
        assert_eq!(merge(&Agreed::default(), &record, &resource), record);
    }

    #[test]
    fn unsetting_is_a_change_and_nothing_is_unset_in_several_ways() {
        let agreed = Agreed::of(&fields(json!({"a": "0", "b": ""})));
        let record = fields(json!({"a": "0", "b": null}));
        let merged = merge(&agreed, &record, &fields(json!({})));
        assert_eq!(merged.get("a"), None);
        assert!(!agreed.differs("b", &json!(false)) && !agreed.differs("b", &json!({})));
        assert!(agreed.differs("b", &json!(true)));
    }

    #[test]
    fn a_change_that_is_not_taken_yet_stays_one_until_it_is() {
        let first = fields(json!({"cluster": null}));
        let asked = fields(json!({"cluster": "c"}));
        let agreed = agree(&Agreed::of(&first), &first, &asked);
        assert_eq!(merge(&agreed, &first, &asked), asked, "asked for still");
        let taken = agree(&agreed, &asked, &asked);
        assert_eq!(
            merge(&taken, &first, &asked)["cluster"],
            Value::Null,
            "the record moved last"
        );
    }

    #[test]
    fn no_value_is_remembered_itself() {
        let agreed = Agreed::of(&fields(json!({"pull_secret": "hunter2"})));
        assert!(!serde_json::to_string(&agreed).unwrap().contains("hunter"));
    }

    proptest! {
        /// When both sides have the merged fields, another merge changes nothing.
        #[test]
        fn it_comes_to_rest(base in 0..3, rest in 0..3, kubectl in 0..3) {
            let of = |value: i32| fields(json!({ "a": value }));
            let merged = merge(&Agreed::of(&of(base)), &of(rest), &of(kubectl));
            let agreed = agree(&Agreed::of(&of(base)), &merged, &merged);
            prop_assert_eq!(merge(&agreed, &merged, &merged), merged);
        }
    }
}
