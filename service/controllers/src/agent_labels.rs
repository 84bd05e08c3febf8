//! Computes the labels that AgentClassifications put on Agents by their inventories. Source:
//! docs/protocol/kube-controllers.md#5.
//!
//! The labels are computed while an Agent is reconciled, so that they need no write of their own.

mod asking;
pub mod query;
pub mod worker;

use std::collections::BTreeMap;

use muster_core::rules::labels;
use muster_resources::AgentClassification;
use muster_resources::names::label;

pub use asking::Labels;
use query::Outcome;

/// Start of the value of a label with a failed query.
pub const QUERY_ERROR: &str = "QUERYERROR-";

/// Longest value of a label.
const LONGEST_VALUE: usize = 63;

/// The reason for which a classification cannot label anything; `None`: the classification is usable.
pub fn unusable(classification: &AgentClassification) -> Option<String> {
    let spec = &classification.spec;
    if spec.label_value.starts_with("QUERYERROR") {
        return Some("labelValue begins with QUERYERROR, which marks failed queries; choose another".into());
    }
    labels::check(&key(classification), &spec.label_value).err()
}

/// The label's key.
pub fn key(classification: &AgentClassification) -> String {
    format!(
        "{}{}",
        label::CLASSIFICATION_PREFIX,
        classification.spec.label_key
    )
}

/// The label's value on Agents on which the query failed; as much of it as fits.
pub fn error_value(classification: &AgentClassification) -> String {
    let value = format!("{QUERY_ERROR}{}", classification.spec.label_value);
    let value: String = value.chars().take(LONGEST_VALUE).collect();
    value
        .trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_owned()
}

/// The labels to set (a value) or remove (`None`) on an Agent that has `present`. Of two classifications
/// with the same key the one that comes first by name wins.
fn decided(
    asked: &[(&AgentClassification, Option<Outcome>)],
    present: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let mut wanted: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (classification, outcome) in asked {
        let key = key(classification);
        let (value, error) = (&classification.spec.label_value, error_value(classification));
        let set = match outcome {
            Some(Outcome::Matches) => Some(value.clone()),
            Some(Outcome::Fails(_) | Outcome::Stopped(_)) => Some(error.clone()),
            Some(Outcome::Differs) | None => None,
        };
        if set.is_some() {
            let place = wanted.entry(key).or_insert(None);
            if place.is_none() {
                *place = set;
            }
        } else if present.get(&key).is_some_and(|now| now == value || *now == error) {
            wanted.entry(key).or_insert(None);
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_resources::AgentClassificationSpec;

    fn classification(key: &str, value: &str) -> AgentClassification {
        AgentClassification::new(
            "any",
            AgentClassificationSpec {
                label_key: key.into(),
                label_value: value.into(),
                query: "true".into(),
            },
        )
    }

    fn present(value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(
            "agentclassification.agent-install.openshift.io/size".into(),
            value.into(),
        )])
    }

    fn after(outcome: Option<Outcome>, labels: &BTreeMap<String, String>) -> Option<Option<String>> {
        let big = classification("size", "big");
        decided(&[(&big, outcome)], labels).remove(&key(&big))
    }

    #[test]
    fn the_label_follows_the_outcome() {
        let failed = Outcome::Fails("why".into());
        let none = BTreeMap::new();
        assert_eq!(after(Some(Outcome::Matches), &none), Some(Some("big".into())));
        assert_eq!(after(Some(failed), &none), Some(Some("QUERYERROR-big".into())));
        for gone in [Some(Outcome::Differs), None] {
            assert_eq!(after(gone.clone(), &none), None);
            assert_eq!(after(gone.clone(), &present("big")), Some(None));
            assert_eq!(after(gone.clone(), &present("QUERYERROR-big")), Some(None));
            assert_eq!(after(gone, &present("small")), None, "another's value stays");
        }
    }

    #[test]
    fn of_two_that_share_a_key_one_sets_it_whatever_the_other_says() {
        let (big, small) = (classification("size", "big"), classification("size", "small"));
        let wanted = decided(
            &[(&small, Some(Outcome::Differs)), (&big, Some(Outcome::Matches))],
            &present("small"),
        );
        assert_eq!(wanted.into_values().collect::<Vec<_>>(), [Some("big".to_owned())]);
    }

    #[test]
    fn long_values_still_make_a_label_and_bad_ones_are_told() {
        let long = classification("size", &"x".repeat(63));
        assert!(labels::check("k", &error_value(&long)).is_ok());
        assert_eq!(unusable(&long), None);
        for bad in [
            classification("si ze", "big"),
            classification("size", "b b"),
            classification("size", "QUERYERROR-x"),
        ] {
            assert!(unusable(&bad).is_some(), "{:?}", bad.spec);
        }
    }
}
