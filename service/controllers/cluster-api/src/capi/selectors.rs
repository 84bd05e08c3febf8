//! Reads label selectors of objects.

use std::collections::BTreeMap;

use muster_core::rules::placement::{Operator, Requirement, Selector};
use muster_resources::LabelSelector;

/// Most labels, expressions and values of a selector together: each Agent is compared with all of them.
pub const MOST_TERMS: usize = 200;

/// The selector of an object's `member`.
///
/// # Errors
/// Returns the part that cannot be read, and what to do.
pub fn selector(selector: Option<&LabelSelector>, member: &str) -> Result<Selector, String> {
    let Some(selector) = selector else {
        return Ok(Selector::default());
    };
    let expressions = selector.match_expressions.iter().flatten();
    let values = |values: &Option<Vec<String>>| values.as_ref().map_or(0, Vec::len);
    let terms = expressions.map(|expression| 1 + values(&expression.values));
    let terms = terms.sum::<usize>() + selector.match_labels.as_ref().map_or(0, BTreeMap::len);
    if terms > MOST_TERMS {
        return Err(format!(
            "{member} has {terms} labels, expressions and values; at most {MOST_TERMS} are taken"
        ));
    }
    let labels = selector.match_labels.iter().flatten();
    let mut requirements: Vec<Requirement> = labels
        .map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::In(vec![value.clone()]),
        })
        .collect();
    for expression in selector.match_expressions.iter().flatten() {
        let values = expression.values.clone().unwrap_or_default();
        let operator = match expression.operator.as_str() {
            "In" => Operator::In(values),
            "NotIn" => Operator::NotIn(values),
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(format!(
                    "The operator {other:?} in {member} is none of In, NotIn, Exists, DoesNotExist"
                ));
            }
        };
        requirements.push(Requirement {
            key: expression.key.clone(),
            operator,
        });
    }
    Ok(Selector(requirements))
}
