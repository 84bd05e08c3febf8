//! Parses and evaluates label selectors.

use serde_json::{Map, Value};

use crate::object::validation;

/// A requirement that is invalid. The texts are those of a Kubernetes API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelSelectorError {
    #[error("unable to parse requirement: {0:?}")]
    Form(String),
    #[error("unable to parse requirement: <nil>: Invalid value: {label:?}: {why}")]
    Label { label: String, why: &'static str },
    #[error("unable to parse requirement: values[0][{label}]: Invalid value: {value:?}: {why}")]
    Value {
        label: String,
        value: String,
        why: &'static str,
    },
}

/// Requirements on labels, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    label: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parses `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    ///
    /// # Errors
    /// Fails with the first requirement that is invalid.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        split_outside_parentheses(text)
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(requirement)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        let value = |label: &str| labels.and_then(|labels| labels.get(label)?.as_str());
        self.0.iter().all(|requirement| {
            let value = value(&requirement.label);
            match &requirement.test {
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::In(values) => value.is_some_and(|value| values.iter().any(|each| each == value)),
                Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|each| each != value)),
                Test::Above(limit) => number(value).is_some_and(|value| value > *limit),
                Test::Below(limit) => number(value).is_some_and(|value| value < *limit),
            }
        })
    }

    /// True when it matches everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (index, character) in text.char_indices() {
        match character {
            '(' => inside = true,
            ')' => inside = false,
            ',' if !inside => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn requirement(text: &str) -> Result<Requirement, LabelSelectorError> {
    let fail = || LabelSelectorError::Form(text.to_owned());
    let (label, test) = if let Some(label) = text.strip_prefix('!') {
        (label, Test::Absent)
    } else if let Some((label, value)) = text.split_once("!=") {
        (label, Test::NotIn(vec![value.trim().to_owned()]))
    } else if let Some((label, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (label, Test::In(vec![value.trim().to_owned()]))
    } else if let Some((label, limit)) = text.split_once('>') {
        (label, Test::Above(limit.trim().parse().map_err(|_| fail())?))
    } else if let Some((label, limit)) = text.split_once('<') {
        (label, Test::Below(limit.trim().parse().map_err(|_| fail())?))
    } else if let Some((before, values)) = text.split_once('(') {
        let values = values.trim_end().strip_suffix(')').ok_or_else(fail)?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let mut parts = before.split_whitespace();
        match (parts.next(), parts.next(), parts.next()) {
            (Some(label), Some("in"), None) => (label, Test::In(values)),
            (Some(label), Some("notin"), None) => (label, Test::NotIn(values)),
            _ => return Err(fail()),
        }
    } else {
        (text, Test::Exists)
    };
    let label = label.trim();
    validation::check_label_name(label).map_err(|why| LabelSelectorError::Label {
        label: label.to_owned(),
        why,
    })?;
    if let Test::In(values) | Test::NotIn(values) = &test {
        for value in values {
            validation::check_label_value(value).map_err(|why| LabelSelectorError::Value {
                label: label.to_owned(),
                value: value.clone(),
                why,
            })?;
        }
    }
    Ok(Requirement {
        label: label.to_owned(),
        test,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_operator_selects_as_kubernetes_does() {
        let labels = json!({"a": "1", "b.c/d": "x"});
        let labels = labels.as_object();
        let yes = [
            "",
            "a",
            "!z",
            "a=1",
            "a==1",
            "a!=2",
            "z!=2",
            "a in (1,2)",
            "a notin (3)",
            "z notin (3)",
            "a>0",
            "a<2",
            "a=1,b.c/d in (x)",
        ];
        let no = [
            "z",
            "!a",
            "a=2",
            "a!=1",
            "a in (2, 3)",
            "a notin (1)",
            "a>1",
            "z<2",
            "a=1,b.c/d=y",
        ];
        for selector in yes {
            assert!(
                LabelSelector::parse(selector).unwrap().matches(labels),
                "{selector}"
            );
        }
        for selector in no {
            assert!(
                !LabelSelector::parse(selector).unwrap().matches(labels),
                "{selector}"
            );
        }
        for selector in ["a in (1", "a like (1)", "a>x", "a b", "=x", "a=b c"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }
}
