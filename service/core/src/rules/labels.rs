//! Validates labels for nodes, by the rules of Kubernetes.

use std::sync::LazyLock;

use regex::Regex;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?\z").expect("the pattern is constant")
});

static SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\z")
        .expect("the pattern is constant")
});

/// Validates `key=value` as a label of a node.
///
/// # Errors
/// A sentence for users that names the broken rule.
pub fn check(key: &str, value: &str) -> Result<(), String> {
    let name = match key.split_once('/') {
        Some((prefix, name)) => {
            if prefix.len() > 253 || !SUBDOMAIN.is_match(prefix) {
                return Err(format!(
                    "the part of the label key {key:?} before the slash must be a DNS subdomain of at most 253 characters"
                ));
            }
            name
        }
        None => key,
    };
    if !NAME.is_match(name) {
        return Err(format!(
            "the label key {key:?} must be of 1 to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, after an optional prefix and slash"
        ));
    }
    if !value.is_empty() && !NAME.is_match(value) {
        return Err(format!(
            "the value {value:?} of the label {key} must be empty or of at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn labels_follow_kubernetes() {
        for (key, value) in [
            ("zone", "a"),
            ("node-role.kubernetes.io/infra", ""),
            ("A_b.c-9", "x.y_Z"),
        ] {
            assert_eq!(check(key, value), Ok(()), "{key}={value}");
        }
        for (key, value) in [
            ("", "a"),
            ("/a", "a"),
            ("a/b/c", "a"),
            ("-a", "a"),
            ("a", "b "),
            ("a", "-"),
            ("UPPER.io/a", "a"),
            ("a", &"x".repeat(64)),
        ] {
            assert!(check(key, value).is_err(), "{key}={value}");
        }
    }
}
