//! Labels of a host's node, as lines.

use std::collections::BTreeMap;

/// Reads `Host::node_labels`: the text of a JSON object, or nothing.
pub fn read(node_labels: &str) -> BTreeMap<String, String> {
    serde_json::from_str(node_labels).unwrap_or_default()
}

/// `KEY=VALUE` on each line.
pub fn lines(node_labels: &str) -> String {
    let all: Vec<String> = read(node_labels)
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    all.join("\n")
}

/// The labels of lines, or of one line with blanks between.
///
/// # Errors
/// With the reason, if a word is no label.
pub fn parse(lines: &str) -> Result<BTreeMap<String, String>, String> {
    let labels = lines.split_whitespace().map(|word| match word.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!(
            "{word:?} is no label: write KEY=VALUE, or KEY= without a value"
        )),
    });
    labels.collect()
}

/// True if a text may be the key of a label: others are shown in no command.
pub fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 317
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let labels = parse("rack=r2\r\nnode-role.kubernetes.io/infra= \n zone=a=b").unwrap();
        assert_eq!(labels["node-role.kubernetes.io/infra"], "");
        assert_eq!(labels["zone"], "a=b");
        let text = serde_json::to_string(&labels).unwrap();
        assert_eq!(lines(&text), "node-role.kubernetes.io/infra=\nrack=r2\nzone=a=b");
        assert_eq!((lines(""), parse("")), (String::new(), Ok(BTreeMap::new())));
        assert!(parse("rack").unwrap_err().contains("\"rack\" is no label"));
        assert!(is_key("node-role.kubernetes.io/infra") && !is_key("a;b") && !is_key(""));
    }
}
