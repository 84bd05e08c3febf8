//! JSONPath in the dialect of printer columns, scale paths and selectable fields
//! (`.status.conditions[?(@.type=="Ready")].status`).

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Path {
    /// The text of the path.
    pub source: String,
    /// Member names, if the path consists of nothing else.
    names: Option<Vec<String>>,
    /// The leading member names.
    beginning: Vec<String>,
    query: JpQuery,
}

/// A path that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("JSON path {path:?} cannot be read: {reason}")]
pub struct PathError {
    path: String,
    reason: String,
}

impl Path {
    /// Parses a path. Kubernetes leaves `$` out, escapes dots in names (`a\.b`) and allows dashes in names:
    /// such names are written in brackets for the library, which reads RFC 9535.
    ///
    /// # Errors
    /// If it is not a path.
    pub fn parse(source: &str) -> Result<Self, PathError> {
        let fail = |reason: String| PathError {
            path: source.to_owned(),
            reason,
        };
        let inner = source.trim();
        let inner = inner
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(inner);
        let inner = inner.strip_prefix('$').unwrap_or(inner);
        let segments = segments(inner).map_err(fail)?;
        let mut standard = String::from("$");
        let mut names = Some(Vec::new());
        let mut beginning = Vec::new();
        for segment in segments {
            match segment {
                Segment::Name(name) => {
                    standard.push_str(&format!(
                        "['{}']",
                        name.replace('\\', "\\\\").replace('\'', "\\'")
                    ));
                    if let Some(names) = &mut names {
                        beginning.push(name.clone());
                        names.push(name);
                    }
                }
                Segment::Descendants => {
                    standard.push_str("..");
                    names = None;
                }
                Segment::Other(text) => {
                    standard.push_str(&text);
                    names = None;
                }
            }
        }
        let query = parse_json_path(&standard).map_err(|error| fail(error.to_string()))?;
        Ok(Self {
            source: source.to_owned(),
            names,
            beginning,
            query,
        })
    }

    /// All values at the path.
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        if let Some(names) = &self.names {
            return names
                .iter()
                .try_fold(object, |value, name| value.get(name))
                .into_iter()
                .collect();
        }
        let found = js_path_process(&self.query, object).unwrap_or_default();
        found.into_iter().map(|found| found.val()).collect()
    }

    /// The first value at the path.
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.find(object).into_iter().next()
    }

    /// The leading member names: all values are below them.
    pub fn beginning(&self) -> &[String] {
        &self.beginning
    }

    /// Member names, if the path consists of nothing else: such a path can also be written to.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
}

enum Segment {
    Name(String),
    /// `..`, before a name.
    Descendants,
    /// Brackets that are not a name.
    Other(String),
}

fn segments(path: &str) -> Result<Vec<Segment>, String> {
    let mut segments = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            segments.push(Segment::Descendants);
            rest = after;
            let (name, after) = dotted_name(rest);
            segments.push(Segment::Name(name));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            if after.starts_with('[') {
                rest = after;
                continue;
            }
            let (name, after) = dotted_name(after);
            if name == "*" {
                segments.push(Segment::Other("[*]".into()));
            } else if !name.is_empty() {
                segments.push(Segment::Name(name));
            } else if !after.is_empty() {
                return Err("a name is missing after a dot".into());
            }
            rest = after;
        } else if rest.starts_with('[') {
            let end = closing_bracket(rest).ok_or("a bracket is not closed")?;
            let inside = &rest[1..end];
            let quoted = ["'", "\""].iter().find_map(|quote| {
                inside
                    .strip_prefix(quote)
                    .and_then(|inside| inside.strip_suffix(quote))
            });
            match quoted {
                Some(name) => segments.push(Segment::Name(name.to_owned())),
                None => segments.push(Segment::Other(format!("[{inside}]"))),
            }
            rest = &rest[end + 1..];
        } else {
            let (name, after) = dotted_name(rest);
            segments.push(Segment::Name(name));
            rest = after;
        }
    }
    Ok(segments)
}

/// A name up to the next dot or bracket that is not escaped.
fn dotted_name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, &text[index..]),
            other => name.push(other),
        }
    }
    (name, "")
}

/// The index of the bracket that closes the one at the start; quoted ones do not count.
fn closing_bracket(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_columns_find_what_they_name() {
        let object = json!({
            "metadata": {"labels": {"a.b/c-d": "x"}},
            "spec": {"list": [{"n": 1}, {"n": 2}]},
            "status": {"conditions": [{"type": "Up", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        let cases = [
            (".metadata.labels.a\\.b/c-d", json!(["x"])),
            (".metadata.labels['a.b/c-d']", json!(["x"])),
            (".spec.list[*].n", json!([1, 2])),
            (".spec.list[1].n", json!([2])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type=='Gone')].status", json!([])),
            (".spec.none", json!([])),
            ("{.spec.list[0].n}", json!([1])),
        ];
        for (path, expected) in cases {
            let found: Vec<Value> = Path::parse(path)
                .unwrap()
                .find(&object)
                .into_iter()
                .cloned()
                .collect();
            assert_eq!(Value::from(found), expected, "{path}");
        }
        assert!(Path::parse(".spec[").is_err());
    }
}
