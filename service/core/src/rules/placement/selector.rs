//! Selects hosts by labels, by the rules of Kubernetes' label selectors.

use std::collections::BTreeMap;
use std::fmt;

/// Requirements that must all be met. Without any it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector(pub Vec<Requirement>);

/// Requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub key: String,
    pub operator: Operator,
}

/// Relation of a label to values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    In(Vec<String>),
    /// Met without the label, too.
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    /// The first requirement that `labels` do not meet.
    pub fn unmet(&self, labels: &BTreeMap<String, String>) -> Option<&Requirement> {
        self.0.iter().find(|requirement| !requirement.is_met(labels))
    }
}

impl Requirement {
    fn is_met(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            Operator::In(values) => match values.as_slice() {
                [value] => write!(f, "{key} is not {value:?}"),
                values => write!(f, "{key} is none of {}", values.join(", ")),
            },
            Operator::NotIn(values) => write!(f, "{key} is one of {}", values.join(", ")),
            Operator::Exists => write!(f, "{key} is missing"),
            Operator::DoesNotExist => write!(f, "{key} is there"),
        }
    }
}
